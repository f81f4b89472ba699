//! Programs with a subcommand that runs other programs: `docker run`, `npm exec`, `cargo run`. The words behind it that
//! form the command are not known, so each word at which it may begin is compared with the rules; and a rule that
//! allows such a program by its name alone does not cover these subcommands.

use super::vague::script_words;
use super::{Carried, Given, Look, Strength, head};
use crate::word::Word;

/// Programs, and which of their subcommands run others. Without any, all of their words may be a command.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npx", "pnpx", "bunx", "uvx", "chronic", "eatmydata", "caffeinate", "ldd"], &[]),
    (&["cargo"], &["run", "r"]),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            "exec",
            "x",
            "run",
            "run-script",
            "rum",
            "urn",
            "start",
            "stop",
            "restart",
            "test",
            "t",
            "tst",
            "dlx",
            "create",
            "init",
            "explore",
            "node",
        ],
    ),
    (&["deno"], &["run", "task", "x", "eval", "test", "bench"]),
    (
        &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba"],
        &["run", "tool", "shell"],
    ),
    (&["pipx"], &["run", "runpip"]),
    (&["bundle", "rbenv", "pyenv", "nodenv", "direnv"], &["exec"]),
    (&["mise", "asdf"], &["exec", "x", "run", "r"]),
    (&["rustup"], &["run"]),
    (&["go"], &["run", "generate", "tool"]),
    (&["dotnet"], &["run", "exec", "tool", "watch", "script"]),
    (&["docker", "podman", "nerdctl"], &["run", "exec", "create", "compose", "container"]),
    (&["docker-compose", "podman-compose"], &["run", "exec"]),
    (&["kubectl", "oc"], &["exec", "run", "debug", "attach", "plugin", "rsh"]),
    (&["nix"], &["run", "develop", "shell"]),
    (&["apptainer", "singularity"], &["run", "exec", "shell"]),
    (&["flatpak", "snap", "heroku", "op", "doppler"], &["run"]),
    (&["lxc", "incus", "aws-vault"], &["exec"]),
    (&["vagrant"], &["ssh"]),
    (&["machinectl"], &["shell"]),
    (&["systemctl"], &["edit"]),
    (&["bazel", "bazelisk", "buck2"], &["run", "test"]),
    (&["meson"], &["devenv"]),
    (&["composer"], &["exec", "run", "run-script", "global"]),
    (&["cabal", "stack"], &["exec", "run", "repl", "ghc", "ghci", "runghc"]),
    (&["consul", "etcdctl"], &["exec", "lock", "watch"]),
    (&["opam", "fnm", "jenv", "volta", "nvm", "chamber", "crictl", "multipass", "pct"], &["exec", "run"]),
    (&["pixi", "honcho", "foreman", "dotenvx", "dagger", "buildah"], &["run", "start", "exec"]),
    (&["runc", "crun", "youki", "ctr"], &["run", "exec", "create", "task", "tasks", "t"]),
    (&["guix"], &["shell", "environment", "time-machine", "repl"]),
    (&["sops"], &["exec-env", "exec-file", "edit"]),
    (&["lerna", "nx", "tox"], &["exec", "run", "e", "r", "run-many"]),
    (&["toolbox", "distrobox"], &["run", "enter"]),
    (&["limactl", "colima"], &["shell", "ssh"]),
    (&["mix"], &["cmd", "run", "do"]),
    (&["swift"], &["run", "repl", "package"]),
    (&["dune"], &["exec", "utop", "test", "runtest"]),
    (&["gem", "brew"], &["exec", "sh", "ruby", "irb"]),
    (&["rvm"], &["do", "exec"]),
    (&["jj"], &["util"]),
    (&["gh", "glab"], &["alias", "extension", "extensions", "ext"]),
    (&["terraform", "tofu"], &["apply", "console", "destroy"]),
];

/// Subcommands of cargo itself. Another one is a program `cargo-…` on the path.
const OF_CARGO: &str = " add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init \
    install locate-project login logout metadata miri new owner package pkgid publish r read-manifest remove report rm run rustc \
    rustdoc search t test tree uninstall update vendor verify-project version yank ";

/// How many words behind the subcommand are looked at.
const MOST: usize = 48;

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    let Some((_, subcommands)) = RUNNERS.iter().find(|(names, _)| names.contains(&name)) else { return };
    let words = given.words;
    if subcommands.is_empty() {
        return may_run(name, (words, 0), look);
    }
    let is_running = |word: &Word| subcommands.iter().any(|subcommand| word.is(subcommand));
    if let Some(place) = words.iter().skip(1).take(MOST).position(is_running) {
        return may_run(&format!("{name} {}", words[place + 1].source()), (words, place + 1), look);
    }
    let subcommand = words.iter().skip(1).find(|word| !word.beginning().starts_with(['-', '+']));
    let is_known = |text: &str| name != "cargo" || OF_CARGO.contains(&format!(" {text} "));
    if subcommand.is_some_and(|word| !word.text().is_some_and(is_known)) {
        look.ask_at_least(Strength::UnlessWords(2), "its subcommand may run another program");
    }
}

/// Judges every word behind a word as the possible beginning of a command.
fn may_run(carrier: &str, (words, place): (&[Word], usize), look: &mut Look) {
    let mut runs = place > 0;
    for at in (place + 1..words.len()).take(MOST) {
        let Some(text) = words[at].text() else { continue };
        if text.is_empty() || text.starts_with('-') {
            continue;
        }
        runs = true;
        look.carry(carrier, Carried::Perhaps(head(&words[at..])));
        if text.contains(' ') {
            let script = Word::literal(text.trim_start_matches('!'));
            look.carry(carrier, Carried::Perhaps(script_words(&script)));
        }
    }
    if runs || words[place + 1..].iter().any(|word| word.text().is_none()) {
        look.ask_at_least(Strength::UnlessWords(2), "it may run another program");
    }
}
