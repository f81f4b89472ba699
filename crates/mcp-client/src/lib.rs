//! Tools that other programs serve over the Model Context Protocol: started or reached, listed, called, and ended with us.
//!
//! [`Servers`] starts what a [`ServerSpec`] describes, a program on pipes or an address on the web, and hands out
//! [`ForeignTool`]s under names that a model can use. It knows no model, no configuration file, no environment variables
//! and no TLS: a way to the web, [`Http`], is given to it. Whatever a server says or does is data here; none can end us,
//! fill our memory or outlive us.
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
