//! The parameters of a call beside its paths, from its registers and, read once, from its memory.

use super::{Change, Made};
use crate::helper::memory::{Missing, bytes_at, path_at, text_at};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, Uid, XattrFlags,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use windlass_sys::lockdown::notice::Notice;
use windlass_sys::lockdown::number as n;

impl Made {
    pub(in crate::helper) fn of(notice: &Notice) -> Result<Self, Missing> {
        let register = |place: usize| notice.arguments[place];
        let link = |place| path_at(notice, register(place)).map(|text| Self::Link { target: text_of(text) });
        match notice.number {
            n::MKDIRAT => Ok(Self::Directory(mode(register(2)))),
            n::MKNODAT => node(register(2), register(3)),
            n::SYMLINKAT => link(0),
            #[cfg(target_arch = "x86_64")]
            n::MKDIR => Ok(Self::Directory(mode(register(1)))),
            #[cfg(target_arch = "x86_64")]
            n::MKNOD => node(register(1), register(2)),
            #[cfg(target_arch = "x86_64")]
            n::SYMLINK => link(0),
            _ => Err(Errno::NOSYS.into()),
        }
    }
}

fn node(raw: u64, device: u64) -> Result<Made, Missing> {
    const KIND: u32 = 0o170_000;
    let kind = match (raw as u32 & KIND, FileType::from_raw_mode(raw as u32)) {
        // No kind at all is a file, too.
        (0, _) => FileType::RegularFile,
        (_, FileType::Unknown) => return Err(Errno::INVAL.into()),
        (_, kind) => kind,
    };
    Ok(Made::Node { kind, mode: mode(raw), device: device & u64::from(u32::MAX) })
}

/// Whether a directory is removed, or anything else.
pub(in crate::helper) fn removal(notice: &Notice) -> AtFlags {
    match notice.number {
        n::UNLINKAT => AtFlags::from_bits_retain(notice.arguments[2] as u32),
        #[cfg(target_arch = "x86_64")]
        n::RMDIR => AtFlags::REMOVEDIR,
        _ => AtFlags::empty(),
    }
}

pub(in crate::helper) fn renaming(notice: &Notice) -> RenameFlags {
    match notice.number {
        n::RENAMEAT2 => RenameFlags::from_bits_retain(notice.arguments[4] as u32),
        _ => RenameFlags::empty(),
    }
}

/// Whether the file that gets one more name is found through a link.
pub(in crate::helper) fn linking_follows(notice: &Notice) -> Result<bool, Missing> {
    if notice.number != n::LINKAT {
        return Ok(false);
    }
    let flags = AtFlags::from_bits_retain(notice.arguments[4] as u32);
    match (AtFlags::SYMLINK_FOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
        true => Ok(flags.contains(AtFlags::SYMLINK_FOLLOW)),
        false => Err(Errno::INVAL.into()),
    }
}

/// The flags and the mode of an open.
pub(in crate::helper) fn opening(notice: &Notice) -> (OFlags, Mode) {
    let flags = |place: usize| OFlags::from_bits_retain(notice.arguments[place] as u32);
    match notice.number {
        n::OPENAT => (flags(2), mode(notice.arguments[3])),
        #[cfg(target_arch = "x86_64")]
        n::OPEN => (flags(1), mode(notice.arguments[2])),
        _ => (OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC, mode(notice.arguments[1])),
    }
}

