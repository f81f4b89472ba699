//! Which methods and notifications there are, and what each carries. Whatever a server answers stands here.

use super::Dialect;

/// What `windlass app-server` speaks.
pub fn app_server() -> Dialect {
    Dialect::new("app-server", "...")
}

/// What `windlass exec-server` speaks.
pub fn exec_server() -> Dialect {
    Dialect::new("exec-server", "...")
}
