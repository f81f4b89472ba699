//! Builds the tree of files that the command sees: everything read-only, writable places mounted again as writable,
//! denied ones covered by empty files and directories, and devices, terminals and run-time files of its own.

use crate::confinement::Confinement;
use crate::plan::{HIDDEN, Ruling, ruling_at};
use crate::policy::Access;
use crate::request::{ConfineStep, Failure};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, open, openat2, statx,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::mount::{self, DetachedMount, Writing};

/// Descriptors of things that the mounts of [`furnish`] cover and that are needed later.
pub(super) struct Underneath {
    /// The terminals of the runtime's mount namespace.
    terminals: Option<OwnedFd>,
}

/// Mounts devices, terminals and run-time files of its own, which are the same for every command.
pub(super) fn furnish() -> Result<Underneath, Failure> {
    let terminals = open("/dev/pts", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    Devices::copy()?.put()?;
    put_run_time_files(copy_name_files())?;
    Ok(Underneath { terminals })
}

/// Copied parts of the tree that are not mounted in their places yet.
pub(super) struct Pieces(Vec<Option<Copied>>);

/// Builds the tree. Its pieces were copied before any change of the tree, and are mounted in their places from the root
/// down.
pub(super) fn build(order: &Confinement, pieces: Pieces, console: Option<Console>) -> Result<(), Failure> {
    mount::freeze_everything().map_err(|errno| failed(ConfineStep::Tree, Path::new("/"), errno))?;
    let devices = DEVICES.map(|name| c_path(&Path::new("/dev").join(name)));
    for own in OWN.into_iter().chain(devices.iter().map(CString::as_c_str)) {
        // On a machine that lacks one of these, no mount was made for it either.
        let _ = mount::thaw(own);
    }
    if let Some(console) = console {
        console.put()?;
    }
    for (ruling, piece) in order.rulings.iter().zip(pieces.0) {
        if is_needed(order, ruling) {
            put(&order.rulings, ruling, piece)?;
        }
    }
    for hidden in order.rulings.iter().filter(|ruling| ruling.access == Access::Deny && ruling.path.is_dir())
    {
        mount::freeze(&c_path(&hidden.path))
            .map_err(|errno| failed(ConfineStep::Place, &hidden.path, errno))?;
    }
    for socket in &order.sockets {
        // A socket that is gone meanwhile need not be hidden.
        if let (Ok(nothing), Ok(held)) = (mount::copy(c"/dev/null"), MountSource::at(socket)) {
            let _ = nothing.put_over(&held.place);
        }
    }
    Ok(())
}

/// Directories that the command has to itself and may change; its devices come beside them.
const OWN: [&CStr; 4] = [c"/dev/shm", c"/dev/pts", c"/run", c"/proc"];

/// The terminal the command runs on: it belongs to the terminals outside, and is found under another name inside.
pub(super) struct Console(DetachedMount);

impl Console {
    /// The terminal that is this process's standard input, if it is one.
    pub(super) fn of(underneath: &Underneath) -> Option<Self> {
        let number = rustix::fs::minor(fstat(rustix::stdio::stdin()).ok()?.st_rdev);
        let name = CString::new(number.to_string()).ok()?;
        let piece = mount::copy_entry(underneath.terminals.as_ref()?, &name).ok()?;
        // In a prepared sandbox, the terminals outside are read-only by now, and so would a copy of this one be.
        piece.thaw().ok()?;
        Some(Self(piece))
    }

    pub(super) fn put(self) -> Result<(), Failure> {
        let place = |errno| failed(ConfineStep::Devices, Path::new("/dev/console"), errno);
        self.0.put_at(c"/dev/console").map_err(place)
    }
}

/// The mount on which each place of a confinement lies.
///
/// A process outside that replaces a file or directory under a mount removes the mount, and one that renames a
/// directory moves it: the path then leads to another mount, and a tree that was built ahead no longer protects the
/// places of the plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountIds(Vec<Option<u64>>);

impl MountIds {
    /// The mounts as this process sees them.
    pub(super) fn now(order: &Confinement) -> Self {
        let placed = order.rulings.iter().filter(|ruling| is_needed(order, ruling)).map(|it| &it.path);
        Self(placed.chain(&order.sockets).map(|path| mount_id(path)).collect())
    }
}

fn mount_id(path: &Path) -> Option<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(CWD, path, flags, StatxFlags::MNT_ID).ok().map(|about| about.stx_mnt_id)
}

