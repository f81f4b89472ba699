//! Remedies for records that cannot be read, by their cause. The programs that show such an error add its remedy,
//! people and models alike.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;

use super::{ListSessions, LoadRecord};
use crate::with_causes;

impl LoadRecord {
    /// The file that could not be read.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::NotFound { .. } => None,
            Self::Damaged { path }
            | Self::UnknownVersion { path, .. }
            | Self::NotRecorded { path, .. }
            | Self::Read { path, .. } => Some(path),
        }
    }

    /// Whether a session may run all the same, whose record was removed or cut, or has something else in its place.
    pub(super) fn may_be_replaced(&self) -> bool {
        match self {
            Self::NotFound { .. } | Self::Damaged { .. } => true,
            Self::Read { source, .. } => source.kind() == io::ErrorKind::InvalidData,
            Self::UnknownVersion { .. } | Self::NotRecorded { .. } => false,
        }
    }

    /// A way to read it, if there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::NotFound { .. } => None,
            Self::Damaged { .. } | Self::NotRecorded { .. } => Some(
                "the windlass that runs it writes its record anew when the session ends; of one that is over only the output is left"
                    .to_owned(),
            ),
            Self::UnknownVersion { .. } => Some("use a windlass of at least the version that wrote it".to_owned()),
            Self::Read { path, source } => of(path, source),
        }
    }

    /// The error with its causes and its remedy, as one sentence.
    pub fn with_remedy(&self) -> String {
        joined(with_causes(self), self.remedy())
    }
}

impl ListSessions {
    /// A way to list them, if there is one.
    pub fn remedy(&self) -> Option<String> {
        of(&self.path, &self.source)
    }

    /// The error with its causes and its remedy, as one sentence.
    pub fn with_remedy(&self) -> String {
        joined(with_causes(self), self.remedy())
    }
}

fn joined(error: String, remedy: Option<String>) -> String {
    match remedy {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error,
    }
}

/// The remedy for a file or directory of the state directory that could not be read.
fn of(path: &Path, error: &io::Error) -> Option<String> {
    let shown = path.display();
    match (Errno::from_io_error(error), error.kind()) {
        (Some(Errno::MFILE), _) => {
            Some("this process has no free file descriptor: raise the limit with `ulimit -n`".to_owned())
        }
        (Some(Errno::NFILE), _) => Some(
            "the machine has no free file descriptor: end some programs, or raise the limit with `sysctl fs.file-max`".to_owned(),
        ),
        (Some(Errno::IO), _) => Some(format!(
            "the disk failed: `dmesg` says more; move {shown} away, or set WINDLASS_STATE_DIR to a directory on another disk"
        )),
        (_, io::ErrorKind::PermissionDenied) => Some(for_permission(path)),
        // Of a file that is something else (`regular_file::open`).
        (None, io::ErrorKind::InvalidData) | (Some(Errno::NXIO | Errno::LOOP), _) => {
            Some(format!("remove {shown}, or move it away"))
        }
        _ => None,
    }
}

/// A parent directory may be the one without permission.
fn for_permission(path: &Path) -> String {
    let own = rustix::process::geteuid().as_raw();
    let visible = path.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    let Some((closed, metadata)) = visible else {
        return format!("make {} readable for this user, {own}", path.display());
    };
    let (owner, shown) = (metadata.uid(), closed.display());
    match owner == own {
        true if metadata.is_dir() => format!("make it readable: `chmod u+rwx '{shown}'`"),
        true => format!("make it readable: `chmod u+rw '{shown}'`"),
        false => format!(
            "{shown} belongs to user {owner}, and this is user {own}: run this as that user, or give the file to this one: \
             `sudo chown {own} '{shown}'`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn remedy(errno: Errno) -> String {
        let path = PathBuf::from("/state/1001.rec");
        LoadRecord::Read { path, source: errno.into() }.with_remedy()
    }

    #[test]
    fn each_cause_has_its_remedy() {
        assert!(
            remedy(Errno::MFILE).ends_with("raise the limit with `ulimit -n`"),
            "{}",
            remedy(Errno::MFILE)
        );
        assert!(remedy(Errno::NFILE).contains("fs.file-max"));
        assert!(remedy(Errno::IO).contains("dmesg"));
        let path = PathBuf::from("/state/1001.rec");
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file");
        let odd = LoadRecord::Read { path, source }.with_remedy();
        assert!(odd.ends_with("it is not a regular file; remove /state/1001.rec, or move it away"), "{odd}");
    }

    #[test]
    fn a_file_of_another_user_names_both_users() {
        let own = rustix::process::geteuid().as_raw();
        let said = for_permission(Path::new("/proc/1/environ"));
        match own {
            0 => assert!(said.contains("chmod u+rw"), "{said}"),
            _ => assert!(said.contains("belongs to user 0") && said.contains(&own.to_string()), "{said}"),
        }
    }
}
