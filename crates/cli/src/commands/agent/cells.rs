//! Processes for a model's scripts: copies of this program under the tightest sandbox that the machine supports,
//! regardless of the policy for the session's commands. They have no environment, no network, nothing to write to, and
//! see none of the user's files.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use windlass_agent::{CellProcess, CellSpawner};
use windlass_engine::sandbox::{Access, Base, Confined, Pattern, Plan, Policy, PolicyContext};
use windlass_engine::{Engine, HelperProcess, ProcessLimits};

use super::context::Configured;
use crate::commands::cell_helper;
use crate::config::Config;
use crate::confinement;

/// Directories that hold users' data. The program itself and its libraries are elsewhere, or are exempted.
const PRIVATE: [&str; 10] =
    ["/home", "/root", "/tmp", "/var", "/etc", "/srv", "/mnt", "/media", "/opt", "/boot"];

/// Twice the time that a script may compute, to leave room for work that is not counted as the script's; and bounds
/// that no script comes near.
const LIMITS: ProcessLimits = ProcessLimits {
    data: Some(1 << 30),
    user_tasks: None,
    cpu_seconds: Some(60),
    open_files: Some(64),
    file_size: Some(0),
};

/// Starts confined processes for scripts.
pub(super) struct ConfinedCells {
    engine: Engine,
    surroundings: PolicyContext,
    /// The user's own directories, beside the usual ones.
    private: Vec<PathBuf>,
    plan: OnceLock<Result<Arc<Plan>, String>>,
}

impl ConfinedCells {
    pub(super) fn new(engine: &Engine, configured: &Configured, config: &Config) -> Self {
        let surroundings = confinement::surroundings(configured.directory.clone(), config);
        let mut private = vec![configured.directory.clone()];
        private.extend(configured.roots.iter().cloned());
        private.extend(surroundings.home.clone());
        private.extend(surroundings.kept.iter().cloned());
        Self { engine: engine.clone(), surroundings, private, plan: OnceLock::new() }
    }

    /// The tightest plan that this machine can enforce, computed when the first script is run.
    fn plan(&self) -> Result<&Arc<Plan>, String> {
        let plan = self.plan.get_or_init(|| {
            let tightest = self.planned(self.blind());
            tightest.or_else(|_| self.planned(Confined::new(Base::ReadOnly)))
        });
        plan.as_ref().map_err(Clone::clone)
    }

    fn planned(&self, confined: Confined) -> Result<Arc<Plan>, String> {
        let plan = self.engine.confine(&Policy::Confined(confined), &self.surroundings);
        plan.map_err(|error| error.to_string())?.ok_or_else(|| "nothing would be enforced".to_owned())
    }

    /// A policy that denies reading all private data, except for this program.
    fn blind(&self) -> Confined {
        let own = Config::own_program();
        let usual = PRIVATE.iter().map(PathBuf::from);
        let private = usual.chain(self.private.iter().cloned()).filter(|path| path.parent().is_some());
        let deny = |confined: Confined, path: PathBuf| {
            // Rules apply to real paths.
            let real = path.canonicalize().unwrap_or(path);
            confined.with(Pattern::new(real.to_string_lossy()), Access::Deny)
        };
        let confined = private.filter(|path| path.exists()).fold(Confined::new(Base::ReadOnly), deny);
        confined.with(Pattern::new(own.to_string_lossy()), Access::Read)
    }
}

impl CellSpawner for ConfinedCells {
    fn spawn(&self) -> io::Result<(UnixStream, Arc<dyn CellProcess>)> {
        let plan = self.plan().map_err(io::Error::other)?;
        let (ours, theirs) = UnixStream::pair()?;
        let started = self.engine.start_helper(plan, &cell_helper::program(), (theirs.as_fd(), LIMITS));
        let process = started.map_err(io::Error::other)?;
        Ok((ours, Arc::new(ConfinedCell(process))))
    }
}

struct ConfinedCell(HelperProcess);

impl CellProcess for ConfinedCell {
    fn kill(&self) {
        self.0.kill();
    }
}
