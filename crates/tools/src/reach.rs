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
        // What is there only has to stay; in a directory that does, anything may be written.
        let is_missing = |place: &Path| place.symlink_metadata().is_err();
        let is_kept = |place: &Path| path == place || path.starts_with(place) && is_missing(place);
        writable && !plan.unborn.iter().any(|unborn| is_kept(&unborn.path))
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

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_engine::sandbox::{Network, Ruling, Unborn};

    #[test]
    fn what_must_stay_can_be_written_into_and_what_must_not_come_cannot() {
        let there = std::env::temp_dir();
        let missing = there.join("windlass-nobody-makes-this");
        let unborn = |path: &Path| Unborn { path: path.into(), directory: "/".into(), origin: String::new() };
        let ruling = Ruling { path: "/".into(), access: Access::Write, origin: String::new(), pinned: false };
        let plan = Plan {
            policy: "test",
            rulings: vec![ruling],
            unborn: vec![unborn(&there), unborn(&missing)],
            sockets: Vec::new(),
            readable: None,
            network: Network::Off,
            layers: Vec::new(),
            differences: Vec::new(),
            remarks: Vec::new(),
            repositories: Vec::new(),
        };
        let reach = Reach(Some(Arc::new(plan)));
        assert!(!reach.may_write(&there) && reach.may_write(&there.join("file")));
        assert!(!reach.may_write(&missing) && !reach.may_write(&missing.join("file")));
    }
}
