//! Judges opens of files.

use super::terminals::{is_maker, is_terminal};
use super::{CallDecision, Judge, Judged, WRITING};
use crate::calls::PathArgument;
use crate::denial::Operation;
use crate::helper::caller::Caller;
use crate::helper::emulated::{EmulatedSyscall, Opening, What, wish};
use crate::helper::memory::Missing;
use crate::helper::place::{End, Located, NamedEntry, Seen};
use rustix::fs::{FileType, Mode, OFlags, makedev};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::notice::Notice;

/// A supervised open.
#[derive(Clone, Copy)]
struct OpenRequest<'a> {
    notice: &'a Notice,
    flags: OFlags,
    mode: Mode,
}

impl Judge<'_> {
    /// Whether the supervisor carries out an open. One without a name (`O_PATH`, `O_TMPFILE`) creates no name and
    /// writes nowhere.
    ///
    /// Mounts protect files from writing and reading, but a process outside that replaces such a file removes its
    /// mount. From then on only this judge protects the new file, so the kernel must not look the path up again.
    pub(super) fn carries_open(&self, flags: OFlags) -> bool {
        let nameless = flags.contains(OFlags::PATH) || flags.bits() & UNNAMED != 0;
        let writes = flags.bits() & WRITING != 0;
        !nameless && (writes && self.carries_names() || self.order.filter().reads && self.order.namespaces)
    }

    pub(super) fn opened(&self, notice: &Notice, place: PathArgument) -> Judged {
        let (flags, mode) = wish::opening(notice);
        let wish = OpenRequest { notice, flags, mode };
        let located = Located::of(notice, place)?;
        let follows = !flags.intersects(OFlags::NOFOLLOW) && !flags.contains(OFlags::CREATE | OFlags::EXCL);
        if self.carries_open(flags) {
            return self.opened_by_us(located.end(follows)?, wish);
        }
        match located.look(follows) {
            Ok(seen) => Ok(self.opened_there(&seen, flags).unwrap_or(CallDecision::GoOn)),
            Err(Missing::Hidden) if flags.bits() & WRITING != 0 => Err(Missing::Hidden),
            Err(Missing::Hidden) => Ok(CallDecision::GoOn),
            Err(Missing::Fails(_)) => match (located.end(follows), flags.contains(OFlags::CREATE)) {
                (Ok(End::Name(entry)), false) => {
                    Ok(self.denied_to_read(&entry.path()).unwrap_or(CallDecision::GoOn))
                }
                (Ok(End::Name(entry)), true) => {
                    Ok(self.made(Operation::Create, &entry).unwrap_or(CallDecision::GoOn))
                }
                (Err(Missing::Hidden), true) => Err(Missing::Hidden),
                _ => Ok(CallDecision::GoOn),
            },
        }
    }

    fn opened_by_us(&self, end: End, wish: OpenRequest<'_>) -> Judged {
        match end {
            End::Open(seen) => self.opened_again(seen, wish),
            End::Name(entry) => match entry.look() {
                Ok(seen) => self.opened_by_name(entry, seen, wish),
                Err(Missing::Fails(Errno::NOENT)) => self.opened_new(entry, wish),
                Err(missing) => Err(missing),
            },
        }
    }

    fn opened_new(&self, entry: NamedEntry, wish: OpenRequest<'_>) -> Judged {
        if !wish.flags.contains(OFlags::CREATE) {
            return Ok(self.denied_to_read(&entry.path()).unwrap_or(CallDecision::Fail(Errno::NOENT)));
        }
        let refused = self.made(Operation::Create, &entry);
        Ok(refused.unwrap_or_else(|| wish.carried_out(What::Named(entry))))
    }

    /// Judges the open of an existing file. By the time it is opened, its name may stand for another file or for none;
    /// so in a place where nothing may be created, and under a name that must not be created, exactly the judged file
    /// is opened.
    fn opened_by_name(&self, entry: NamedEntry, seen: Seen, wish: OpenRequest<'_>) -> Judged {
        if is_link(&seen) {
            return Ok(CallDecision::Fail(match wish.flags.contains(OFlags::EXCL) {
                true => Errno::EXIST,
                false => Errno::LOOP,
            }));
        }
        let refused = self.opened_there(&seen, wish.flags).or_else(|| self.out_of_reach(&seen, wish));
        if let Some(refused) = refused {
            return Ok(refused);
        }
        if is_everybodys_terminal(&seen) {
            return Ok(wish.carried_out(What::Terminal(Caller::of(wish.notice.pid)?.terminal(self.first)?)));
        }
        if self.is_alone() && is_maker(&seen) && !self.terminals.has_room() {
            return Err(Errno::NOSPC.into());
        }
        let fixed =
            self.must_not_exist(&entry).is_some() || self.is_kept(&entry.directory) || is_terminal(&seen);
        Ok(wish.carried_out(if fixed { What::Held(seen) } else { What::Named(entry) }))
    }

    fn opened_again(&self, seen: Seen, wish: OpenRequest<'_>) -> Judged {
        let refused = self.opened_there(&seen, wish.flags).or_else(|| self.out_of_reach(&seen, wish));
        Ok(refused.unwrap_or_else(|| wish.carried_out(What::Held(seen))))
    }

    fn opened_there(&self, seen: &Seen, flags: OFlags) -> Option<CallDecision> {
        if let Some(refused) = self.denied_to_read(&seen.path) {
            return Some(refused);
        }
        let unnamed = flags.bits() & UNNAMED != 0;
        let changes = flags & OFlags::RWMODE != OFlags::RDONLY || flags.contains(OFlags::TRUNC);
        // A read-only mount does not prevent writes to named pipes and devices, and Landlock does not bind the
        // supervisor.
        let can_be_changed = !seen.is_directory() || unnamed;
        if !changes || !can_be_changed || !self.is_kept(seen) {
            return None;
        }
        let operation = if unnamed { Operation::Create } else { Operation::Write };
        // If the file's permissions forbid the write anyway, no rule has refused it.
        Some(match seen.owner_lets_write() {
            true => self.refused_there(operation, seen, &seen.path),
            false => CallDecision::Fail(Errno::ACCESS),
        })
    }

    /// Refuses files that the supervisor could open and the caller could not: in `/proc` the kernel also checks who
    /// opens a file, and without namespaces the supervisor is not bound by the caller's rules.
    fn out_of_reach(&self, seen: &Seen, wish: OpenRequest<'_>) -> Option<CallDecision> {
        let reachable = if self.is_alone() {
            self.is_common(seen, wish)
        } else {
            // The kernel would let the supervisor read its own files there, which the caller may not.
            let own = PathBuf::from(format!("/proc/{}", std::process::id()));
            let is_shown = |path: &Path| {
                is_reading(wish.flags) && SHOWN_TO_ALL.iter().any(|name| path == own.join(name))
            };
            !seen.is_of_processes() || !seen.path.starts_with(&own) || is_shown(&seen.path)
        };
        (!reachable).then_some(CallDecision::Fail(Errno::ACCESS))
    }

    fn is_common(&self, seen: &Seen, OpenRequest { notice, flags, .. }: OpenRequest<'_>) -> bool {
        if seen.is_of_processes() {
            return false;
        }
        let harmless = is_reading(flags) && (seen.is_regular() || seen.is_directory());
        // A pipe, or another object that never had a path, belongs to the processes that have it open.
        let has_path = seen.path.is_absolute();
        let terminal = || Caller::of(notice.pid).and_then(|caller| caller.terminal(self.first));
        harmless
            || !has_path
            || is_maker(seen)
            || self.terminals.has(seen)
            || self.is_writable_by_rule(&seen.path)
            || terminal().is_ok_and(|path| path == seen.path)
    }
}

impl OpenRequest<'_> {
    fn carried_out(self, what: What) -> CallDecision {
        CallDecision::carry_out(EmulatedSyscall::Open(Opening { what, flags: self.flags, mode: self.mode }))
    }
}

/// Files in `/proc` that every process may read about every other one, as `ps` does.
const SHOWN_TO_ALL: [&str; 6] = ["stat", "status", "statm", "comm", "cmdline", "cgroup"];

fn is_reading(flags: OFlags) -> bool {
    flags & OFlags::RWMODE == OFlags::RDONLY && !flags.contains(OFlags::TRUNC)
}

/// The bit by which `O_TMPFILE` differs from `O_DIRECTORY`.
const UNNAMED: u32 = 0o20_000_000;

fn is_link(seen: &Seen) -> bool {
    seen.kind() == FileType::Symlink
}

/// `/dev/tty`, which is another terminal for each process that opens it.
fn is_everybodys_terminal(seen: &Seen) -> bool {
    seen.kind() == FileType::CharacterDevice && seen.about.st_rdev == makedev(5, 0)
}
