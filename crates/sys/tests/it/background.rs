//! Background processes, and how long a caller waits for their report.

use std::ffi::CString;
use std::io::ErrorKind;
use std::time::Duration;

use windlass_sys::background::{self, BackgroundProgram};
use windlass_sys::process::Process;
use windlass_sys::signal::Signal;
use windlass_testkit::HANG;

fn shell(script: &str) -> BackgroundProgram {
    let words = ["/bin/sh", "-c", script].map(|word| CString::new(word).unwrap());
    BackgroundProgram { program: words[0].clone(), arguments: words.to_vec(), environment: Vec::new() }
}

#[test]
fn a_report_is_complete_when_its_writer_goes_silent() {
    let mut background =
        background::start(&shell("echo one; echo two >&2; exec >/dev/null 2>&1; exit 3")).unwrap();
    assert_eq!(background.report(HANG).unwrap(), b"one\ntwo\n");
    background.ended().unwrap();
}

#[test]
fn a_process_that_never_reports_is_not_waited_for_without_end() {
    let mut background = background::start(&shell("exec sleep 1000")).unwrap();
    let late = background.report(Duration::from_millis(20)).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::TimedOut);
    Process::open(background.pid()).unwrap().signal(Signal::KILL).unwrap();
    background.ended().unwrap();
}
