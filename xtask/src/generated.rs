//! Files that are committed although a program writes them, so that a reader finds them without building anything.
//!
//! `cargo xtask generate` writes them; `cargo xtask check` fails when one is out of date. To register one, add a line
//! to [`GENERATED`]: a path, and where its whole content comes from.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};

use self::ContentSource::{Function, Windlass};
use crate::{command, notice};

/// Every generated file.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/cli.md", origin: Windlass(&["__docs"]) },
    Generated { path: "schema/app-server.schema.json", origin: Windlass(&["app-server", "generate-schema"]) },
    Generated { path: "schema/app-server.ts", origin: APP_SERVER_TS },
    Generated {
        path: "schema/exec-server.schema.json",
        origin: Windlass(&["exec-server", "generate-schema"]),
    },
    Generated { path: "schema/exec-server.ts", origin: Windlass(&["exec-server", "generate-ts"]) },
    Generated { path: "clients/typescript/src/protocol.ts", origin: APP_SERVER_TS },
    Generated {
        path: "clients/python/src/windlass/protocol.py",
        origin: Windlass(&["app-server", "generate-python"]),
    },
    LICENCE_TEXTS,
];

const LICENCE_TEXTS: Generated = Generated { path: "THIRD-PARTY.txt", origin: Function(notice::text) };

/// The client and every other user of the protocol get the same generated types.
const APP_SERVER_TS: ContentSource = Windlass(&["app-server", "generate-ts"]);

/// A file, and where its content comes from.
#[derive(Clone, Copy)]
struct Generated {
    path: &'static str,
    origin: ContentSource,
}

/// Where the content of a file comes from.
#[derive(Clone, Copy)]
enum ContentSource {
    /// `windlass` prints it when it is given these arguments.
    Windlass(&'static [&'static str]),
    /// A function here puts it together.
    Function(fn() -> Result<String>),
}

/// Writes the files that are out of date, of all files or of those at these paths.
pub(crate) fn run(paths: &[String]) -> Result<()> {
    if let Some(odd) = paths.iter().find(|path| GENERATED.iter().all(|generated| generated.path != *path)) {
        bail!("{odd} is not a generated file");
    }
    let is_wanted =
        |generated: &&Generated| paths.is_empty() || paths.iter().any(|path| path == generated.path);
    let wanted: Vec<Generated> = GENERATED.iter().filter(is_wanted).copied().collect();
    let root = command::root()?;
    for stale in find_stale(&root, &wanted, produce)? {
        stale.write(&root)?;
        eprintln!("wrote {}", stale.path);
    }
    Ok(())
}

/// Fails if anything is out of date, naming it.
pub(crate) fn check() -> Result<()> {
    check_those(GENERATED)
}

/// The same for files that follow from the dependencies alone, for which nothing has to be built.
pub(crate) fn check_licence_texts() -> Result<()> {
    check_those(&[LICENCE_TEXTS])
}

fn check_those(all: &[Generated]) -> Result<()> {
    let stale = find_stale(&command::root()?, all, produce)?;
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

fn produce(generated: &Generated) -> Result<String> {
    match generated.origin {
        Windlass(arguments) => {
            let words = ["run", "--quiet", "--package", "windlass", "--"];
            command::stdout_of(command::cargo(words.iter().chain(arguments).copied())?)
        }
        Function(text) => text(),
    }
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

    const SAMPLE: Generated = Generated { path: "docs/sample.md", origin: Windlass(&["__sample"]) };

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

    fn sample(_: &Generated) -> Result<String> {
        Ok("# Sample\n\nprinted by __sample\n".to_owned())
    }

    #[test]
    fn a_missing_file_is_stale_until_it_is_written() {
        let folder = Folder::new("missing");
        let stale = find_stale(&folder.0, &[SAMPLE], sample).unwrap();
        assert_eq!(stale[0].describe(), "docs/sample.md:1: generated: it is missing");

        stale[0].write(&folder.0).unwrap();
        assert!(find_stale(&folder.0, &[SAMPLE], sample).unwrap().is_empty());
    }

    #[test]
    fn a_file_edited_by_hand_is_stale_from_the_edited_line_on() {
        let folder = Folder::new("edited");
        fs::create_dir_all(folder.0.join("docs")).unwrap();
        fs::write(folder.0.join(SAMPLE.path), "# Sample\n\nprinted by hand\n").unwrap();

        let stale = find_stale(&folder.0, &[SAMPLE], sample).unwrap();
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
