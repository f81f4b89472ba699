//! Denied files stay unread, whichever path leads to them.

use std::os::fd::AsRawFd;
use std::path::Path;

use windlass_files::{FileContext, FileToolError};

use crate::place::Place;

/// A test directory with a secret file, and a context that denies it.
fn with_secrets(check: impl Fn(&Place, &FileContext<'_>)) {
    let place = Place::with(
        "secrets",
        &[
            ("secret/key", "needle\n"),
            ("secret/deep/key", "needle\n"),
            (".token", "needle\n"),
            ("open", "needle\n"),
        ],
    );
    place.link("door", "secret");
    place.link("window", "secret/key");
    place.link("secret/out", "../open");
    let may_read = |path: &Path| {
        assert!(
            path.is_absolute() && !path.components().any(|part| part.as_os_str() == ".."),
            "{}",
            path.display()
        );
        !path.starts_with(place.path().join("secret")) && !path.ends_with(".token")
    };
    check(&place, &FileContext { may_read: &may_read, ..FileContext::open(place.path()) });
}

#[test]
fn a_secret_is_refused_through_links_as_well() {
    with_secrets(|place, surroundings| {
        for (tool, arguments) in [
            ("read_file", r#"{"file_path":"secret/key"}"#),
            ("read_file", r#"{"file_path":"window"}"#),
            ("read_file", r#"{"file_path":"door/key"}"#),
            ("read_file", r#"{"file_path":"door/../secret/key"}"#),
            ("read_file", r#"{"file_path":"/proc/self/cwd/HERE/secret/key"}"#),
            ("read_file", r#"{"file_path":".token","mode":"indentation"}"#),
            ("list_dir", r#"{"dir_path":"door"}"#),
            ("list_dir", r#"{"dir_path":"secret/deep"}"#),
            ("grep_files", r#"{"pattern":"needle","path":"door"}"#),
            ("grep_files", r#"{"pattern":"needle","path":"window"}"#),
            ("view_image", r#"{"path":"window"}"#),
        ] {
            // From `/`, so that the path through our own `/proc` entry is a real one too.
            let arguments = arguments.replace("cwd/HERE", "root/HERE");
            let answer = place.call_with(tool, &arguments, surroundings);
            assert!(matches!(answer, Err(FileToolError::Denied { .. })), "{tool} {arguments}: {answer:?}");
        }
        let text = place.text_with("read_file", r#"{"file_path":"secret/out"}"#, surroundings);
        assert!(text.ends_with("L1: needle"), "what a link in a secret place leads to is not secret: {text}");
    });
}

#[test]
fn lists_and_searches_leave_secrets_out_and_say_how_many() {
    with_secrets(|place, surroundings| {
        assert_eq!(
            place.text_with("list_dir", r#"{"dir_path":"."}"#, surroundings),
            "Absolute path: HERE\ndoor@\nopen\nwindow@\nNote: 2 entries left out, which may not be read here"
        );
        for output in ["files", "lines"] {
            let arguments = format!(r#"{{"pattern":"needle","output":"{output}"}}"#);
            let text = place.text_with("grep_files", &arguments, surroundings);
            let line = if output == "files" { "" } else { ":1: needle" };
            assert_eq!(text, format!("HERE/open{line}\nNote: 1 entry left out, which may not be read here"));
        }
    });
}

#[test]
fn environments_of_processes_are_not_shown() {
    let place = Place::new("environments");
    let own = format!("/proc/{}/environ", std::process::id());
    for path in ["/proc/self/environ", "/proc/thread-self/environ", "/proc/1/environ", &own] {
        let answer = place.call("read_file", &format!(r#"{{"file_path":"{path}"}}"#));
        assert!(matches!(answer, Err(FileToolError::Denied { .. })), "{path}: {answer:?}");
    }
}

#[test]
fn nobody_is_asked_about_what_has_no_path_any_more() {
    let place = Place::with("gone", &[("secret", "needle\n")]);
    let secret = std::fs::File::open(place.path().join("secret")).unwrap();
    std::fs::remove_file(place.path().join("secret")).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let may_read = |path: &Path| panic!("asked about {}", path.display());
    let surroundings = FileContext { may_read: &may_read, ..FileContext::open(place.path()) };
    for number in [secret.as_raw_fd(), reader.as_raw_fd()] {
        let arguments = format!(r#"{{"file_path":"/proc/self/fd/{number}"}}"#);
        let answer = place.call_with("read_file", &arguments, &surroundings);
        assert!(matches!(answer, Err(FileToolError::Moved { .. })), "{answer:?}");
    }
}
