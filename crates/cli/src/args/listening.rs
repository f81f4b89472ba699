//! The words about listening, shared by all servers that speak JSON-RPC.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use windlass_server::listen::Listen;

/// Where a server listens and whom it lets in.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListenWords {
    /// Where to listen: `stdio://`, `ws://IP:PORT` (port 0 is a free one), `wss://IP:PORT`, `unix://PATH` or
    /// `off`
    #[arg(long, value_name = "URL")]
    pub(crate) listen: Option<Listen>,

    /// The same as --listen stdio://
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,

    /// What WebSocket clients have to show
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) ws_auth: Option<AuthName>,

    /// Ask for the token in this file, as `Authorization: Bearer TOKEN`; others must not be able to read the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ws_token_sha256", "ws_shared_secret_file"])]
    pub(crate) ws_token_file: Option<PathBuf>,

    /// Ask for the token that has this SHA-256, in hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "ws_shared_secret_file")]
    pub(crate) ws_token_sha256: Option<String>,

    /// Ask for a JSON Web Token that was signed (HS256) with the secret in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) ws_shared_secret_file: Option<PathBuf>,

    /// Who must have made that token
    #[arg(long, value_name = "NAME", requires = "ws_shared_secret_file")]
    pub(crate) ws_issuer: Option<String>,

    /// Whom that token must be made for
    #[arg(long, value_name = "NAME", requires = "ws_shared_secret_file")]
    pub(crate) ws_audience: Option<String>,

    /// By how much the clock of whoever made that token may differ from ours
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) ws_max_clock_skew_seconds: u64,

    /// Let pages of this origin connect, such as `https://example.org`; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,

    /// Another name by which clients call this server; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,

    /// Serve a loopback address without a token: any process of this user can then run commands here
    #[arg(long, conflicts_with = "allow_remote")]
    pub(crate) insecure_loopback: bool,

    /// Let --listen take an address that other machines can reach; asks for a token and a certificate
    #[arg(long)]
    pub(crate) allow_remote: bool,

    #[command(flatten)]
    pub(crate) tls: TlsWords,
}

/// How connections are encrypted.
#[derive(Clone, Debug, Args)]
pub(crate) struct TlsWords {
    /// Encrypt connections, with the certificate (PEM, with those it depends on) in this file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key (PEM) of that certificate, in a file that others cannot read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Serve other machines without encryption: the token, and all that is said, can be read on the way. For a server
    /// behind a proxy or a tunnel that encrypts
    #[arg(long, requires = "allow_remote", conflicts_with = "tls_cert")]
    pub(crate) insecure_plaintext: bool,
}

/// What clients have to show, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthName {
    /// The token of --ws-token-file or --ws-token-sha256
    CapabilityToken,
    /// A token signed with the secret of --ws-shared-secret-file
    SignedBearerToken,
}
