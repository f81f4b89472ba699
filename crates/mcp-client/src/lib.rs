//! A client of the Model Context Protocol: starts or connects to servers, lists and calls their tools, and ends them.
//!
//! [`Servers`] starts each server that a [`ServerSpec`] describes, a program on pipes or a URL, and provides
//! [`ForeignTool`]s under names that a model can use. This crate knows no model, no configuration file, no environment
//! variables and no TLS: the caller passes an HTTP client as [`Http`]. All input from a server is treated as data: a
//! server cannot crash this process, exhaust its memory or outlive it.
#![forbid(unsafe_code)]

mod client_handler;
mod deadlines;
mod elicit;
mod events;
mod failure;
mod fault;
mod handshake;
mod http;
mod launch;
mod lines;
mod link;
mod mcp_request;
mod message;
mod names;
mod notes;
mod outcome;
mod pipe;
mod protocol_revision;
mod resource;
mod secret;
mod server;
mod server_supervisor;
mod servers;
mod spec;
mod state;
mod tool;
mod web;

pub use elicit::{Elicitation, ElicitationAnswer, ElicitationFuture, Elicitor};
pub use failure::{CallError, RequiredError};
pub use http::{BodyFuture, Http, HttpAnswer, HttpBody, HttpError, HttpFuture, HttpMethod, HttpRequest};
pub use outcome::{CallOutcome, Content, RenderLimits, ResultPart, render};
pub use resource::{Resource, ResourceContent, ResourceText, Template};
pub use secret::Secret;
pub use servers::{Servers, ServersContext, Which};
pub use spec::{Bearer, ServerSpec, ToolFilter, Transport};
pub use state::{Greeting, ServerState, Standing};
pub use tool::ForeignTool;