fn failed(stage: ConfineStep, place: &Path, errno: Errno) -> Failure {
    Failure { stage, place: place.display().to_string(), errno }
}

fn io_failed(stage: ConfineStep, place: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| failed(stage, place, Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

pub(super) fn c_path(path: &Path) -> CString {
    // A path that the kernel gave, or that it would refuse anyway.
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// Whether a ruling needs a mount of its own. A place that only must not be moved needs none where the supervisor
/// carries out every move.
fn is_needed(order: &Confinement, ruling: &Ruling) -> bool {
    match above(&order.rulings, &ruling.path) {
        Some(above) => ruling.pinned && !order.supervisor || above.access != ruling.access,
        // The root of the tree: it is read-only by now.
        None => false,
    }
}

fn above<'a>(rulings: &'a [Ruling], path: &Path) -> Option<&'a Ruling> {
    ruling_at(rulings, path.parent()?)
}

/// A copied part of the tree that is not mounted in its place yet.
pub(super) struct Copied {
    piece: DetachedMount,
    is_directory: bool,
}

/// A place of the plan. Such places are without links: if one is a link by now, it was exchanged, and its target is not
/// a place of the plan.
struct MountSource {
    place: OwnedFd,
    is_directory: bool,
}

impl MountSource {
    fn at(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let place = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let is_directory = FileType::from_raw_mode(fstat(&place)?.st_mode).is_dir();
        Ok(Self { place, is_directory })
    }
}

/// Copies the places that need a mount of their own.
pub(super) fn copy_pieces(order: &Confinement) -> Result<Pieces, Failure> {
    let copy = |ruling: &Ruling| {
        if !is_needed(order, ruling) || ruling.access == Access::Deny {
            return Ok(None);
        }
        let place = |errno| failed(ConfineStep::Place, &ruling.path, errno);
        let held = MountSource::at(&ruling.path).map_err(place)?;
        let piece = mount::copy_of(&held.place).map_err(place)?;
        let writing = if ruling.access == Access::Read { Writing::Refused } else { Writing::Allowed };
        piece.set_writing(writing).map_err(place)?;
        Ok(Some(Copied { piece, is_directory: held.is_directory }))
    };
    order.rulings.iter().map(copy).collect::<Result<_, _>>().map(Pieces)
}

fn put(rulings: &[Ruling], ruling: &Ruling, copied: Option<Copied>) -> Result<(), Failure> {
    let path = &ruling.path;
    let place = |errno| failed(ConfineStep::Place, path, errno);
    match copied {
        Some(Copied { piece, is_directory }) => {
            if is_out_of_sight(rulings, path) {
                make_place(path, is_directory).map_err(io_failed(ConfineStep::Place, path))?;
            }
            piece.put_over(&MountSource::at(path).map_err(place)?.place).map_err(place)
        }
        None => {
            let held = match MountSource::at(path) {
                // The command has its own directory there, without this place.
                Err(Errno::NOENT) if HIDDEN.iter().any(|own| path.starts_with(own)) => return Ok(()),
                held => held.map_err(place)?,
            };
            let nothing =
                if held.is_directory { nothing() } else { mount::copy(&c_path(Path::new(NO_FILE))) };
            nothing.and_then(|nothing| nothing.put_over(&held.place)).map_err(place)
        }
    }
}

/// Whether a directory above was replaced, so that the place is not visible and need not be covered.
fn is_out_of_sight(rulings: &[Ruling], path: &Path) -> bool {
    let denied = above(rulings, path).is_some_and(|above| above.access == Access::Deny);
    (denied || path.starts_with(RUN)) && !path.exists()
}

fn make_place(path: &Path, directory: bool) -> std::io::Result<()> {
    if directory {
        return fs::create_dir_all(path);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create(path).map(drop)
}

/// An empty directory that cannot be read.
fn nothing() -> Result<DetachedMount, Errno> {
    mount::empty_directory(c"64k", c"64", c"0")
}

const RUN: &str = "/run";
/// An empty file that cannot be read; it covers every denied file.
const NO_FILE: &str = "/run/.nothing";

/// Files that configure name resolution, and two directories of programs.
const KEPT_IN_RUN: [&str; 6] = [
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/run/opengl-driver",
];

fn copy_name_files() -> Vec<(PathBuf, DetachedMount)> {
    let present = KEPT_IN_RUN.iter().map(PathBuf::from).filter(|path| path.exists());
    present.filter_map(|path| mount::copy(&c_path(&path)).ok().map(|piece| (path, piece))).collect()
}

/// Mounts an empty `/run`: the machine's is full of sockets of servers that act for their clients.
fn put_run_time_files(kept: Vec<(PathBuf, DetachedMount)>) -> Result<(), Failure> {
    let run = Path::new(RUN);
    if !run.is_dir() {
        return Ok(());
    }
    let place = |errno| failed(ConfineStep::Devices, run, errno);
    let own = mount::empty_directory(c"16m", c"4096", c"0755").map_err(place)?;
    own.put_at(c"/run").map_err(place)?;
    make_run_time_files().map_err(io_failed(ConfineStep::Devices, run))?;
    for (path, piece) in kept {
        let is_directory = path.ends_with("current-system") || path.ends_with("opengl-driver");
        make_place(&path, is_directory).map_err(io_failed(ConfineStep::Devices, &path))?;
        piece.set_writing(Writing::Refused).map_err(place)?;
        piece.put_at(&c_path(&path)).map_err(|errno| failed(ConfineStep::Devices, &path, errno))?;
    }
    Ok(())
}

fn make_run_time_files() -> std::io::Result<()> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o000).open(NO_FILE)?;
    fs::create_dir("/run/lock")?;
    fs::set_permissions("/run/lock", fs::Permissions::from_mode(0o1777))?;
    let own = format!("/run/user/{}", rustix::process::getuid().as_raw());
    fs::DirBuilder::new().recursive(true).mode(0o755).create("/run/user")?;
    fs::DirBuilder::new().mode(0o700).create(own)
}

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
];

