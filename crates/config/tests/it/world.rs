//! The fixture: a home, a machine's configuration, and a project with a working directory inside.

use std::path::{Path, PathBuf};

use windlass_config::{Faults, Loaded, Places, Request, TrustLevel, load};
use windlass_testkit::Scratch;

pub(crate) struct World {
    scratch: Scratch,
    pub(crate) places: Places,
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("settings-{name}"));
        let root = scratch.path().canonicalize().expect("a scratch directory has a real path");
        let home = root.join("home");
        let places = Places {
            system: root.join("etc"),
            config: Some(home.join(".config/windlass")),
            codex: Some(home.join(".codex")),
            home: Some(home),
            cwd: root.join("project/inner"),
        };
        let world = Self { scratch, places };
        world.folder("project/.git");
        world.folder("project/inner");
        world
    }

    /// A world whose user file has this text.
    pub(crate) fn with_user(name: &str, text: &str) -> Self {
        let world = Self::new(name);
        world.user(text);
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().canonicalize().expect("a scratch directory has a real path")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        let folder = self.root().join(path);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.root().join(path);
        std::fs::create_dir_all(file.parent().expect("a file lies in a folder"))
            .expect("a folder can be made");
        std::fs::write(&file, text).expect("a file can be written");
        file
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.root().join(path)).expect("the file is there")
    }

    pub(crate) fn user(&self, text: &str) -> PathBuf {
        self.write("home/.config/windlass/config.toml", text)
    }

    pub(crate) fn trust(&self) {
        windlass_config::trust(&self.places, &self.project(), TrustLevel::Trusted)
            .expect("trust can be written");
    }

    pub(crate) fn load(&self) -> Loaded {
        self.ask(&Request::default()).expect("the settings have no fault")
    }

    pub(crate) fn ask(&self, request: &Request) -> Result<Loaded, Faults> {
        load(&self.places, request)
    }

    /// The faults of the files, as lines, with the home as `~` and the world's root as `/`.
    pub(crate) fn faults(&self, request: &Request) -> Vec<String> {
        let faults = self.ask(request).expect_err("there are faults");
        faults.to_string().lines().map(|line| self.shortened(line)).collect()
    }

    /// The notes, as lines, in the same form.
    pub(crate) fn notes(&self, loaded: &Loaded) -> Vec<String> {
        loaded.notes.iter().map(|note| self.shortened(&note.to_string())).collect()
    }

    fn shortened(&self, line: &str) -> String {
        let root = self.root().display().to_string();
        line.replace(&format!("{root}/home"), "~").replace(&root, "")
    }
}

pub(crate) fn overriding(overrides: &[&str]) -> Request {
    Request { overrides: overrides.iter().map(|one| (*one).to_owned()).collect(), ..Request::default() }
}
