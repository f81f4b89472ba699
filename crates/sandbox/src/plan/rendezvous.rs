//! Places at which programs of the user expect a server of the user. A server that a confined command starts there
//! would give orders to the next program outside, or take its secrets: a tmux client executes what its server sends,
//! and ssh trusts its agent.
//!
//! The environment of the runtime names most of them. `/tmp` has one that is always looked for, that of tmux. Others
//! that meet in `/tmp`, such as X11 and PostgreSQL, only take data from a server.

use super::{PolicyContext, Ruling, Rulings};
use crate::files::Files;
use crate::followed_path::FollowedPath;
use crate::namespaces::ServerPlace;
use crate::policy::Access;
use crate::protect::MustNotExist;
use rustix::fs::Uid;
use std::path::Path;

const TMUX: &str =
    "protected: your own tmux runs what a server in it says; TMUX_TMPDIR names another directory";

/// The name of the directory that tmux makes in `/tmp` or `TMUX_TMPDIR`.
pub(crate) fn tmux_directory(user: Uid) -> String {
    format!("tmux-{}", user.as_raw())
}

/// Adds rulings for the places that exist, and returns the paths that must not be created.
pub(super) fn add(
    surroundings: &PolicyContext,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Vec<MustNotExist> {
    let tmux = Path::new("/tmp").join(tmux_directory(rustix::process::getuid()));
    let mut must_not_exist = add_place(&tmux, TMUX, files, rulings);
    for ServerPlace { path, variable } in &surroundings.own_files.server_places {
        let origin = format!("protected: {variable} tells your own programs to trust a server there");
        must_not_exist.extend(add_place(path, &origin, files, rulings));
    }
    must_not_exist
}

fn add_place(path: &Path, origin: &str, files: &dyn Files, rulings: &mut Rulings) -> Vec<MustNotExist> {
    let way = FollowedPath::of(path, files);
    let is_writable = |path: &Path| rulings.access_at(path) == Some(Access::Write);
    // A write rule for exactly this place wins, and so does a writable place at the same path: a runtime directory that
    // is `/tmp` itself is not protected.
    let is_named =
        way.leads_somewhere() && rulings.about(&way.end).is_some_and(|ruling| ruling.access == Access::Write);
    if is_named || !is_writable(&way.end) {
        return Vec::new();
    }
    let must_not_exist = way.kept(origin);
    if way.leads_somewhere() {
        rulings.push(Ruling::new(way.end, Access::Read, origin));
    }
    must_not_exist
}
