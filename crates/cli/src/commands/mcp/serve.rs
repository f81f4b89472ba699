//! `windlass mcp`: an engine for the sessions of MCP clients. It runs until its client disconnects or a signal ends it.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;
use windlass_engine::{Ahead, Engine, EngineOptions, Guard};
use windlass_server::mcp::fixtures::Fixtures;
use windlass_server::mcp::{self, Access, Handler, HttpOptions, PATH, Token, Windlass};
use windlass_tools::{Sharing, Toolbox};

use crate::args::McpServe;
use crate::commands::guardian;
use crate::commands::run::clean_up;
use crate::commands::run::signals::Signals;
use crate::commands::shim::Detached;
use crate::config::Config;
use crate::confinement::NamedFiles;
use crate::failure::{Exit, Usage};
use crate::other_runtimes::OtherWindlasses;
use crate::remedies::Interface;
use crate::{confinement, listening, printing, rules_files, secret_file, toolbox};

/// Serves until the client disconnects or a signal arrives, and ends all sessions that should not outlive the server.
pub(crate) async fn run(order: McpServe, config: Config) -> Result<Exit> {
    let signals = Signals::catch()?;
    if order.conformance_fixtures {
        let fixtures = Fixtures::new();
        serve(&order, Access::Open, move || fixtures.clone(), (signals, || {})).await?;
        return Ok(Exit::SUCCESS);
    }
    if order.http.is_none() && config.terminals.stdin {
        crate::printing::say!(
            "windlass: waiting for an MCP client on standard input; `windlass mcp install` tells one to start this"
        );
    }
    let access = Access::Token(match &order.token_file {
        Some(path) => secret_file::read_or_create_token(path)?,
        None => Token::random()?,
    });
    let toolbox = open_toolbox(&order, &config)?;
    if let (Some(_), Access::Token(token)) = (order.http, &access) {
        // All holders of the token are one owner, whatever client names they use.
        toolbox.set_owner(format!("token {}", token.fingerprint()));
    }
    let windlass = Windlass::new(toolbox.clone());
    let handler = move || windlass.for_another_client();
    let ending = toolbox.clone();
    let over = move || drop(tokio::spawn(async move { ending.shutdown().await }));
    let mut serving = std::pin::pin!(serve(&order, access, handler, (signals, over)));
    let served = tokio::select! {
        served = &mut serving => served,
        // Meanwhile the toolbox finds out the environment for the first command.
        () = toolbox.prepare() => serving.await,
    };
    toolbox.shutdown().await;
    served.map(|()| Exit::SUCCESS)
}

fn open_toolbox(order: &McpServe, config: &Config) -> Result<Toolbox> {
    let rules = rules_files::for_server(order, config)?;
    let named = named_files(order)?;
    let store = config.open_store();
    drop(clean_up(store.as_ref()));
    let mut options = toolbox::options(&order.tools, Config::working_directory()?, config)?;
    // Over HTTP there may be several clients, and none should be able to guess another's session numbers.
    options.numbering = toolbox::numbering(order.http.is_some());
    options.store.clone_from(&store);
    options.rules = rules.map(Arc::new);
    options.sharing = if order.share { Sharing::All } else { Sharing::Own };
    if let Some(store) = &store {
        options.others = order.share.then(|| OtherWindlasses::sharing(store.clone()));
        options.shims = Some(Arc::new(Detached::new(store, &options, &order.tools, &named)));
    }
    let guard = Guard::Program(guardian::program);
    let layers = order.tools.sandbox.sandbox_layers;
    let grounds = Some(confinement::grounds_with(layers, config, named, Interface::Mcp));
    let ahead = Ahead::OneHelper;
    let (each, together) = (order.tools.limits.each(), order.tools.limits.together());
    let engine = Engine::new(EngineOptions {
        store,
        guard,
        grounds,
        ahead,
        each,
        together,
        ..EngineOptions::default()
    })?;
    Ok(Toolbox::new(engine, options))
}

/// The files that configure this server, and those with its secrets: a command that could read the token could call
/// this server.
fn named_files(order: &McpServe) -> Result<NamedFiles> {
    let mut named = NamedFiles::of_words(&order.tools.sandbox, order.rules.as_deref());
    named.secrets = secret_file::places(order.token_file.iter().chain(&order.tls.tls_key))?;
    Ok(named)
}

/// Serves over HTTP if requested, otherwise over standard input and output.
async fn serve<H: Handler>(
    order: &McpServe,
    access: Access,
    handler: impl Fn() -> H + Send + Sync + 'static,
    (signals, over): (Signals, impl FnOnce() + Send),
) -> Result<()> {
    let tls = listening::certificate(&order.tls)?;
    let Some(address) = order.http else {
        if tls.is_some() {
            return Err(Usage("--tls-cert goes with --http ADDRESS:PORT".to_owned()).into());
        }
        let served = mcp::serve_stdio(handler(), signals.told_to_end(), over).await;
        return served.context("cannot use standard input and output");
    };
    let reach = listening::reach(order.allow_remote, &order.tls);
    let listener = mcp::listen(address, reach, tls.as_ref()).await?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    announce(order, &format!("{scheme}://{}{PATH}", listener.local_addr()?), &access)?;
    let options = HttpOptions { access, names: order.host.clone(), tls, report: listening::report };
    mcp::serve_http(listener, options, handler, signals.told_to_end()).await.context("cannot serve")
}

/// Prints the URL, and how clients authenticate.
fn announce(order: &McpServe, url: &str, access: &Access) -> Result<()> {
    let token = match access {
        Access::Token(token) => Some(token.reveal()),
        Access::Open | Access::Digest(_) | Access::Signed(_) => None,
    };
    let shown = token.filter(|_| order.token_file.is_none());
    if order.json {
        return printing::print(format!("{}\n", json!({ "url": url, "token": shown })));
    }
    crate::printing::say!("windlass: serving MCP at {url}");
    if let Some(token) = shown {
        crate::printing::say!("windlass: clients send `Authorization: Bearer {token}`");
    }
    crate::printing::say!("windlass: ready");
    Ok(())
}
