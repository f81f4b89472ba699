//! The MCP clients on this machine, and which of them are configured to start windlass.

use std::io::ErrorKind;

use clap::ValueEnum;

use super::Check;
use crate::args::McpClient;
use crate::clients::{Scope, Target, program, title};
use crate::config::{Config, below_home};

pub(super) fn checks(config: &Config) -> Vec<Check> {
    let clients = McpClient::value_variants();
    let found: Vec<Check> = clients.iter().filter_map(|client| check(*client, config)).collect();
    if found.is_empty() {
        let names: Vec<&str> = clients.iter().map(|client| title(*client)).collect();
        return vec![Check::note(
            "MCP clients",
            format!("none found; these are known: {}", names.join(", ")),
        )];
    }
    found
}

/// The check for a client; `None` if there is no trace of it.
fn check(client: McpClient, config: &Config) -> Option<Check> {
    let name = title(client);
    let target = config.client_places().target(client, Scope::User).ok();
    let on_path = config.find_program(program(client)).is_some();
    let word = client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let install = format!("`windlass mcp install {word}` makes it so");
    let Some((target, text)) = target.and_then(read) else {
        let said = "it is here and does not start windlass";
        return on_path.then(|| Check::note(name, said).advise(install));
    };
    let shown = below_home(&target.path, &config.environment);
    let text = match text {
        Ok(text) => text,
        Err(error) => return Some(Check::note(name, format!("{shown} cannot be read: {error}"))),
    };
    Some(match target.has_server(&text) {
        Ok(true) => {
            let check = Check::ok(name, format!("it starts windlass, as {shown} says"));
            let confine = format!(
                "its commands run without a sandbox; `windlass mcp install {word} -- --sandbox workspace-write` confines them"
            );
            if text.contains("--sandbox") { check } else { check.advise(confine) }
        }
        Ok(false) => Check::note(name, format!("{shown} does not say to start windlass")).advise(install),
        Err(broken) => Check::note(name, format!("{shown} is not understood, {broken}")),
    })
}

/// The client's file, if it exists.
fn read(target: Target) -> Option<(Target, std::io::Result<String>)> {
    match std::fs::read_to_string(&target.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some((target, read)),
    }
}
