//! What a command may touch, and how that is enforced. Policy is data; a plan says what becomes of it on this machine; a
//! helper, a small process of its own, carries the plan out and becomes the command. Knows nothing of sessions or async.
#![forbid(unsafe_code)]

mod authority;
mod calls;
mod confinement;
mod denial;
mod disk;
mod explain;
mod files;
mod git_config;
mod git_index;
mod git_settings;
mod namespaces;
pub mod helper;
mod machine;
mod obeyed_names;
mod request;
mod pattern;
mod plan;
mod policy;
mod protect;
mod remedies;
mod repository;
mod start;
mod followed_path;

pub use authority::Authority;
pub use confinement::StreamKind;
pub use denial::{Denial, Operation};
pub use disk::Disk;
pub use explain::{Explanation, Summary};
pub use files::{Files, Kind};
pub use namespaces::{SharedNamespaces, NamespacePool, EnabledLayers, OwnFiles, ServerPlace, StateInside};
pub use machine::Machine;
pub use request::{DOOR, Failure, ConfineStep};
pub use pattern::{BadPattern, Pattern};
pub use plan::{HIDDEN, Layer, Plan, PlanError, Ruling, PolicyContext, plan, plan_for};
pub use policy::{Access, Base, Confined, Network, Policy, Rule, Temporary};
pub use protect::{NamedFile, Repository, MustNotExist};
pub use remedies::Remedies;
pub use start::{Command, HelperProgram, Line, StartFailure, ConfinedProcess, launch};
