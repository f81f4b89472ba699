//! The headers of every request.

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::BadProvider;
use crate::http::{Address, OURSELVES, basic};
use crate::provider::Provider;
use crate::request::Request;

/// Lets a gateway that keeps logs attribute a request to its conversation, and a provider find the conversation's
/// cache.
const CONVERSATION: HeaderName = HeaderName::from_static("thread-id");
const ROOT: HeaderName = HeaderName::from_static("session-id");

/// The headers of every request; those that the provider's description names replace the default ones.
pub(super) fn of(provider: &Provider, address: &Address) -> Result<HeaderMap, BadProvider> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(OURSELVES));
    if let Ok(host) = HeaderValue::from_str(&address.authority()) {
        headers.insert(HOST, host);
    }
    if let Some(key) = provider.key.as_ref().filter(|key| !key.reveal().is_empty()) {
        // Built in one piece, so that no shorter copy of the key stays in memory.
        let value = HeaderValue::from_str(&Zeroizing::new(["Bearer ", key.reveal()].concat()));
        let mut value = value.map_err(|_| BadProvider::Key {
            provider: provider.name.clone(),
            source_name: provider.key_source.clone(),
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let forwarding = provider.proxy.as_ref().filter(|proxy| proxy.forwards_requests() && !address.secure);
    if let Some(credentials) = forwarding.and_then(|proxy| basic(proxy.credentials.as_ref()?)) {
        headers.insert(PROXY_AUTHORIZATION, credentials);
    }
    for (name, value) in &provider.headers {
        add(&mut headers, (name, value.reveal()))
            .ok_or_else(|| BadProvider::Header { provider: provider.name.clone(), name: name.clone() })?;
    }
    Ok(headers)
}

fn add(headers: &mut HeaderMap, (name, value): (&str, &str)) -> Option<()> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Some(())
}

/// Adds the headers that belong to one conversation.
pub(super) fn add_conversation(headers: &mut HeaderMap, request: &Request) {
    for (name, value) in [(CONVERSATION, &request.thread), (ROOT, &request.cache_key)] {
        if let (Ok(value), false) = (HeaderValue::from_str(value), headers.contains_key(&name)) {
            headers.insert(name, value);
        }
    }
}
