//! The fixture of attempts and tasks: a workspace with a repository, one without, a directory outside, secrets,
//! listeners, a terminal and a victim, all owned by one user and removed with the test.
//!
//! The processes of the stage exit when their input ends, so they cannot outlive it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use windlass_testkit::Scratch;

use crate::rig::WINDLASS;

/// The sources of the attempts' program.
const SOURCES: &[(&str, &str)] = &[
    ("attacks.h", include_str!("attacks.h")),
    ("attacks.c", include_str!("attacks.c")),
    ("attributes.c", include_str!("attributes.c")),
    ("exhaustion.c", include_str!("exhaustion.c")),
    ("files.c", include_str!("files.c")),
    ("kernel.c", include_str!("kernel.c")),
    ("local_sockets.c", include_str!("local_sockets.c")),
    ("namespaces.c", include_str!("namespaces.c")),
    ("processes.c", include_str!("processes.c")),
    ("races.c", include_str!("races.c")),
    ("rings.c", include_str!("rings.c")),
    ("secrets.c", include_str!("secrets.c")),
    ("sockets.c", include_str!("sockets.c")),
    ("surroundings.c", include_str!("surroundings.c")),
    ("workspace.c", include_str!("workspace.c")),
];

/// Run in the stage's directory by its owner.
const PROPERTY: &str = r#"
umask 022
mkdir -p work work2 outside secrets home/.cargo home/.npm home/.cache
printf 'secret: one\n' > secret
printf 'secret: two\n' > secrets/inside
printf '#!/bin/echo secret: three\n' > secrets/program
chmod +x secrets/program
cd work
git init -q -b main .
git config user.name Stage
git config user.email stage@example.invalid
echo tracked > tracked
printf 'tries/\ntasks/\nserved\nheard\n' > .git/info/exclude
git add tracked
git commit -q -m first
rm -f .git/hooks/*.sample
printf '#!/bin/sh\ntrue\n' > .git/hooks/existing
cp .git/hooks/existing .git/hooks/dormant
chmod 755 .git/hooks/existing
chmod 644 .git/hooks/dormant
"#;

/// Paths that no sandbox lets a command change.
const PROTECTED: &[&str] = &[
    "outside",
    "secret",
    "secrets",
    "home",
    "work/.git/hooks",
    "work/.git/config",
    "work/.git/commondir",
    "work/.git/config.worktree",
    "work/.codex",
    "work/.agents",
    "work/.windlass",
    "work2/.git",
    "work2/.codex",
    "work2/.agents",
    "work2/.windlass",
];

/// An ordinary user that every system has.
const NOBODY: u32 = 65534;

/// The owner of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user that runs the tests.
    Myself,
    /// An ordinary user, if root runs the tests.
    Nobody,
}

impl Owner {
    /// A user without privileges: another user for root, otherwise the user that runs the tests.
    pub(crate) fn ordinary() -> Self {
        if rustix::process::geteuid().is_root() { Self::Nobody } else { Self::Myself }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Myself => &[],
            Self::Nobody => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        }
    }
}

/// The visible state of files: for each path, a description of its inode.
pub(crate) type Traces = BTreeMap<String, String>;

/// The fixture; it is removed on drop.
pub(crate) struct Stage {
    scratch: Scratch,
    owner: Owner,
    environment: Vec<(String, String)>,
    /// The victim and other processes around the attempts.
    processes: Vec<Child>,
}

impl Stage {
    pub(crate) fn new(name: &str, owner: Owner) -> Self {
        // Policies let commands write to the usual directory for temporary files.
        let scratch = Scratch::below(Path::new("/var/tmp"), &format!("sandbox-{name}"));
        compile(scratch.path());
        let mut stage = Self { scratch, owner, environment: Vec::new(), processes: Vec::new() };
        stage.environment = stage.places();
        if owner == Owner::Nobody {
            chown(stage.scratch.path(), Some(NOBODY), Some(NOBODY)).expect("root may give a directory away");
            stage.make_setuid_program();
        }
        stage.run(&["sh", "-ec", PROPERTY].map(str::to_owned));
        stage.run(&[stage.program(), "stage".to_owned()]);
        stage.begin("surroundings");
        stage.begin("victim");
        stage
    }

    /// A path on the stage.
    pub(crate) fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).display().to_string()
    }

    /// A directory on the stage, created with its parents if necessary. It belongs to the stage's owner.
    pub(crate) fn directory(&self, names: &[&str]) -> String {
        let mut path = self.scratch.path().to_owned();
        for name in names {
            path.push(name);
            if std::fs::create_dir(&path).is_ok() && self.owner == Owner::Nobody {
                chown(&path, Some(NOBODY), Some(NOBODY)).expect("root may give a directory away");
            }
        }
        path.display().to_string()
    }

    /// The program of the attempts.
    pub(crate) fn program(&self) -> String {
        self.path("attacks")
    }

    /// The program under test, at a path that the stage's owner can reach.
    pub(crate) fn windlass(&self) -> String {
        let copy = self.path("windlass");
        if self.owner == Owner::Myself {
            return WINDLASS.to_owned();
        }
        if !Path::new(&copy).exists() {
            std::fs::copy(WINDLASS, &copy).expect("the program can be copied");
        }
        copy
    }

    /// The parameters of attempts and tasks, for callers that do not start them by [`Stage::command`].
    pub(crate) fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// A command in the workspace, as the stage's owner.
    pub(crate) fn command(&self, words: &[String]) -> Command {
        let owner = self.owner.words().iter().map(|&word| word.to_owned());
        let all: Vec<String> = owner.chain(words.iter().cloned()).collect();
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).stdin(Stdio::null()).envs(self.environment.iter().cloned());
        let work = self.scratch.path().join("work");
        command.current_dir(if work.exists() { work } else { self.scratch.path().to_owned() });
        command
    }

    /// The state of the files outside, of the secrets, and of the protected parts of the workspaces.
    pub(crate) fn traces(&self) -> Traces {
        let mut traces = Traces::new();
        for part in PROTECTED {
            trace(&self.scratch.path().join(part), &mut traces);
        }
        // The victim itself writes there, and windlass stores its records.
        traces.remove(&self.path("outside/signals"));
        traces.retain(|path, _| !path.starts_with(&self.path("home/state")));
        traces
    }

    fn places(&self) -> Vec<(String, String)> {
        let place = |variable: &str, name: &str| (variable.to_owned(), self.path(name));
        let mut all = vec![("STAGE".to_owned(), self.scratch.path().display().to_string())];
        all.extend([place("WORK", "work"), place("WORK2", "work2"), place("OUTSIDE", "outside")]);
        all.extend([place("SECRET", "secret"), place("SECRETDIR", "secrets"), place("HOME", "home")]);
        all.push(place("WINDLASS_STATE_DIR", "home/state"));
        all.push(("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()));
        // The ordinary user's own shell rejects logins, and some programs use it unless another one is named.
        all.push(("SHELL".to_owned(), "/bin/sh".to_owned()));
        // The toolchain is in the home directory of the user that runs the tests, and `HOME` is another one here.
        let toolchain =
            std::env::var("RUSTUP_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.rustup"));
        all.extend(toolchain.into_iter().map(|place| ("RUSTUP_HOME".to_owned(), place)));
        all
    }

    /// Compiles one more program, from a single source.
    pub(crate) fn compile_also(&self, name: &str, source: &str) {
        let file = self.path(&format!("source/{name}.c"));
        std::fs::write(&file, source).expect("the source can be written");
        let words = ["-Wall", "-Wextra", "-Werror", "-pthread", "-o", &self.path(name), &file];
        let output = Command::new("cc").args(words).output().expect("cc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Puts the Rust toolchain where an ordinary user finds it, if it is in a home directory that is closed to others.
    pub(crate) fn bring_toolchain(&mut self) {
        if self.owner == Owner::Myself {
            return;
        }
        let answer =
            Command::new("rustc").args(["--print", "sysroot"]).output().expect("there is a compiler");
        let text = String::from_utf8(answer.stdout).expect("a path is text");
        let near = self.scratch.path().join("toolchain");
        for part in ["bin", "lib"] {
            link_all(&Path::new(text.trim()).join(part), &near.join(part));
        }
        let path = std::env::var("PATH").expect("there is a path");
        self.environment.push(("PATH".to_owned(), format!("{}:{path}", near.join("bin").display())));
    }

    /// A program that would make its caller root, to check whether it does.
    fn make_setuid_program(&mut self) {
        let path = self.path("setuid");
        std::fs::copy(self.program(), &path).expect("the program can be copied");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4755)).expect("root may make it setuid");
        self.environment.push(("SETUID_PROGRAM".to_owned(), path));
    }

    fn run(&self, words: &[String]) {
        let output = self.command(words).output().expect("a command of the stage starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts a process of the stage, and reads the parameters that it prints when it is ready.
    fn begin(&mut self, role: &str) {
        let mut command = self.command(&[self.program(), role.to_owned()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        let parameters =
            lines.map(|line| line.expect("its output is text")).take_while(|line| !line.is_empty());
        for line in parameters {
            let (name, value) = line.split_once('=').expect("a name and a value");
            self.environment.push((name.to_owned(), value.to_owned()));
        }
        self.processes.push(child);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.processes {
            drop(child.stdin.take());
            // A process that has been reaped already needs no further wait.
            let _ = child.wait();
        }
    }
}

/// The same files at another path, if possible without copying them. They still belong to their owner.
fn link_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the stage is ours");
    for entry in std::fs::read_dir(from).expect("it can be listed").flatten() {
        let (there, here) = (entry.path(), to.join(entry.file_name()));
        if there.is_dir() {
            link_all(&there, &here);
        } else if std::fs::hard_link(&there, &here).is_err() {
            std::fs::copy(&there, &here).expect("it can be copied");
        }
    }
}

fn compile(place: &Path) {
    let source = place.join("source");
    std::fs::create_dir(&source).expect("the stage is fresh");
    for (name, text) in SOURCES {
        std::fs::write(source.join(name), text).expect("the source can be written");
    }
    let units = SOURCES.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"));
    let mut compiler = Command::new("cc");
    compiler
        .current_dir(&source)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o", "../attacks"])
        .args(units);
    let output = compiler.output().expect("cc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Records the inode of a path, and descends into directories.
fn trace(path: &Path, traces: &mut Traces) {
    let Ok(about) = path.symlink_metadata() else { return };
    let mut said = format!("{:o} {} {}", about.mode(), about.uid(), about.gid());
    if about.is_dir() {
        // The times of a directory change with temporary files in it; its content is recorded separately.
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            trace(&entry.path(), traces);
        }
    } else {
        said += &format!(" {} {} {}.{}", about.ino(), about.len(), about.ctime(), about.ctime_nsec());
    }
    traces.insert(path.display().to_string(), said);
}