/// Copies of the devices a command gets.
struct Devices {
    files: Vec<(PathBuf, DetachedMount)>,
    terminals: DetachedMount,
}

impl Devices {
    fn copy() -> Result<Self, Failure> {
        let dev = Path::new("/dev");
        let mut files = Vec::new();
        for path in DEVICES.map(|name| dev.join(name)).into_iter().filter(|path| path.exists()) {
            let piece =
                mount::copy(&c_path(&path)).map_err(|errno| failed(ConfineStep::Devices, &path, errno))?;
            files.push((path, piece));
        }
        Ok(Self {
            files,
            terminals: mount::terminals()
                .map_err(|errno| failed(ConfineStep::Devices, &dev.join("pts"), errno))?,
        })
    }

    fn put(self) -> Result<(), Failure> {
        let dev = Path::new("/dev");
        let failed = |errno| failed(ConfineStep::Devices, dev, errno);
        mount::empty_directory(c"64k", c"256", c"0755")
            .and_then(|own| own.put_at(c"/dev"))
            .map_err(failed)?;
        self.make_places(dev).map_err(io_failed(ConfineStep::Devices, dev))?;
        for (path, piece) in &self.files {
            piece.put_at(&c_path(path)).map_err(failed)?;
        }
        self.terminals.put_at(c"/dev/pts").map_err(failed)?;
        let shared = mount::empty_directory(c"50%", c"65536", c"1777").map_err(failed)?;
        shared.put_at(c"/dev/shm").map_err(failed)?;
        mount::freeze(c"/dev").map_err(failed)
    }

    fn make_places(&self, dev: &Path) -> std::io::Result<()> {
        for (path, _) in &self.files {
            fs::File::create(path)?;
        }
        fs::File::create(dev.join("console"))?;
        for (target, name) in LINKS {
            symlink(target, dev.join(name))?;
        }
        fs::create_dir(dev.join("pts"))?;
        fs::create_dir(dev.join("shm"))
    }
}
