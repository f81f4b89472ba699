//! Creates listeners from the options about listening.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use windlass_server::gate::{Access, Gate, Perimeter, ServerReach, ServerTls, SignedTokens, TokenDigest};
use windlass_server::listen::{Listen, Listener};

use crate::args::{AuthName, ListenWords, TlsWords};
use crate::failure::Usage;
use crate::secret_file::{self, Secret};

/// Binds the requested address, or the default one.
pub(crate) async fn bind(words: &ListenWords, otherwise: Listen) -> Result<Listener> {
    let listen = match (&words.listen, words.stdio) {
        (_, true) => Listen::Stdio,
        (Some(listen), false) => listen.clone(),
        (None, false) => otherwise,
    };
    if let Some(odd) = words.allow_origin.iter().find(|origin| !is_origin(origin)) {
        return Err(Usage(format!(
            "--allow-origin takes what browsers say, such as https://example.org, without a path; not `{odd}`"
        ))
        .into());
    }
    let gate =
        Gate { access: access(words)?, origins: words.allow_origin.clone(), names: words.host.clone() };
    if let Some(option) = of_sockets(words).filter(|_| matches!(listen, Listen::Stdio | Listen::Off)) {
        return Err(Usage(format!(
            "{option} goes with --listen ws://IP:PORT, wss://IP:PORT or unix://PATH: without it there are no connections to \
             accept"
        ))
        .into());
    }
    if matches!((&listen, &gate.access), (Listen::WebSocket(_) | Listen::SecureWebSocket(_), Access::Open))
        && words.insecure_loopback
    {
        crate::printing::say!(
            "windlass: any process of this user can run commands here: no token is asked for"
        );
    }
    let tls = certificate(&words.tls)?;
    if tls.is_some() && !matches!(listen, Listen::SecureWebSocket(_)) {
        return Err(Usage("--tls-cert goes with --listen wss://IP:PORT".to_owned()).into());
    }
    let reach = match reach(words.allow_remote, &words.tls) {
        ServerReach::Loopback if words.insecure_loopback => ServerReach::OpenLoopback,
        reach => reach,
    };
    Ok(Listener::bind(&listen, Perimeter { gate, reach, tls, report }).await?)
}

/// The files with secrets that these options name.
pub(crate) fn secrets(words: &ListenWords) -> Result<Vec<PathBuf>> {
    let named = [&words.ws_token_file, &words.ws_shared_secret_file, &words.tls.tls_key];
    secret_file::places(named.into_iter().flatten())
}

/// The first option that is valid only if clients connect.
fn of_sockets(words: &ListenWords) -> Option<&'static str> {
    let given = [
        ("--ws-auth", words.ws_auth.is_some()),
        ("--ws-token-file", words.ws_token_file.is_some()),
        ("--ws-token-sha256", words.ws_token_sha256.is_some()),
        ("--ws-shared-secret-file", words.ws_shared_secret_file.is_some()),
        ("--allow-origin", !words.allow_origin.is_empty()),
        ("--host", !words.host.is_empty()),
        ("--insecure-loopback", words.insecure_loopback),
        ("--allow-remote", words.allow_remote),
    ];
    given.into_iter().find_map(|(option, given)| given.then_some(option))
}

/// Prints a message for the server's operator.
pub(crate) fn report(line: &str) {
    crate::printing::say!("windlass: {line}");
}

/// From where a server that requires a token may be reached.
pub(crate) fn reach(allow_remote: bool, words: &TlsWords) -> ServerReach {
    match (allow_remote, words.insecure_plaintext) {
        (true, true) => ServerReach::PlaintextNetwork,
        (true, false) => ServerReach::Network,
        (false, _) => ServerReach::Loopback,
    }
}

/// Reads the certificate and the key.
pub(crate) fn certificate(words: &TlsWords) -> Result<Option<ServerTls>> {
    let (Some(certificate), Some(key)) = (&words.tls_cert, &words.tls_key) else { return Ok(None) };
    let chain = std::fs::read(certificate);
    let chain = chain.with_context(|| format!("cannot read {}", certificate.display()))?;
    let tls = ServerTls::from_pem(&chain, &secret_file::read(key, Secret::PrivateKey)?);
    let files = || format!("cannot encrypt with {} and {}", certificate.display(), key.display());
    tls.map(Some).with_context(files)
}

fn is_origin(text: &str) -> bool {
    let host = text.split_once("://").filter(|(scheme, _)| !scheme.is_empty()).map(|(_, host)| host);
    text == "null" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', ' ']))
}

fn access(words: &ListenWords) -> Result<Access> {
    let usage = |text: &str| Usage(text.to_owned());
    if let Some(path) = &words.ws_shared_secret_file {
        if words.ws_auth == Some(AuthName::CapabilityToken) {
            return Err(usage("--ws-shared-secret-file goes with --ws-auth signed-bearer-token").into());
        }
        return signed(words, path);
    }
    let access = if let Some(path) = &words.ws_token_file {
        Access::Token(secret_file::token(path)?)
    } else if let Some(hex) = &words.ws_token_sha256 {
        let digest = TokenDigest::from_hex(hex).map_err(|error| Usage(format!("--ws-token-sha256: {error}")));
        Access::Digest(digest?)
    } else {
        Access::Open
    };
    match (words.ws_auth, &access) {
        (Some(AuthName::SignedBearerToken), _) => {
            Err(usage("--ws-auth signed-bearer-token needs --ws-shared-secret-file").into())
        }
        (Some(AuthName::CapabilityToken), Access::Open) => {
            Err(usage("--ws-auth capability-token needs --ws-token-file or --ws-token-sha256").into())
        }
        _ => Ok(access),
    }
}

fn signed(words: &ListenWords, path: &Path) -> Result<Access> {
    let secret = secret_file::read(path, Secret::SigningKey)?;
    let tokens = SignedTokens::new(&secret);
    let mut tokens = tokens.with_context(|| format!("the secret in {} keeps nothing", path.display()))?;
    tokens.issuer.clone_from(&words.ws_issuer);
    tokens.audience.clone_from(&words.ws_audience);
    tokens.skew = Duration::from_secs(words.ws_max_clock_skew_seconds);
    Ok(Access::Signed(tokens))
}
