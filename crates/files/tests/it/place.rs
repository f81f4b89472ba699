//! A test directory with files, and calls of tools in it. Outputs show its path as `HERE`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_files::{FileContext, FileOutput, FileToolError, TOOLS};
use windlass_testkit::Scratch;

pub(crate) struct Place(Scratch);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        Self(Scratch::new(name))
    }

    /// A directory with these files. A name that ends with a slash makes a directory.
    pub(crate) fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let place = Self::new(name);
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let whole = self.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(&whole).unwrap();
        } else {
            fs::create_dir_all(whole.parent().unwrap()).unwrap();
            fs::write(&whole, bytes).unwrap();
        }
        whole
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
    }

    pub(crate) fn fifo(&self, path: &str) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, self.path().join(path), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    /// Calls a tool. The arguments are JSON.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Result<FileOutput, FileToolError> {
        self.call_with(tool, arguments, &FileContext::open(self.path()))
    }

    pub(crate) fn call_with(
        &self,
        tool: &str,
        arguments: &str,
        surroundings: &FileContext<'_>,
    ) -> Result<FileOutput, FileToolError> {
        let tool = TOOLS.iter().find(|known| known.name == tool).expect("a tool of this name");
        let arguments: Value = serde_json::from_str(&arguments.replace("HERE", self.here())).expect("JSON");
        (tool.call)(arguments.as_object().expect("an object").clone(), surroundings)
    }

    /// The text of an output.
    pub(crate) fn text(&self, tool: &str, arguments: &str) -> String {
        self.text_with(tool, arguments, &FileContext::open(self.path()))
    }

    pub(crate) fn text_with(&self, tool: &str, arguments: &str, surroundings: &FileContext<'_>) -> String {
        match self.call_with(tool, arguments, surroundings) {
            Ok(FileOutput::Text(text)) => text.replace(self.here(), "HERE"),
            other => panic!("no text but {other:?}"),
        }
    }

    pub(crate) fn refusal(&self, tool: &str, arguments: &str) -> String {
        let refusal = self.call(tool, arguments).expect_err("a refusal");
        refusal.to_string().replace(self.here(), "HERE")
    }

    fn here(&self) -> &str {
        self.path().to_str().unwrap()
    }
}
