//! Selects the files to search by globs, as ripgrep's `-g` does: a glob without a slash matches names, one with a slash
//! matches paths from the root of the search, and `!` excludes.
//!
//! Unlike with `-g`, a glob never includes a hidden file or one that `.gitignore` names: by `*` a model does not mean
//! `node_modules`.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

use crate::answer::FileToolError;

/// The globs of a search.
#[derive(Debug)]
pub(super) struct Include(Override);

impl Include {
    /// Parses globs for files below this directory.
    pub(super) fn parse(globs: &[String], root: &Path) -> Result<Self, FileToolError> {
        let mut builder = OverrideBuilder::new(root);
        for glob in globs.iter().flat_map(|globs| alternatives(globs)) {
            builder.add(&from_the_root(glob, root)).map_err(|error| refused(&error))?;
        }
        builder.build().map(Self).map_err(|error| refused(&error))
    }

    pub(super) fn takes_file(&self, path: &Path) -> bool {
        !self.0.matched(path, IS_DIRECTORY[0]).is_ignore()
    }

    pub(super) fn enters(&self, directory: &Path) -> bool {
        !self.0.matched(directory, IS_DIRECTORY[1]).is_ignore()
    }
}

/// The flag that tells the matcher whether a path is a directory, for both cases.
const IS_DIRECTORY: [bool; 2] = [false, true];

/// Splits at commas outside of braces: `*.ts,*.tsx` is two globs, as many models mean it, and `*.{ts,tsx}` is one.
fn alternatives(globs: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = globs.split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|glob| !glob.is_empty()).collect()
}

/// The same glob anchored at the root of the search. A directory stands for everything in it.
fn from_the_root(glob: &str, root: &Path) -> String {
    let (not, glob) = glob.strip_prefix('!').map_or(("", glob), |glob| ("!", glob));
    let inside = root.to_str().and_then(|root| glob.strip_prefix(root)).filter(|rest| rest.starts_with('/'));
    let glob = inside.or_else(|| glob.strip_prefix('.').filter(|rest| rest.starts_with('/'))).unwrap_or(glob);
    let everything = if glob.ends_with('/') && not.is_empty() { "**" } else { "" };
    format!("{not}{glob}{everything}")
}

fn refused(error: &ignore::Error) -> FileToolError {
    FileToolError::argument("include", format!("{error}; give a glob such as *.rs or src/**/*.{{ts,tsx}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_about_names_or_paths() {
        for (glob, takes, leaves) in [
            ("", &["a.rs"][..], &[][..]),
            ("*.rs", &["a.rs", "src/deep/a.rs"], &["a.rsx", "rs"]),
            ("*.{ts,tsx}", &["a.ts", "b/a.tsx"], &["a.js"]),
            ("*.ts, *.tsx", &["a.ts", "b/a.tsx"], &["a.js"]),
            ("src/*.rs", &["src/a.rs"], &["src/deep/a.rs", "other/src/a.rs"]),
            ("./src/**/*.rs", &["src/a.rs", "src/deep/a.rs"], &["a.rs"]),
            ("/top/src/*.rs", &["src/a.rs"], &["a.rs"]),
            ("src/", &["src/a.rs", "src/deep/a.py"], &["a.rs"]),
            ("!*.min.js", &["a.js"], &["a.min.js"]),
        ] {
            let include = Include::parse(&[glob.to_owned()], Path::new("/top")).expect(glob);
            for (files, expected) in [(takes, true), (leaves, false)] {
                for file in files {
                    assert_eq!(
                        include.takes_file(&Path::new("/top").join(file)),
                        expected,
                        "{glob} and {file}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_bad_glob_is_refused() {
        for glob in ["[", "*.{rs", "a[z-a]"] {
            let refusal = Include::parse(&[glob.to_owned()], Path::new("/top")).expect_err(glob).to_string();
            assert!(refusal.starts_with("include: "), "{refusal}");
        }
    }
}
