//! Real tools over a real engine, and no process left afterwards.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_engine::{Engine, EngineOptions, KillDelays};
use windlass_server::mcp::Windlass;
use windlass_testkit::{Scratch, survivors};
use windlass_tools::{Rules, RulesFile, Toolbox, ToolboxOptions, VariablePatterns};

use crate::rig::{Client, request};

/// A toolbox and its surroundings.
pub(crate) struct Bench {
    pub(crate) toolbox: Toolbox,
    scratch: Scratch,
    token: String,
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        Self::with_rules(name, None)
    }

    /// The same, with rules.
    pub(crate) fn with_rules(name: &str, rules: Option<&str>) -> Self {
        let scratch = Scratch::new(&format!("server-{name}"));
        let token = survivors::token(name);
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let engine = Engine::new(EngineOptions { patience, ..EngineOptions::default() }).expect("an engine");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), scratch.path().into()),
            (survivors::TOKEN_VARIABLE.into(), (&token).into()),
        ];
        let mut options = ToolboxOptions::new(scratch.path(), environment);
        options.shell = "/bin/bash".into();
        // The token must stay in the environment: the test finds survivors by it.
        options.policy.exclude = VariablePatterns::default();
        let rules = rules.map(|text| RulesFile::parse(text, "rules.toml").expect("the rules are in order"));
        options.rules = rules.map(|file| Arc::new(Rules::of(file)));
        Self { toolbox: Toolbox::new(engine, options), scratch, token }
    }

    /// A server for one client.
    pub(crate) fn server(&self) -> Windlass {
        Windlass::new(self.toolbox.clone())
    }

    /// A client of the older protocol.
    pub(crate) async fn client(&self, capabilities: Value) -> Client {
        Client::greeted(self.server(), capabilities).await
    }

    /// A file by which a test and a script synchronise.
    pub(crate) fn sign(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A script that waits until the sign exists.
    pub(crate) fn until_sign(&self, name: &str) -> String {
        format!("until [ -e '{}' ]; do sleep 0.02; done", self.sign(name).display())
    }

    pub(crate) fn give_sign(&self, name: &str) {
        std::fs::write(self.sign(name), "").expect("the sign can be given");
    }

    /// Ends everything, and fails if a process is left.
    pub(crate) async fn end(self) {
        self.toolbox.shutdown().await;
        assert_eq!(survivors::bearing(&self.token), [] as [String; 0]);
    }
}

/// A call of `exec_command`.
pub(crate) fn exec(id: &str, arguments: impl Into<Value>) -> Value {
    let arguments = arguments.into();
    request(id, "tools/call", json!({ "name": "exec_command", "arguments": arguments }))
}
