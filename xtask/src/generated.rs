//! Files that are committed although a program writes them, so that a reader finds them without building anything.
//!
//! `cargo xtask generate` writes them; `cargo xtask check` fails when one is out of date. To register one, add a line
//! to [`GENERATED`]: a path, and the arguments with which `windlass` prints the file's whole content.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command;

/// Every generated file.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/cli.md", arguments: &["__docs"] },
    Generated { path: "schema/app-server.schema.json", arguments: &["app-server", "generate-schema"] },
    Generated { path: "schema/app-server.ts", arguments: APP_SERVER_TS },
    Generated { path: "schema/exec-server.schema.json", arguments: &["exec-server", "generate-schema"] },
    Generated { path: "schema/exec-server.ts", arguments: &["exec-server", "generate-ts"] },
    Generated { path: "clients/typescript/src/protocol.ts", arguments: APP_SERVER_TS },
    Generated {
        path: "clients/python/src/windlass/protocol.py",
        arguments: &["app-server", "generate-python"],
    },
];

/// What the client has of the protocol is what everybody has.
const APP_SERVER_TS: &[&str] = &["app-server", "generate-ts"];

/// A file whose content `windlass` prints when it is given these arguments.
#[derive(Clone, Copy)]
struct Generated {
    path: &'static str,
    arguments: &'static [&'static str],
}

/// Writes what is out of date.
pub(crate) fn run() -> Result<()> {
    let root = command::root()?;
    for stale in find_stale(&root, GENERATED, print_with_windlass)? {
        stale.write(&root)?;
        eprintln!("wrote {}", stale.path);
    }
    Ok(())
}

/// Fails if anything is out of date, naming it.
pub(crate) fn check() -> Result<()> {
    let stale = find_stale(&command::root()?, GENERATED, print_with_windlass)?;
    for stale in &stale {
        eprintln!("{}", stale.describe());
    }
    if !stale.is_empty() {
        bail!("{} out of date", stale.iter().map(|stale| stale.path).collect::<Vec<_>>().join(", "));
    }
    Ok(())
}

/// A file that is not what it should be.
struct Stale {
    path: &'static str,
    committed: Option<String>,
    wanted: String,
}

impl Stale {
    fn write(&self, root: &Path) -> Result<()> {
        let path = root.join(self.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, &self.wanted).with_context(|| format!("cannot write {}", self.path))
    }

    fn describe(&self) -> String {
        match &self.committed {
            None => format!("{}:1: generated: it is missing", self.path),
            Some(committed) => {
                let line = first_difference(committed, &self.wanted);
                format!("{}:{line}: generated: it differs from here on", self.path)
            }
        }
    }
}

fn find_stale(
    root: &Path,
    all: &[Generated],
    produce: impl Fn(&Generated) -> Result<String>,
) -> Result<Vec<Stale>> {
    let mut stale = Vec::new();
    for generated in all {
        let wanted = produce(generated).with_context(|| format!("cannot generate {}", generated.path))?;
        let committed = read_if_present(&root.join(generated.path))?;
        if committed.as_ref() != Some(&wanted) {
            stale.push(Stale { path: generated.path, committed, wanted });
        }
    }
    Ok(stale)
}

fn print_with_windlass(generated: &Generated) -> Result<String> {
    let words = ["run", "--quiet", "--package", "windlass", "--"];
    command::stdout_of(command::cargo(words.iter().chain(generated.arguments).copied())?)
}

fn read_if_present(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The number of the first line that is not the same in both.
fn first_difference(a: &str, b: &str) -> usize {
    1 + a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const SAMPLE: Generated = Generated { path: "docs/sample.md", arguments: &["__sample"] };

    /// A folder that goes away with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn produce(generated: &Generated) -> Result<String> {
        Ok(format!("# Sample\n\nprinted by {}\n", generated.arguments.join(" ")))
    }

    #[test]
    fn a_missing_file_is_stale_until_it_is_written() {
        let folder = Folder::new("missing");
        let stale = find_stale(&folder.0, &[SAMPLE], produce).unwrap();
        assert_eq!(stale[0].describe(), "docs/sample.md:1: generated: it is missing");

        stale[0].write(&folder.0).unwrap();
        assert!(find_stale(&folder.0, &[SAMPLE], produce).unwrap().is_empty());
    }

    #[test]
    fn a_file_edited_by_hand_is_stale_from_the_edited_line_on() {
        let folder = Folder::new("edited");
        fs::create_dir_all(folder.0.join("docs")).unwrap();
        fs::write(folder.0.join(SAMPLE.path), "# Sample\n\nprinted by hand\n").unwrap();

        let stale = find_stale(&folder.0, &[SAMPLE], produce).unwrap();
        assert_eq!(stale[0].describe(), "docs/sample.md:3: generated: it differs from here on");
    }

    #[test]
    fn a_generator_that_fails_is_named() {
        let error = find_stale(Path::new("."), &[SAMPLE], |_| bail!("no")).err().unwrap();
        assert_eq!(format!("{error:#}"), "cannot generate docs/sample.md: no");
    }

    #[test]
    fn the_first_difference_may_be_a_missing_last_line() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), 2);
        assert_eq!(first_difference("a\n", "a\nb\n"), 2);
    }
}
