//! How we greet a server: with the handshake of most revisions or, if the server does not know it, with discovery.
//!
//! The handshake comes first, though newer clients do it the other way round: present servers rely on it, and some fail
//! on anything that comes before it.

use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::link::{Link, OutgoingRequest};
use crate::protocol_revision::{self, Era};
use crate::state::Greeting;

/// The most bytes of a server's instructions that are kept.
const WORDS: usize = 16 * 1024;

/// The result of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Greeted {
    pub(crate) handshake: Greeting,
    /// Whether the server declares tools.
    pub(crate) has_tools: bool,
    /// Whether the server reports changes of its list of tools.
    pub(crate) tells_changes: bool,
}

/// Greets the server and agrees with it on a protocol revision.
pub(crate) async fn greet(link: &Link) -> Result<Greeted, Fault> {
    match initialize(link).await {
        Err(first @ (Fault::Refused(_) | Fault::TurnedAway(_))) => discover(link).await.map_err(|_| first),
        settled => settled,
    }
}

async fn initialize(link: &Link) -> Result<Greeted, Fault> {
    let capabilities = link.handler().capabilities();
    let params = object(json!({
        "protocolVersion": protocol_revision::GREETED,
        "capabilities": capabilities,
        "clientInfo": protocol_revision::client(),
    }));
    let result = link.request("initialize", params).await?;
    let version = result.get("protocolVersion").and_then(Value::as_str);
    let version =
        version.ok_or_else(|| Fault::Senseless("it names no revision of the protocol".to_owned()))?;
    link.agree(Era::of(version, capabilities));
    if link.revision().is_some_and(|revision| !revision.is_stateless()) {
        link.notify("notifications/initialized").await?;
    }
    Ok(read(&result, version))
}

async fn discover(link: &Link) -> Result<Greeted, Fault> {
    let revision = Era::of(protocol_revision::STATELESS, link.handler().capabilities());
    let asked = OutgoingRequest { method: "server/discover", params: &Map::new(), schema: None };
    let result = link.ask(Some(&revision), asked).await?;
    let spoken = result.get("supportedVersions").and_then(Value::as_array);
    if !spoken.is_some_and(|versions| versions.iter().any(|version| version == protocol_revision::STATELESS))
    {
        return Err(Fault::Senseless("it speaks no revision of the protocol that we do".to_owned()));
    }
    link.agree(revision);
    Ok(read(&result, protocol_revision::STATELESS))
}

fn read(result: &Map<String, Value>, version: &str) -> Greeted {
    let capability = |name: &str| result.get("capabilities").and_then(|all| all.get(name));
    let tools = capability("tools").filter(|tools| !tools.is_null());
    let instructions =
        result.get("instructions").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let handshake = Greeting {
        software: software(result),
        protocol: short(version).to_owned(),
        instructions: instructions.map(|text| short(text).to_owned()),
        tools: 0,
        has_resources: capability("resources").is_some_and(|resources| !resources.is_null()),
    };
    let tells_changes = tools.and_then(|tools| tools.get("listChanged")) == Some(&Value::Bool(true));
    Greeted { handshake, has_tools: tools.is_some(), tells_changes }
}

/// The server's name and version, which later revisions moved to another field.
fn software(result: &Map<String, Value>) -> String {
    let moved = || result.get("_meta")?.get("io.modelcontextprotocol/serverInfo");
    let Some(info) = result.get("serverInfo").or_else(moved) else { return String::new() };
    let text = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
    short(format!("{} {}", text("name"), text("version")).trim()).to_owned()
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(WORDS)]
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
