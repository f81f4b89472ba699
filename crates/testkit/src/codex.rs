//! Codex, from npm, in a home of its own and with access to this machine only: for tests and measurements that run
//! Windlass beside it or under it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::model::MODEL;
use crate::peers::npm_modules;

/// An address on which no process listens: the model's address for a Codex that needs no model, and the proxy for all
/// its other requests.
pub const NOBODY: &str = "http://127.0.0.1:9";

/// The program itself, not the script that npm puts before it and that would cost it Node's start.
pub fn program() -> PathBuf {
    let path = npm_modules().join("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
    assert!(path.exists(), "{} is missing: run `cargo xtask peers`", path.display());
    path
}

/// The program with an empty folder for a home, not yet started.
pub fn command(home: &Path) -> Command {
    let mut command = Command::new(program());
    command.env("HOME", home).env("CODEX_HOME", home).env("SHELL", "/bin/bash").current_dir(home);
    cut_off(&mut command);
    command
}

/// Sends all requests of the program except those to loopback to a proxy port on which no process listens.
pub fn cut_off(command: &mut Command) {
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(variable, NOBODY);
    }
    command.env("NO_PROXY", "127.0.0.1");
}

/// The contents of `config.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<'a> {
    /// The address of the model.
    pub model: &'a str,
    /// Lines of the table of features, beside those that are off because they would look for more than the model.
    pub features: &'a str,
    /// Tables of its own.
    pub more: &'a str,
}

impl Configuration<'_> {
    /// For a Codex that sends no request to a model.
    pub const WITHOUT_MODEL: Configuration<'static> =
        Configuration { model: "http://127.0.0.1:9/v1", features: "", more: "" };

    /// Writes it into Codex's home.
    pub fn write(&self, home: &Path) -> std::io::Result<()> {
        std::fs::write(home.join("config.toml"), self.text())
    }

    /// The model's address, no sandbox and no questions, and everything off that would look for more than that.
    pub fn text(&self) -> String {
        let Self { model, features, more } = self;
        format!(
            r#"
model = "{MODEL}"
model_provider = "{MODEL}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
{features}

[model_providers.{MODEL}]
name = "{MODEL}"
base_url = "{model}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

{more}
"#
        )
    }
}
