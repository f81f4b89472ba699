//! Writes the tables that counting tokens reads: the vocabularies and the classes of characters. They lie in the
//! program as they are read, so nothing is unpacked when it runs.
#![forbid(unsafe_code)]

#[path = "build/classes.rs"]
mod classes;
#[path = "build/perfect.rs"]
mod perfect;
#[path = "src/tokens/placing.rs"]
mod placing;
#[path = "build/vocabulary.rs"]
mod vocabulary;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    for path in ["build.rs", "build", "src/tokens/placing.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let folder = Folder(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()));
    for name in ["o200k_base", "cl100k_base"] {
        vocabulary::write(name, &folder)?;
    }
    classes::write(&folder)
}

/// Where the tables go.
struct Folder(PathBuf);

impl Folder {
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::write(Path::new(&self.0).join(name), bytes)
    }
}
