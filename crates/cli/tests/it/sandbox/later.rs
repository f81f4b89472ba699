//! One command prepares something, and the next one under the same rules then tries to read a hidden file, to write a
//! protected one, or to write outside.

use super::prepared::Server;
use super::stage::{Owner, Stage};

/// A plot: the user's files, the rules, the first command's preparation, and the second command's attempt.
struct Plot {
    name: &'static str,
    /// A script that no sandbox confines.
    before: &'static str,
    rules: &'static [&'static str],
    first: &'static str,
    /// It prints `GOT` if it succeeds.
    second: &'static str,
}

const PLOTS: &[Plot] = &[
    Plot {
        name: "a temporary directory becomes a link",
        before: "true",
        rules: &[],
        first: "ln -s \"$OUTSIDE\" tmp; mkdir t2; mv -T t2 tmp; true",
        second: "touch \"$OUTSIDE/planted\" && echo GOT",
    },
    Plot {
        name: "a temporary directory brings a repository",
        before: "git init -q; rm -rf .git/hooks; mkdir .git/hooks",
        rules: &[],
        first: "mkdir tmp; ln -s ../.git/hooks tmp/.git; mkfifo tmp/.git; true",
        second: "touch .git/hooks/pre-commit && echo GOT",
    },
    Plot {
        name: "a pattern finds a link of the command's",
        before: "mkdir -p pkgs/a/cache secret/sub; echo key > secret/sub/key",
        rules: &["--deny-read", "secret", "--read-only", "**/conf"],
        first: "mkdir x; ln -s ../secret/sub x/conf",
        second: "cat secret/sub/key x/conf/key && echo GOT",
    },
    Plot {
        name: "what is denied is shut and opened again",
        before: "mkdir -p a/b; echo key > a/b/secret",
        rules: &["--deny-read", "a/b/secret"],
        first: "chmod 000 a",
        second: "chmod 755 a; cat a/b/secret && echo GOT",
    },
    Plot {
        name: "what a pattern denies is shut and opened again",
        before: "mkdir -p a/b; echo key > a/b/.env",
        rules: &["--deny-read", "**/.env"],
        first: "chmod 000 a",
        second: "chmod 755 a; cat a/b/.env && echo GOT",
    },
    Plot {
        name: "a repository is shut and opened again",
        before: "git init -q",
        rules: &[],
        first: "chmod 000 .git",
        second: "chmod 755 .git; touch .git/hooks/pre-commit && echo GOT",
    },
    Plot {
        name: "a submodule loses its head",
        before: "git init -q; git init -q --bare .git/modules/sub",
        rules: &[],
        first: "mv .git/modules/sub/HEAD .git/modules/sub/H2",
        second: "touch .git/modules/sub/hooks/pre-commit && echo GOT; echo x >> .git/modules/sub/config && echo GOT",
    },
    Plot {
        name: "a folder of submodules gets a head",
        before: "git init -q; git init -q --bare .git/modules/libs/foo",
        rules: &[],
        first: "touch .git/modules/libs/HEAD",
        second: "touch .git/modules/libs/foo/hooks/pre-commit && echo GOT",
    },
    Plot {
        name: "the folder of submodules is somebody else's",
        before: "git init -q",
        rules: &[],
        first: "mkdir evil; ln -s ../evil .git/modules; mkdir -p e2/sub; touch e2/sub/HEAD; mv e2 .git/modules; true",
        second: "test -L .git/modules && echo GOT; test -e .git/modules/sub && echo GOT",
    },
    Plot {
        name: "a bare repository loses its head",
        before: "git init -q --bare .",
        rules: &[],
        first: "mv HEAD H2; mv objects o2; mv refs r2; true",
        second: "touch hooks/pre-commit && echo GOT",
    },
    Plot {
        name: "a directory on the way is exchanged",
        before: "mkdir p; echo key > secret; ln -s p/../secret link",
        rules: &["--deny-read", "link"],
        first: "rm -rf p; mkdir -p z/z2; ln -s z/z2 p; true",
        second: "cat secret && echo GOT",
    },
];

/// How the two commands are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Without a sandbox.
    Freely,
    /// By one runtime each, with these layers.
    Each(&'static str),
    /// By one server, which prepares the sandbox of the second command before that command arrives.
    OneServer,
}

impl Plot {
    /// Whether the second command succeeded.
    fn succeeds(&self, stage: &Stage, how: How) -> bool {
        let work = stage.directory(&["later"]);
        let run = |words: &[String]| {
            let mut command = stage.command(words);
            let temporary = format!("{work}/tmp");
            let output = command.current_dir(&work).env("TMPDIR", temporary).output().expect("it starts");
            (String::from_utf8_lossy(&output.stdout).into_owned(), output)
        };
        let plainly = |script: &str| run(&["sh", "-c", script].map(str::to_owned));
        let by_a_command = |script: &str| {
            let How::Each(layers) = how else { return plainly(script) };
            let policy = ["run", "--sandbox", "workspace-write", "--sandbox-layers", layers];
            let words = [&policy[..], self.rules, &["--", "sh", "-c", script]].concat();
            let words: Vec<String> =
                [stage.windlass()].into_iter().chain(words.into_iter().map(str::to_owned)).collect();
            run(&words)
        };
        let (_, before) = plainly(&format!("set -e; {}", self.before));
        assert!(before.status.success(), "{}: {before:?}", self.name);
        let printed = if how == How::OneServer {
            let mut server = Server::start(stage, &work, &[], self.rules);
            server.run(self.first);
            server.wait_until_prepared();
            server.run(self.second)
        } else {
            by_a_command(self.first);
            by_a_command(self.second).0
        };
        let (_, cleaned) =
            plainly("chmod -R u+rwx .; find . -mindepth 1 -delete; rm -f \"$OUTSIDE/planted\"");
        assert!(cleaned.status.success(), "{}: {cleaned:?}", self.name);
        printed.contains("GOT")
    }
}

#[test]
fn nothing_is_prepared_for_the_next_command() {
    check(&Stage::new("later", Owner::Myself));
}

#[test]
fn nothing_is_prepared_for_the_next_command_of_an_ordinary_user() {
    check(&Stage::new("later-user", Owner::ordinary()));
}

fn check(stage: &Stage) {
    for plot in PLOTS {
        for layers in ["all", "landlock"] {
            assert!(!plot.succeeds(stage, How::Each(layers)), "{} ({layers})", plot.name);
        }
        assert!(!plot.succeeds(stage, How::OneServer), "{} (prepared)", plot.name);
        // Without a sandbox the plot must succeed.
        assert!(plot.succeeds(stage, How::Freely), "{} is no plot", plot.name);
    }
}

/// A command could not open the directory, so it is no reason to reject commands.
#[test]
fn what_is_shut_outside_of_writable_places_keeps_nobody_from_starting() {
    let stage = Stage::new("later-shut", Owner::ordinary());
    let shut = stage.directory(&["shut"]);
    let run = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        stage.command(&words).output().expect("it starts")
    };
    run(&["chmod", "000", &shut]);
    let (program, secret) = (stage.windlass(), format!("{shut}/secret"));
    let output =
        run(&[&program, "run", "--sandbox", "workspace-write", "--deny-read", &secret, "--", "echo", "ran"]);
    run(&["chmod", "700", &shut]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "{output:?}");
}
