//! The context of a call: the agent's directory, what it may read, and whether the caller still waits.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::answer::FileToolError;

/// The context of a call. The caller passes everything as values or functions: nothing is read from the environment.
#[derive(Clone, Copy)]
pub struct FileContext<'a> {
    /// The agent's directory, absolute: what relative paths are relative to.
    pub directory: &'a Path,
    /// Whether this file or directory may be read. Called with real paths, without symbolic links, and by two threads
    /// at once.
    pub may_read: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Whether the caller no longer wants the result. Called often, so it must be cheap.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Files of patterns like `.gitignore`'s that hold everywhere; see [`crate::git_excludes`].
    pub excludes: &'a [PathBuf],
}

impl<'a> FileContext<'a> {
    /// A context in which everything may be read and no call is stopped.
    pub fn open(directory: &'a Path) -> Self {
        Self { directory, may_read: &|_| true, stop: &|| false, excludes: &[] }
    }

    /// The absolute path of a path that a model gave. Symbolic links and `..` are left to the kernel.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let joined = self.directory.join(path);
        joined.components().filter(|component| *component != Component::CurDir).collect()
    }

    /// Whether the file at this real path may be read.
    pub(crate) fn allows(&self, real: &Path) -> bool {
        !is_about_a_process(real) && (self.may_read)(real)
    }

    pub(crate) fn go_on(&self) -> Result<(), FileToolError> {
        if (self.stop)() { Err(FileToolError::Stopped) } else { Ok(()) }
    }
}

/// Whether this is in `/proc/PID`. The files there contain environments, among them our own with the keys of models,
/// and a policy about paths would not think of them. Commands inspect processes from within their sandbox instead.
fn is_about_a_process(real: &Path) -> bool {
    let Ok(below) = real.strip_prefix("/proc") else { return false };
    let first = below.components().next().map(|first| first.as_os_str().as_encoded_bytes());
    first.is_some_and(|name| name.iter().all(u8::is_ascii_digit))
}

impl fmt::Debug for FileContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Surroundings");
        shown.field("directory", &self.directory).field("excludes", &self.excludes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_taken_from_the_agents_directory() {
        let surroundings = FileContext::open(Path::new("/agent"));
        for (path, expected) in [
            ("a/b", "/agent/a/b"),
            ("./a/./b", "/agent/a/b"),
            ("/etc/passwd", "/etc/passwd"),
            (".", "/agent"),
            ("", "/agent"),
            ("../a", "/agent/../a"),
            ("a//b/", "/agent/a/b"),
        ] {
            assert_eq!(surroundings.absolute(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn files_about_processes_are_not_shown_whatever_the_policy_says() {
        let surroundings = FileContext::open(Path::new("/"));
        for (path, expected) in [
            ("/proc/1/environ", false),
            ("/proc/4711/task/4712/environ", false),
            ("/proc/1", false),
            ("/proc", true),
            ("/proc/meminfo", true),
            ("/proc/1a", true),
            ("/srv/proc/1/environ", true),
        ] {
            assert_eq!(surroundings.allows(Path::new(path)), expected, "{path}");
        }
    }
}
