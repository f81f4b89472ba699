//! Speaks with language models. What is said is a list of [`Item`]s; how it travels is a wire's business.
//!
//! Items are kept in the bytes they came in or were first written in: a conversation that is sent again begins with the
//! same bytes, so the provider's prompt cache holds. This crate knows no tools and no turns, and never retries: it says
//! of each failure what may be done about it.
#![forbid(unsafe_code)]

mod event;
mod failure;
mod item;
mod request;

pub use event::{Event, Usage};
pub use failure::{Failure, Remedy};
pub use item::{BadItem, Call, CallId, Content, Input, Item, Part, Role};
pub use request::{Grammar, Request, ToolSpec};
