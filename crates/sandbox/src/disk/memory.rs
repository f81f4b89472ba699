//! Facts about directories that are kept from one plan to the next.
//!
//! Every confined command waits for its plan, and a plan asks about hundreds of names that mostly have not changed
//! since the plan before. A directory whose inode change time is the same has the same entries, so one system call for
//! each directory replaces one for each name. Contents of files are not kept: a process that has mapped a file can
//! change it without changing its times.

use super::Kind;
use rustix::fs::{AtFlags, CWD, StatxFlags, statfs, statx};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use windlass_sys::clock;

/// The facts that the last plan has found.
#[derive(Debug, Default)]
pub(crate) struct DirectoryMemory(pub(super) HashMap<PathBuf, Directory>);

/// The known facts about one directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// `None`: changes of the directory could not be detected, so these facts hold for one plan only.
    stamp: Option<Stamp>,
    /// The kind of the object under each name; `None`: there is no such name.
    pub(super) kinds: HashMap<OsString, Option<Kind>>,
    /// Every name, if the directory was listed.
    pub(super) names: Option<Vec<OsString>>,
}

impl Directory {
    /// The directory at a path, with the facts known from before if it has not changed since.
    pub(super) fn at(path: &Path, before: Option<Self>) -> Self {
        let now = clock::of_files();
        let Some(stamp) = Stamp::of(path) else { return Self::default() };
        match before {
            Some(before) if before.stamp == Some(stamp) => before,
            _ => Self {
                stamp: Some(stamp).filter(|stamp| stamp.is_settled(now) && tells_changes(path)),
                ..Self::default()
            },
        }
    }

    pub(super) fn can_be_kept(&self) -> bool {
        self.stamp.is_some()
    }

    /// Whether a listing shows that there is no such name. Some file systems ignore the case of names.
    pub(super) fn is_absent(&self, name: &std::ffi::OsStr) -> bool {
        let is_it = |listed: &OsString| listed.eq_ignore_ascii_case(name);
        self.names.as_ref().is_some_and(|names| !names.iter().any(is_it))
    }
}

/// Changes whenever an entry of the directory does, and when another directory or mount takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: (u32, u32),
    inode: u64,
    mount: u64,
    changed: (i64, u32),
}

impl Stamp {
    fn of(directory: &Path) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::CTIME | StatxFlags::MNT_ID;
        let about = statx(CWD, directory, AtFlags::empty(), wanted).ok()?;
        StatxFlags::from_bits_retain(about.stx_mask).contains(wanted).then_some(Self {
            device: (about.stx_dev_major, about.stx_dev_minor),
            inode: about.stx_ino,
            mount: about.stx_mnt_id,
            changed: (about.stx_ctime.tv_sec, about.stx_ctime.tv_nsec),
        })
    }

    /// Whether every later change gets a later time. The clock of file systems advances in ticks of the kernel, and
    /// some file systems count whole seconds.
    fn is_settled(self, now: u64) -> bool {
        const TICKS: u64 = 40_000_000;
        const SECONDS: u64 = 2_000_000_000;
        let (seconds, rest) = self.changed;
        let Ok(seconds) = u64::try_from(seconds) else { return false };
        let changed = seconds.saturating_mul(1_000_000_000).saturating_add(u64::from(rest));
        changed.saturating_add(if rest == 0 { SECONDS } else { TICKS }) < now
    }
}

/// Whether the times in a directory's file system are kept by this machine's kernel. On others, servers or user-space
/// programs may report any times.
fn tells_changes(directory: &Path) -> bool {
    const EXT4: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    const TMPFS: u64 = 0x0102_1994;
    const OVERLAY: u64 = 0x794c_7630;
    const F2FS: u64 = 0xf2f5_2010;
    let kind = statfs(directory).map_or(0, |about| about.f_type as u64);
    [EXT4, XFS, BTRFS, TMPFS, OVERLAY, F2FS].contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_a_later_change_could_have_as_well_is_not_settled() {
        let stamp = |changed| Stamp { device: (0, 0), inode: 1, mount: 1, changed };
        let now = 100_000_000_000;
        for (changed, settled) in [
            ((99, 900_000_000), true),
            ((99, 990_000_000), false),
            ((100, 0), false),
            ((99, 0), false),
            ((97, 0), true),
            ((101, 5), false),
            ((-1, 5), false),
            ((i64::MAX, 5), false),
        ] {
            assert_eq!(stamp(changed).is_settled(now), settled, "{changed:?}");
        }
    }
}
