//! The privileges of a process beyond those of its user: capabilities, and gaining more by executing a program.

use super::call::call;
use rustix::io::Errno;

/// A set of capabilities by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// No capability.
    pub const NONE: Self = Self(0);

    /// The capabilities over files, whatever their owner, on which an administrator's programs rely.
    pub const OF_FILES: Self = Self(1 << CHOWN | 1 << DAC_OVERRIDE | 1 << FOWNER | 1 << FSETID);

    /// Reading the memory of other processes.
    pub const OF_LOOKING: Self = Self(1 << SYS_PTRACE);

    /// A set in the form in which the kernel writes it, for example in `/proc/self/status`.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;
const SYS_PTRACE: u32 = 19;
/// No kernel knows capabilities from this number on.
const PAST_THE_LAST: u32 = 64;

/// Gives up every capability but these, for this process and all that it becomes or starts. In a user namespace of its
/// own the process needs no privilege for that; elsewhere a capability that cannot be given up was not held.
pub fn keep_only(kept: Capabilities) -> Result<(), Errno> {
    for capability in 0..PAST_THE_LAST {
        if kept.0 & 1 << capability == 0 && !drop_from_bounds(capability)? {
            break;
        }
    }
    clear_ambient()?;
    set(kept)
}

/// Makes only these capabilities effective until the next call, as far as this process has them.
pub fn act_with(capabilities: Capabilities) -> Result<(), Errno> {
    change(|had, shift| Half { effective: capabilities.half(shift) & had.permitted, ..had })
}

/// Forbids executed programs to gain rights: setuid bits have no effect from now on.
pub fn gain_nothing() -> Result<(), Errno> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Forbids every process without privilege to read this one's memory, even those of the same user.
pub fn hide_memory() -> Result<(), Errno> {
    prctl(libc::PR_SET_DUMPABLE, 0)
}

/// `false`: the kernel does not know this capability, nor any after it.
fn drop_from_bounds(capability: u32) -> Result<bool, Errno> {
    match prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability)) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL) => Ok(false),
        // A process without the capability to do so cannot drop any from the bounds; with `no_new_privs` it can never
        // gain capabilities up to the bounds anyway.
        Err(Errno::PERM) => Ok(true),
        Err(errno) => Err(errno),
    }
}

fn clear_ambient() -> Result<(), Errno> {
    const CLEAR_ALL: libc::c_ulong = 4;
    match prctl(libc::PR_CAP_AMBIENT, CLEAR_ALL) {
        // A kernel before 4.3 has no ambient capabilities.
        Err(Errno::INVAL) => Ok(()),
        answer => answer,
    }
}

fn prctl(option: libc::c_int, value: libc::c_ulong) -> Result<(), Errno> {
    let none: libc::c_ulong = 0;
    // SAFETY: the options used here take one number and change no memory.
    unsafe { call!(libc::SYS_prctl, option, value, none, none, none) }.map(drop)
}

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn set(kept: Capabilities) -> Result<(), Errno> {
    change(|had, shift| {
        let both = kept.half(shift) & had.permitted;
        Half { effective: both, permitted: both, inheritable: 0 }
    })
}

impl Capabilities {
    /// The 32 capabilities from this number on.
    fn half(self, shift: u32) -> u32 {
        (self.0 >> shift) as u32
    }
}

/// Changes the capabilities of this process, given its present ones.
fn change(new: impl Fn(Half, u32) -> Half) -> Result<(), Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = Half { effective: 0, permitted: 0, inheritable: 0 };
    let mut had = [none; 2];
    // SAFETY: version 3 reads a header and fills two halves, which both are.
    unsafe { call!(libc::SYS_capget, &raw const header, had.as_mut_ptr()) }?;
    let halves = [new(had[0], 0), new(had[1], 32)];
    // SAFETY: as above, with two halves to read.
    unsafe { call!(libc::SYS_capset, &raw const header, halves.as_ptr()) }.map(drop)
}
