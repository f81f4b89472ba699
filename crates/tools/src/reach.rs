//! What a policy says of single places, for tools that look at files and change them without running a command. The same
//! plan that confines commands answers, so both agree.

use std::path::Path;
use std::sync::Arc;

use windlass_engine::sandbox::{Access, Plan, Policy};

use crate::toolbox::Toolbox;

/// What may be read and written.
#[derive(Clone, Debug)]
pub struct Reach(Option<Arc<Plan>>);

impl Reach {
    /// Whether this place, given without links, may be written.
    pub fn may_write(&self, path: &Path) -> bool {
        let Some(plan) = &self.0 else { return true };
        let writable = plan
            .ruling_at(path)
            .is_some_and(|ruling| ruling.access == Access::Write && !(ruling.pinned && ruling.path == path));
        let kept_away = plan.unborn.iter().any(|unborn| path.starts_with(&unborn.path));
        writable && !kept_away
    }

    /// Whether this place, given without links, may be read.
    pub fn may_read(&self, path: &Path) -> bool {
        let Some(plan) = &self.0 else { return true };
        plan.ruling_at(path).is_none_or(|ruling| ruling.access != Access::Deny)
    }

    /// Whether nothing at all may be written.
    pub fn is_read_only(&self) -> bool {
        self.0.as_ref().is_some_and(|plan| plan.rulings.iter().all(|ruling| ruling.access != Access::Write))
    }
}

impl Toolbox {
    /// What tools may touch under this policy; why not, if it cannot be enforced.
    pub fn reach(&self, policy: &Policy) -> Result<Reach, String> {
        self.confine(policy).map(Reach).map_err(|error| error.to_string())
    }
}
