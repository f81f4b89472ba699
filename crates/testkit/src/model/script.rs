//! Scripts: turns in order, several roles with turns of their own, or a function for everything.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::reply::Reply;
use super::request::Request;

/// The reply of the model to one request.
pub type ModelTurn = Box<dyn FnOnce(&Request) -> Reply + Send>;

type Function = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// A role: the requests that belong to it, and the replies to them.
pub struct Role {
    name: String,
    knows: Box<dyn Fn(&Request) -> bool + Send>,
    turns: std::vec::IntoIter<ModelTurn>,
}

/// The script.
pub(super) enum Script {
    Roles(Vec<Role>),
    Function(Function),
}

/// A turn that does not look at the request.
pub fn always(reply: Reply) -> ModelTurn {
    Box::new(move |_| reply)
}

/// A turn that does.
pub fn turn(reply: impl FnOnce(&Request) -> Reply + Send + 'static) -> ModelTurn {
    Box::new(reply)
}

/// The role of the agent whose user's messages contain this text. A sub-agent's task is such a message.
pub fn role(asked: &str, turns: Vec<ModelTurn>) -> Role {
    let about = asked.to_owned();
    Role::knowing(asked, move |request| request.is_asked(&about), turns)
}

impl Role {
    /// The role whose requests this function knows.
    pub fn knowing(
        name: &str,
        knows: impl Fn(&Request) -> bool + Send + 'static,
        turns: Vec<ModelTurn>,
    ) -> Self {
        Self { name: name.to_owned(), knows: Box::new(knows), turns: turns.into_iter() }
    }
}

impl Script {
    pub(super) fn turns(turns: Vec<ModelTurn>) -> Self {
        Self::Roles(vec![Role::knowing("the only one", |_| true, turns)])
    }

    /// The turn that answers this request.
    pub(super) fn next(&mut self, request: &Request) -> Option<ModelTurn> {
        match self {
            Self::Roles(roles) => roles.iter_mut().find(|role| (role.knows)(request))?.turns.next(),
            Self::Function(function) => {
                let function = Arc::clone(function);
                Some(Box::new(move |request| function(request)))
            }
        }
    }

    /// The turns that were never requested, in words; empty if there are none.
    pub(super) fn left(&self) -> String {
        let Self::Roles(roles) = self else { return String::new() };
        let left = roles.iter().filter(|role| role.turns.len() > 0);
        left.map(|role| format!("{} of {}", role.turns.len(), role.name)).collect::<Vec<_>>().join(", ")
    }
}

/// Plays a turn. A failed assertion in it must fail the test, not kill this thread.
pub(super) fn played(turn: ModelTurn, request: &Request) -> Result<Reply, String> {
    panic::catch_unwind(AssertUnwindSafe(|| turn(request))).map_err(|panic| said(panic.as_ref()).to_owned())
}

fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
