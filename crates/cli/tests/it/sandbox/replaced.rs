//! A process outside replaces a file that is protected or denied, as `git config` and every editor do, while a command
//! runs. The mount over the file goes away with it, and the command then races for the new file.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::stage::{Owner, Stage};

const PROGRAM: &str = include_str!("replaced.c");

/// The file, the user's script that replaces it, and the operation that the command must not do with it.
struct Case {
    mode: &'static str,
    wanted: &'static str,
    rules: &'static [&'static str],
    replace: &'static str,
}

const CASES: [Case; 3] = [
    Case { mode: "w", wanted: ".git/config", rules: &[], replace: "git config replaced.by user" },
    Case {
        mode: "w",
        wanted: "kept",
        rules: &["--read-only", "kept"],
        replace: "echo 'another text' > new; mv new kept",
    },
    Case {
        mode: "r",
        wanted: "denied",
        rules: &["--deny-read", "denied"],
        replace: "echo 'a new secret' > new; mv new denied",
    },
];

impl Case {
    /// Whether the command got access to the file.
    fn is_got(&self, stage: &Stage, confined: Option<&str>) -> bool {
        let plainly = |script: &str| {
            let status =
                stage.command(&["sh", "-ec", script].map(str::to_owned)).status().expect("it starts");
            assert!(status.success(), "{script}");
        };
        plainly(
            "rm -f go denied kept; mkfifo go; echo harmless > harmless; echo secret > denied; echo text > kept",
        );
        let program = stage.path("replaced");
        // Without a sandbox it goes on until it has the file, however busy the machine is.
        let exchanges = if confined.is_some() { "2000000" } else { "1000000000000" };
        let words = [program.as_str(), self.mode, "harmless", self.wanted, "go", exchanges];
        let windlass = stage.windlass();
        let words = match confined {
            None => words.to_vec(),
            Some(layers) => {
                let policy = [&windlass, "run", "--sandbox", "workspace-write", "--sandbox-layers", layers];
                [&policy[..], self.rules, &["--"], &words].concat()
            }
        };
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let mut child = stage.command(&words).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it can be read");
        assert_eq!(line, "ready\n", "{} {confined:?}", self.wanted);
        plainly(self.replace);
        plainly(": > go");
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("it can be read");
        child.wait().expect("it ends");
        assert!(["GOT\n", "nothing\n"].contains(&rest.as_str()), "{rest:?}");
        rest == "GOT\n"
    }
}

#[test]
fn a_file_that_is_replaced_outside_stays_protected_against_races() {
    for (name, owner) in [("replaced", Owner::Myself), ("replaced-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        stage.compile_also("replaced", PROGRAM);
        for case in CASES {
            for layers in ["all", "landlock"] {
                assert!(!case.is_got(&stage, Some(layers)), "{} {layers} {owner:?}", case.wanted);
            }
            assert!(case.is_got(&stage, None), "{} is no race", case.wanted);
        }
    }
}
