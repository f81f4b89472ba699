//! The attributes with which a child starts.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use windlass_sys::limits::ProcessLimits;
use windlass_sys::spawn::{Kinship, Launch, Stdio, launch};

fn text(text: &str) -> CString {
    CString::new(text).expect("no NUL")
}

/// The output of a program that is started with these descriptors beside its own.
fn printed(argv: &[&str], passed: &[BorrowedFd<'_>]) -> String {
    printed_after(argv, passed, || {})
}

/// The same, after `last` ran with everything prepared.
fn printed_after(argv: &[&str], passed: &[BorrowedFd<'_>], last: impl FnOnce()) -> String {
    let nothing = null();
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let arguments: Vec<CString> = argv.iter().copied().map(text).collect();
    last();
    let process = launch(&Launch {
        program: &arguments[0],
        arguments: &arguments,
        environment: &[],
        directory: c"/",
        identity: None,
        stdio: Stdio::Pipes { stdin: nothing.as_fd(), stdout: writer.as_fd(), stderr: nothing.as_fd() },
        mark: None,
        open_files: None,
        limits: ProcessLimits::default(),
        groups: &[],
        passed,
        kinship: Kinship::Child,
    })
    .expect("it starts");
    drop(writer);
    let mut printed = String::new();
    // The pipe ends only if no process but the child had its other end.
    File::from(reader).read_to_string(&mut printed).expect("it can be read");
    process.reap_blocking().expect("it is ours");
    printed
}

fn null() -> OwnedFd {
    rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR, Mode::empty()).expect("it is there")
}

#[test]
fn a_child_has_its_three_descriptors_and_none_of_ours_however_many_we_have() {
    const LISTING: &[&str] = &["/bin/ls", "/proc/self/fd"];
    // The fourth is the directory that is listed.
    const OWN: &str = "0\n1\n2\n3\n";
    assert_eq!(printed(LISTING, &[]), OWN);
    // None of these would be closed by executing something.
    let many: Vec<OwnedFd> = (0..500).map(|_| null()).collect();
    assert_eq!(printed(LISTING, &[]), OWN);
    // A thread that starts its first child now has no low numbers left to choose from.
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(printed(LISTING, &[]), OWN));
    });
    assert_eq!(many.len(), 500, "they are still open");
}

#[test]
fn a_child_is_started_though_fewer_descriptors_are_allowed_than_once_were() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ECHO: &[&str] = &["/bin/echo", "up"];
    let limit = getrlimit(Resource::Nofile);
    let allow =
        |current| setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit }).expect("it may");
    for starts_before in [false, true] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if starts_before {
                    assert_eq!(printed(ECHO, &[]), "up\n");
                }
                // Enough descriptors for the child's own and no more: none for the low numbers that are kept for it.
                assert_eq!(printed_after(ECHO, &[], || allow(8)), "up\n");
                setrlimit(Resource::Nofile, limit).expect("it may");
            });
        });
    }
}

#[test]
fn what_is_passed_is_found_in_its_order() {
    let pipes: Vec<(OwnedFd, OwnedFd)> = (0..5).map(|_| rustix::pipe::pipe().expect("a pipe")).collect();
    for (number, (_, writer)) in pipes.iter().enumerate() {
        rustix::io::write(writer, format!("{number}").as_bytes()).expect("there is room");
    }
    let (readers, writers): (Vec<OwnedFd>, Vec<OwnedFd>) = pipes.into_iter().unzip();
    drop(writers);
    let passed: Vec<BorrowedFd<'_>> = readers.iter().map(AsFd::as_fd).collect();
    assert_eq!(
        printed(&["/bin/cat", "/dev/fd/7", "/dev/fd/6", "/dev/fd/5", "/dev/fd/4", "/dev/fd/3"], &passed),
        "43210"
    );
}
