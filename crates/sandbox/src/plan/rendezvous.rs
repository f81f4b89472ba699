//! Directories in `/tmp` at which programs of the user expect a server of the user, and do what it says. A server that a confined
//! command starts there would give orders to the next program outside.
//!
//! Only tmux is known to obey: its client executes what its server sends. Others that meet in `/tmp`, such as X11 and
//! PostgreSQL, only take data from a server.

use super::{Ruling, Rulings};
use crate::files::Files;
use crate::policy::Access;
use crate::protect::Unborn;
use crate::way::Way;
use rustix::fs::Uid;
use std::path::Path;

const ORIGIN: &str =
    "protected: your own tmux runs what a server in it says; TMUX_TMPDIR names another directory";

/// Adds rulings for what is there, and returns what must not come into being.
pub(super) fn add(user: Uid, files: &dyn Files, rulings: &mut Rulings) -> Vec<Unborn> {
    let name = format!("tmux-{}", user.as_raw());
    let way = Way::of(&Path::new("/tmp").join(name), files);
    let is_writable = |path: &Path| rulings.access_at(path) == Some(Access::Write);
    let is_named =
        way.leads_somewhere() && rulings.about(&way.end).is_some_and(|ruling| ruling.access == Access::Write);
    if is_named || !is_writable(&way.end) {
        return Vec::new();
    }
    let unborn = way.kept(ORIGIN);
    if way.leads_somewhere() {
        rulings.push(Ruling::new(way.end, Access::Read, ORIGIN));
    }
    unborn
}
