//! `/dev/shm` where it is shared with programs outside. Commands need it: semaphores and shared memory of libraries are
//! files there. So it can be written under every policy, but files of others in it stay as they are.
//!
//! The files of commands are those that were made since the runtime began: a later command goes on with what an earlier
//! one made.

use super::Judge;
use crate::plan::tmux_directory;
use std::path::Path;

const SHARED: &str = "/dev/shm";

impl Judge<'_> {
    /// Whether a path belongs to a program outside, or lies in its directory.
    pub(super) fn is_foreign_memory(&self, path: &Path) -> bool {
        if !self.is_alone() || !path.starts_with(SHARED) {
            return false;
        }
        // Commands have their tmux servers there; the directory and sockets of an earlier runtime stay behind.
        let is_tmux = path.starts_with(Path::new(SHARED).join(tmux_directory(rustix::process::getuid())));
        let mut inside = path.ancestors().take_while(|above| *above != Path::new(SHARED));
        !is_tmux && inside.any(|above| self.is_older(above) == Some(true))
    }
}