impl Change {
    pub(in crate::helper) fn of(notice: &Notice) -> Result<Self, Missing> {
        let register = |place: usize| notice.arguments[place];
        match notice.number {
            n::TRUNCATE => match register(1).cast_signed() {
                length @ 0.. => Ok(Self::Length(length.unsigned_abs())),
                _ => Err(Errno::INVAL.into()),
            },
            n::FCHMOD => Ok(Self::Mode(mode(register(1)))),
            n::FCHMODAT | n::FCHMODAT2 => Ok(Self::Mode(mode(register(2)))),
            n::FCHOWN => Ok(owner(register(1), register(2))),
            n::FCHOWNAT => Ok(owner(register(2), register(3))),
            n::UTIMENSAT => times(notice, register(2), Unit::Nanoseconds),
            n::SETXATTR | n::LSETXATTR | n::FSETXATTR => attribute(notice),
            n::REMOVEXATTR | n::LREMOVEXATTR | n::FREMOVEXATTR => {
                Ok(Self::NoAttribute { name: attribute_name(notice)? })
            }
            #[cfg(target_arch = "x86_64")]
            _ => Self::of_old(notice),
            #[cfg(not(target_arch = "x86_64"))]
            _ => Err(Errno::NOSYS.into()),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn of_old(notice: &Notice) -> Result<Self, Missing> {
        let register = |place: usize| notice.arguments[place];
        match notice.number {
            n::CHMOD => Ok(Self::Mode(mode(register(1)))),
            n::CHOWN | n::LCHOWN => Ok(owner(register(1), register(2))),
            n::UTIME => times(notice, register(1), Unit::Seconds),
            n::UTIMES => times(notice, register(1), Unit::Microseconds),
            n::FUTIMESAT => times(notice, register(2), Unit::Microseconds),
            _ => Err(Errno::NOSYS.into()),
        }
    }
}

fn mode(raw: u64) -> Mode {
    const PERMISSIONS: u32 = 0o7777;
    Mode::from_raw_mode(raw as u32 & PERMISSIONS)
}

/// All ones: the owner stays as it is.
fn owner(user: u64, group: u64) -> Change {
    let given = |raw: u64| Some(raw as u32).filter(|raw| *raw != u32::MAX);
    Change::Owner(given(user).map(Uid::from_raw), given(group).map(Gid::from_raw))
}

/// The unit of the second number of a time.
#[derive(Clone, Copy)]
enum Unit {
    Nanoseconds,
    #[cfg(target_arch = "x86_64")]
    Microseconds,
    /// There is no second number.
    #[cfg(target_arch = "x86_64")]
    Seconds,
}

fn times(notice: &Notice, address: u64, unit: Unit) -> Result<Change, Missing> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    if address == 0 {
        return Ok(Change::Times(Timestamps { last_access: now, last_modification: now }));
    }
    let bytes = bytes_at(notice, address, numbers_in(unit) * 8)?;
    let number = |place: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[place * 8..place * 8 + 8]);
        i64::from_ne_bytes(word)
    };
    let time = |place: usize| match unit {
        Unit::Nanoseconds => Ok(Timespec { tv_sec: number(place * 2), tv_nsec: number(place * 2 + 1) }),
        #[cfg(target_arch = "x86_64")]
        Unit::Microseconds => match number(place * 2 + 1) {
            part @ 0..1_000_000 => Ok(Timespec { tv_sec: number(place * 2), tv_nsec: part * 1000 }),
            _ => Err(Missing::Fails(Errno::INVAL)),
        },
        #[cfg(target_arch = "x86_64")]
        Unit::Seconds => Ok(Timespec { tv_sec: number(place), tv_nsec: 0 }),
    };
    Ok(Change::Times(Timestamps { last_access: time(0)?, last_modification: time(1)? }))
}

/// The number of words in memory that two times take.
fn numbers_in(unit: Unit) -> usize {
    match unit {
        #[cfg(target_arch = "x86_64")]
        Unit::Seconds => 2,
        _ => 4,
    }
}

fn attribute(notice: &Notice) -> Result<Change, Missing> {
    const LARGEST: u64 = 65536;
    let [_, _, value, size, flags, _] = notice.arguments;
    if size > LARGEST {
        return Err(Errno::TOOBIG.into());
    }
    Ok(Change::Attribute {
        name: attribute_name(notice)?,
        value: bytes_at(notice, value, size as usize)?,
        flags: XattrFlags::from_bits_retain(flags as u32),
    })
}

fn attribute_name(notice: &Notice) -> Result<OsString, Missing> {
    const LONGEST: usize = 256;
    text_at(notice, notice.arguments[1], LONGEST, Errno::RANGE).map(text_of)
}

fn text_of(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}
