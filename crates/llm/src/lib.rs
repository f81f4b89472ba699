//! A client of language models. A conversation is a list of [`Item`]s; a wire defines how it travels.
//!
//! Items are kept in the bytes in which they arrived or were first written: a conversation that is sent again begins
//! with the same bytes, so the provider's prompt cache holds. This crate has no tools and no turns, and never retries:
//! each failure says what may be done about it.
//!
//! A [`Client`] sends requests to a [`Provider`] and returns its [`StreamedResponse`] piece by piece. Below it
//! everything but the connection is pure: [`sse`] parses bytes into events, and a [`wire::Wire`] writes a [`Request`]
//! as bytes and reads a response from events. An [`HttpTransport`] offers the same connections for other requests on
//! the web.
#![forbid(unsafe_code)]

mod chat;
mod client;
mod event;
mod failure;
mod http;
mod http_transport;
mod item;
mod provider;
mod provider_error;
mod proxy;
mod request;
mod responses;
pub mod sse;
pub mod wire;

pub use chat::Chat;
pub use client::{BadProvider, Client, Probe, ProbeFinding, ProbeStep, StepKind, StreamedResponse};
pub use event::{ResponseEvent, Usage};
pub use failure::{Failure, Remedy};
pub use http::BadAddress;
pub use http_transport::{CarrierError, HttpRoute, HttpTransport, Parcel, Reply, ReplyBody};
pub use item::{BadItem, Call, CallId, Content, ContentPart, Input, Item, Role};
pub use provider::{Certificates, InstructionsRole, Key, Provider, ThoughtField, WireKind};
pub use proxy::{BadProxy, NameLookup, Proxy, ProxyKind};
pub use request::{Grammar, Request, ToolSpec};
pub use responses::Responses;
