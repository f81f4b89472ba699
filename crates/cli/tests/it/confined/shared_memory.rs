//! `/dev/shm` without namespaces, where it is shared with programs outside.

use std::fs;
use std::path::PathBuf;

use super::Quarters;

/// A file and a directory of a program outside, removed with the test.
struct Foreign(PathBuf);

impl Foreign {
    fn new() -> Self {
        let place = PathBuf::from(format!("/dev/shm/windlass-mcp-client-{}", std::process::id()));
        let foreign = Self(place);
        foreign.make();
        foreign
    }

    fn make(&self) {
        let _ = fs::remove_dir_all(&self.0);
        fs::create_dir_all(self.0.join("directory")).unwrap();
        fs::write(self.0.join("file"), "theirs").unwrap();
    }

    fn is_as_it_was(&self) -> bool {
        fs::read(self.0.join("file")).is_ok_and(|content| content == b"theirs")
            && self.0.join("directory").is_dir()
            && fs::read_dir(&self.0).unwrap().count() == 2
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_of_others_in_shared_memory_stay_as_they_are_without_namespaces() {
    let quarters = Quarters::new("shared-memory");
    let foreign = Foreign::new();
    let place = foreign.0.display();
    for change in [
        "echo x > file",
        "rm file",
        "mv file other",
        "mkdir new",
        "rmdir directory",
        "truncate -s 0 file",
        "ln file link",
    ] {
        let script = format!("cd {place} && {change}");
        foreign.make();
        quarters.home.seen(&["run", "--", "sh", "-c", &script]);
        assert!(!foreign.is_as_it_was(), "{change} changes nothing");
        for policy in ["read-only", "workspace-write"] {
            foreign.make();
            let seen = quarters.run("landlock", policy, &["--", "sh", "-c", &script]);
            assert!(foreign.is_as_it_was() && seen.code != 0, "{policy}: {change}: {seen:?}");
        }
    }
}

#[test]
fn a_command_uses_shared_memory_of_its_own_without_namespaces() {
    let quarters = Quarters::new("own-memory");
    let script = "d=$(mktemp -d /dev/shm/windlass-own-XXXXXX); cd $d; echo mine > a; chmod 600 a; mv a b; echo more >> b; cat b; cd /; rm -r $d";
    let seen = quarters.run("landlock", "read-only", &["--", "sh", "-c", script]);
    assert_eq!((seen.stdout.as_str(), seen.code), ("mine\nmore\n", 0), "{seen:?}");
}
