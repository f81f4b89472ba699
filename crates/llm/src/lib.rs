//! Speaks with language models. What is said is a list of [`Item`]s; how it travels is a wire's business.
//!
//! Items are kept in the bytes they came in or were first written in: a conversation that is sent again begins with the
//! same bytes, so the provider's prompt cache holds. This crate knows no tools and no turns, and never retries: it says
//! of each failure what may be done about it.
//!
//! A [`Client`] asks a [`Provider`] and hands out its [`Answer`] piece by piece. Below it everything but the connection is
//! pure: [`sse`] makes events of bytes, and a [`wire::Wire`] makes bytes of a [`Request`] and an answer of events. A
//! [`Carrier`] lends the connections to others who ask something on the web.
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
