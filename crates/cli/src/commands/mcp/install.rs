//! `windlass mcp install`: adds windlass to a client's configuration file. It shows the change first and keeps a backup
//! beside the file; it does not touch a file that it cannot parse.

mod diff;
mod file;

use std::path::Path;

use anyhow::{Context, Result};

use self::file::Written;
use crate::args::{McpClient, McpInstall};
use crate::clients::{self, Broken, SERVER_NAME, Scope, Server, Target};
use crate::config::{Config, below_home};
use crate::failure::{Exit, Usage};
use crate::printing::{print, print_text};

/// Changes the client's configuration.
pub(crate) fn run(order: &McpInstall, config: &Config) -> Result<Exit> {
    let target = target(order, config)?;
    if order.print {
        return show(&target, &server(order, config)?);
    }
    let before = file::read(&target.path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = if order.remove {
        target.without_server(text)
    } else {
        target.with_server(text, &server(order, config)?)
    };
    let after = after.map_err(|broken| not_understood(&target, &broken))?;
    if after == text {
        return nothing_to_change(order, &target, config);
    }
    let shown = below_home(&target.path, &config.environment);
    print(diff::unified(&shown, (text, &after), config.colour))?;
    let written = file::replace(&target.path, before.as_deref(), &after)?;
    tell(order, config, &shown, &written)
}

fn target(order: &McpInstall, config: &Config) -> Result<Target> {
    let directory = Config::working_directory()?;
    let scope = if order.project { Scope::Project(&directory) } else { Scope::User };
    config.client_places().target(order.client, scope).map_err(|error| Usage(error.to_string()).into())
}

/// The command for the client: `windlass mcp`, with the requested options.
fn server(order: &McpInstall, config: &Config) -> Result<Server> {
    let command = match &order.command {
        Some(command) => command.clone(),
        None => own_command(config)?,
    };
    let arguments = ["mcp"].into_iter().map(str::to_owned).chain(order.arguments.iter().cloned()).collect();
    Ok(Server { command, arguments })
}

/// The name of this program if PATH leads to it, because that survives an update that installs elsewhere; otherwise its
/// path.
fn own_command(config: &Config) -> Result<String> {
    let own = Config::own_program();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let found = config.find_program(SERVER_NAME);
    if found.is_some_and(|found| real(&found).is_some() && real(&found) == real(&own)) {
        return Ok(SERVER_NAME.to_owned());
    }
    let path = own.to_str().with_context(|| {
        format!("the path of this program, {}, is not UTF-8; name another with --command", own.display())
    })?;
    Ok(path.to_owned())
}

/// Shows the path and the entry, for people who edit the file themselves.
fn show(target: &Target, server: &Server) -> Result<Exit> {
    let snippet = target.with_server("", server)?;
    print(format!("{}\n\n{snippet}", target.path.display()))?;
    Ok(Exit::SUCCESS)
}

fn not_understood(target: &Target, broken: &Broken) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot understand {}, {broken}; nothing was written. Repair the file and run this again, or put in what \
         `windlass mcp install {} --print` shows",
        target.path.display(),
        word(target.client),
    )
}

fn nothing_to_change(order: &McpInstall, target: &Target, config: &Config) -> Result<Exit> {
    let shown = below_home(&target.path, &config.environment);
    let state = if order.remove { "is not in it" } else { "is in it already" };
    print_text(&format!("nothing to change in {shown}: {SERVER_NAME} {state}\n"))?;
    Ok(Exit::SUCCESS)
}

fn tell(order: &McpInstall, config: &Config, shown: &str, written: &Written) -> Result<Exit> {
    let title = clients::title(order.client);
    let ending = if order.remove {
        format!("{title} no longer starts windlass")
    } else {
        let confined = order.arguments.iter().any(|word| word.starts_with("--sandbox"));
        let word = word(order.client);
        let remark = match confined {
            true => String::new(),
            false => format!(
                "\nits commands run without a sandbox; `windlass mcp install {word} -- --sandbox workspace-write` confines them"
            ),
        };
        format!("{title} starts windlass from its next start on{remark}")
    };
    let backup = match &written.backup {
        Some(backup) => format!("the file as it was is {}", below_home(backup, &config.environment)),
        None => "there was no such file before".to_owned(),
    };
    print_text(&format!("\nwrote {shown}; {backup}\n{ending}\n"))?;
    Ok(Exit::SUCCESS)
}

/// The client's name on the command line.
fn word(client: McpClient) -> String {
    use clap::ValueEnum;
    client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
