//! Confines commands: policies say what a command may access, and layers of the kernel enforce that. A policy is data;
//! a plan says how the policy is carried out on this machine; a helper, a small process of its own, carries the plan
//! out and becomes the command. This crate knows nothing of sessions or async.
#![forbid(unsafe_code)]

mod authority;
mod calls;
mod confinement;
mod denial;
mod disk;
mod explain;
mod files;
mod followed_path;
mod git_config;
mod git_index;
mod git_settings;
pub mod helper;
mod machine;
mod namespaces;
mod obeyed_names;
mod pattern;
mod plan;
mod policy;
mod protect;
mod remedies;
mod repository;
mod request;
mod start;

pub use authority::Authority;
pub use confinement::StreamKind;
pub use denial::{Denial, Operation};
pub use disk::Disk;
pub use explain::{Explanation, Summary};
pub use files::{Files, Kind};
pub use machine::Machine;
pub use namespaces::{EnabledLayers, NamespacePool, OwnFiles, ServerPlace, SharedNamespaces, StateInside};
pub use pattern::{BadPattern, Pattern};
pub use plan::{HIDDEN, Layer, Plan, PlanError, PolicyContext, Ruling, plan, plan_for};
pub use policy::{Access, Base, Confined, Network, Policy, Rule, Temporary};
pub use protect::{MustNotExist, NamedFile, Repository};
pub use remedies::Remedies;
pub use request::{ConfineStep, DOOR, Failure};
pub use start::{Command, ConfinedProcess, HelperProgram, Line, StartFailure, launch};
