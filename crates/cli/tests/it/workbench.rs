//! The fixture for `windlass agent`: a home directory, a configuration, a working directory, and a scripted model.

use std::path::PathBuf;
use std::process::Command;

use windlass_testkit::model::Model;

use crate::rig::{Home, Seen};

/// The agent's key, which must appear nowhere.
pub(crate) const SECRET: &str = "sk-not-for-anybody-0123456789";

/// Further configuration.
#[derive(Default)]
pub(crate) struct More<'a> {
    /// Inserted before any table.
    pub(crate) keys: &'a str,
    /// Appended at the end.
    pub(crate) tables: &'a str,
}

/// The fixture.
pub(crate) struct Workbench {
    pub(crate) home: Home,
}

impl Workbench {
    /// With a configuration that uses this model.
    pub(crate) fn new(name: &str, model: &Model, more: &More<'_>) -> Self {
        Self::at(name, &model.base_url(), more)
    }

    /// With a configuration that uses the model at this address.
    pub(crate) fn at(name: &str, base_url: &str, more: &More<'_>) -> Self {
        let bench = Self { home: Home::new(name) };
        std::fs::create_dir_all(bench.work()).expect("a directory can be made");
        let text = format!(
            "model = \"scripted\"\nmodel_provider = \"it\"\n{}\n[model_providers.it]\nname = \"It\"\nbase_url = {base_url:?}\n\
             env_key = \"IT_KEY\"\nwire_api = \"responses\"\nstream_max_retries = 0\n{}\n",
            more.keys, more.tables
        );
        bench.write(".config/windlass/config.toml", &text);
        bench
    }

    /// The working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Writes a file below the home.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is below the home")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A command for windlass with this home directory and key.
    pub(crate) fn windlass(&self, words: &[&str]) -> Command {
        let mut command = self.home.windlass(words);
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME", "OPENAI_BASE_URL"] {
            command.env_remove(name);
        }
        command.current_dir(self.work()).env("HOME", self.home.path()).env("IT_KEY", SECRET);
        command
    }

    /// Runs an agent, without a sandbox, to its end.
    pub(crate) fn agent(&self, words: &[&str]) -> Seen {
        let words: Vec<&str> = ["agent"].iter().chain(words).copied().collect();
        seen(&mut self.windlass(&words))
    }
}

/// Runs a command to its end.
pub(crate) fn seen(command: &mut Command) -> Seen {
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().expect("it exits by itself");
    Seen { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}
