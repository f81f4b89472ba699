//! Programs that stand before the command they run: `env`, `sudo`, `timeout` and their like, as a table of their
//! options.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::vague::vague;
use super::{Carried, Given, Look, Strength, joined};
use crate::script::{self, ShellKind};
use crate::word::Word;

/// A program that stands before another.
struct Prefix {
    names: &'static [&'static str],
    spec: Spec,
    /// The number of words between the program and the command.
    operands: usize,
    /// Whether `name=value` may stand before the command.
    settings: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Only the command that it runs counts; without a command it does nothing.
    Transparent,
    /// It changes the user, the root directory, the namespaces or the privileges, and is judged itself; without a
    /// command it starts a shell.
    Elevated,
}

const fn transparent(
    names: &'static [&'static str],
    (shorts, longs): (&'static str, &'static str),
    operands: usize,
) -> Prefix {
    Prefix { names, spec: Spec { shorts, longs }, operands, settings: false, kind: Kind::Transparent }
}

const fn elevated(
    names: &'static [&'static str],
    (shorts, longs): (&'static str, &'static str),
    operands: usize,
) -> Prefix {
    Prefix { names, spec: Spec { shorts, longs }, operands, settings: false, kind: Kind::Elevated }
}

const PREFIXES: &[Prefix] = &[
    Prefix {
        settings: true,
        ..transparent(
            &["env"],
            (
                "i0vu:C:S:a:",
                "ignore-environment null unset: chdir: split-string: argv0: debug block-signal? default-signal? \
                 ignore-signal? list-signal-handling help version",
            ),
            0,
        )
    },
    Prefix {
        settings: true,
        ..elevated(
            &["sudo"],
            (
                "AbEeHiKklnPSsVvBC:D:g:p:R:r:t:T:U:u:",
                "askpass background bell close-from: chdir: preserve-env? edit group: set-home host: login \
                 remove-timestamp reset-timestamp list non-interactive preserve-groups prompt: chroot: role: stdin \
                 shell type: command-timeout: other-user: user: version validate",
            ),
            0,
        )
    },
    elevated(&["doas"], ("Lnsa:C:u:", ""), 0),
    elevated(&["pkexec"], ("", "user: disable-internal-agent keep-cwd version help"), 0),
    elevated(&["chroot"], ("", "userspec: groups: skip-chdir help version"), 1),
    elevated(
        &["unshare"],
        (
            "muinpUCTfrcR:w:S:G:l:hV",
            "mount? uts? ipc? net? pid? user? cgroup? time? mount-proc? mount-binfmt? map-user: map-group: map-users: \
             map-groups: map-root-user map-current-user map-auto fork kill-child? propagation: setgroups: keep-caps \
             root: wd: setuid: setgid: monotonic: boottime: load-interp: help version",
        ),
        0,
    ),
    elevated(
        &["nsenter"],
        (
            "at:m?u?i?n?p?C?U?T?S:G:eFZr?w?W:hV",
            "all target: mount? uts? ipc? net? pid? cgroup? user? time? setuid: setgid: preserve-credentials root? \
             wd? wdns: env no-fork follow-context join-cgroup net-socket: help version",
        ),
        0,
    ),
    elevated(
        &["setpriv"],
        (
            "dhV",
            "dump clear-groups keep-groups init-groups nnp no-new-privs reuid: regid: ruid: rgid: euid: egid: groups: inh-caps: ambient-caps: bounding-set: securebits: pdeathsig: selinux-label: apparmor-profile: reset-env help version",
        ),
        0,
    ),
    transparent(&["nice"], ("n:0123456789", "adjustment: help version"), 0),
    transparent(&["ionice"], ("c:n:p:P:u:thV", "class: classdata: pid: pgid: uid: ignore help version"), 0),
    transparent(
        &["chrt"],
        (
            "abdfimoprRvT:P:D:",
            "all-tasks batch deadline fifo idle max other pid rr reset-on-fork verbose sched-runtime: sched-period: sched-deadline: help version",
        ),
        1,
    ),
    transparent(&["taskset"], ("apchV", "all-tasks pid cpu-list help version"), 1),
    transparent(&["nohup"], ("", "help version"), 0),
    transparent(&["setsid"], ("cfwhV", "ctty fork wait help version"), 0),
    transparent(
        &[
            "setarch", "linux32", "linux64", "uname26", "i386", "i486", "i586", "i686", "athlon", "x86_64",
            "amd64", "aarch64", "ppc", "ppc32", "ppc64", "ppc64le", "s390", "s390x", "sparc", "sparc32",
            "sparc64", "mips", "mips32", "mips64", "alpha", "ia64", "parisc", "parisc32", "parisc64",
            "riscv64",
        ],
        (
            "BFILRSTXZv3hV",
            "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds sticky-timeouts read-implies-exec \
             mmap-page-zero 3gb 4gb uname-2.6 list verbose show? help version",
        ),
        0,
    ),
    transparent(&["ssh-agent"], ("cDdksa:E:O:P:t:T", ""), 0),
    transparent(&["stdbuf"], ("i:o:e:", "input: output: error: help version"), 0),
    transparent(
        &["timeout"],
        ("k:s:fpv", "kill-after: signal: foreground preserve-status verbose help version"),
        1,
    ),
    transparent(&["time"], ("apo:f:vqV", "append portability output: format: verbose quiet help version"), 0),
    transparent(&["fakeroot"], ("l:s:i:b:uhv", "lib: faked: unknown-is-real fd-base: help version"), 0),
    transparent(&["unbuffer", "catchsegv"], ("p", "help version"), 0),
    transparent(&["dumb-init"], ("cvr:hV", "single-child verbose rewrite: help version"), 0),
    transparent(&["dbus-run-session"], ("", "config-file: dbus-daemon: help version"), 0),
    transparent(
        &["prlimit"],
        (
            "p:o:hVc?d?e?f?i?l?m?n?q?r?s?t?u?v?x?y?",
            "pid: output: noheadings raw verbose help version core? data? nice? fsize? sigpending? memlock? rss? nofile? msgqueue? \
             rtprio? stack? cpu? nproc? as? locks? rttime?",
        ),
        0,
    ),
    transparent(&["choom"], ("n:p:hV", "adjust: pid: help version"), 0),
    transparent(&["sshpass"], ("f:d:p:e?P:vhV", ""), 0),
    transparent(
        &["ltrace"],
        (
            "a:A:D:e:F:l:n:o:p:s:u:w:x:X:bcCfhiLrStTV",
            "align: config: debug: demangle indent: help library: output: version where: no-signals",
        ),
        0,
    ),
    Prefix {
        settings: false,
        ..transparent(
            &["strace"],
            (
                "a:Ab:cCdDe:E:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yYzZN",
                "attach: output: output-append-mode summary summary-only summary-wall-clock summary-syscall-overhead: \
                 summary-sort-by: summary-columns: follow-forks output-separately argv0: interruptible: columns: decode-fds? \
                 decode-pids? abbrev: env: fault: inject: kvm: quiet? raw: read: signal: signals: status: string-limit: \
                 strings-in-hex? trace: trace-path: trace-fds: successful-only failed-only user: verbose: no-abbrev write: \
                 instruction-pointer stack-traces? stack-trace-frame-limit: syscall-number syscall-times? syscall-limit: \
                 relative-timestamps? absolute-timestamps? timestamps? daemonize? daemonized? detach-on: const-print-style: \
                 seccomp-bpf secontext? arg-names always-show-pid debug tips? help version",
            ),
            0,
        )
    },
];

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if let Some(prefix) = PREFIXES.iter().find(|prefix| prefix.names.contains(&name)) {
        prefix.look(name, given, look);
    }
    match name {
        "busybox" | "toybox" => {
            let applet = given.words.get(1..).unwrap_or_default();
            if applet.first().is_some_and(|word| !word.beginning().starts_with("--")) {
                look.carry_command(name, applet);
                look.is_transparent(given);
            }
        }
        "windlass" => of_windlass(given, look),
        _ => {}
    }
}

impl Prefix {
    fn look(&self, name: &str, given: &Given<'_>, look: &mut Look) {
        let mut walk = ArgumentWalk::new(given.words);
        let mut operands = 0;
        let (mut changes, mut adds) = (false, false);
        let command = loop {
            match walk.next(self.spec) {
                None => break None,
                Some(ArgumentStep::Strange(what)) => {
                    look.ask(format!("{what} is not understood"));
                    return vague(name, given.words, look);
                }
                Some(ArgumentStep::Option(option, value)) => {
                    if carrying_option((name, &option, value.as_ref()), given, &walk, look) {
                        return;
                    }
                    adds |= adding_option((name, &option), value.as_ref(), look);
                    changes |= matches!(option.as_str(), "e" | "edit" | "l" | "list" | "v" | "validate");
                }
                Some(ArgumentStep::Operand(place)) => match given.words[place].setting() {
                    Some((variable, value)) if self.settings => {
                        look.settings.push((variable.to_owned(), value));
                    }
                    // `setarch` takes the name of an architecture first, or not.
                    _ if name == "setarch" && operands == 0 && is_architecture(&given.words[place]) => {
                        operands = usize::MAX;
                    }
                    // `env -` begins with an empty environment.
                    _ if name == "env" && given.words[place].is("-") => {}
                    _ if operands < self.operands => operands += 1,
                    _ => break Some(place),
                },
            }
            if operands == self.operands && self.operands > 0 {
                walk.end_options();
            }
        };
        if walk.doubtful && command.is_none_or(|command| given.words[..=command].iter().any(splits)) {
            look.ask("where its command begins is known only when it runs");
        }
        match (command, self.kind) {
            (Some(place), _) => look.carry_command(name, &given.words[place..]),
            (None, Kind::Elevated) if !changes && operands == self.operands => {
                look.ask("it may start a shell that reads commands from its input");
            }
            (None, _) => {}
        }
        if self.kind == Kind::Transparent && !adds {
            look.is_transparent(given);
        }
    }
}

/// Options by which a program does more than to run its command: it writes a file, changes another process, or runs
/// code of its own. Says whether this is one.
fn adding_option((name, option): (&str, &str), value: Option<&Word>, look: &mut Look) -> bool {
    let tampers =
        |value: &Word| value.text().is_none_or(|text| text.contains("inject") || text.contains("fault"));
    let (strength, why) = match (name, option) {
        ("time" | "strace" | "ltrace", "o" | "output") => (Strength::UnlessDefaultAllows, "writes a file"),
        ("fakeroot", "s") | ("ssh-agent", "a") => (Strength::UnlessDefaultAllows, "writes a file"),
        ("strace" | "ltrace", "p" | "attach") => (Strength::UnlessDefaultAllows, "stops another process"),
        ("strace" | "ltrace", "u" | "user") => (Strength::UnlessDefaultAllows, "changes the user"),
        ("strace", "inject" | "fault") => (Strength::UnlessDefaultAllows, "changes what its command does"),
        ("strace", "e") if value.is_some_and(tampers) => {
            (Strength::UnlessDefaultAllows, "changes what its command does")
        }
        ("chrt" | "taskset" | "ionice" | "prlimit" | "choom", "p" | "pid")
        | ("ionice", "P" | "pgid" | "u" | "uid") => {
            (Strength::UnlessDefaultAllows, "changes another process")
        }
        ("dbus-run-session", "config-file") => (Strength::UnlessDefaultAllows, "reads a file with settings"),
        ("ltrace", "F" | "config") => (Strength::UnlessDefaultAllows, "reads a file with settings"),
        ("fakeroot", "l" | "lib" | "faked") | ("ssh-agent", "P") | ("dbus-run-session", "dbus-daemon") => {
            (Strength::Always, "loads or runs code")
        }
        // Programs such as git and busybox choose what they do by the name that they are called by.
        ("env", "a" | "argv0") => (Strength::UnlessUnrestricted, "gives its program another name"),
        _ => return false,
    };
    let dashes = if option.len() == 1 { "-" } else { "--" };
    look.ask_at_least(strength, format!("its option `{dashes}{option}` {why}"));
    true
}

/// Options that contain a command or a variable themselves. Returns whether the rest need not be examined.
fn carrying_option(
    (name, option, value): (&str, &str, Option<&Word>),
    given: &Given<'_>,
    walk: &ArgumentWalk<'_>,
    look: &mut Look,
) -> bool {
    match (name, option) {
        ("env", "S" | "split-string") => {
            split_string(value, &given.words[walk.place()..], look);
            look.is_transparent(given);
            return true;
        }
        ("strace" | "ltrace", "o" | "output") => {
            let pipe = value.filter(|value| value.beginning().starts_with(['|', '!']));
            if let Some(pipe) = pipe {
                look.carry(name, Carried::Script(joined(&[pipe.from(1)]), ShellKind::Posix));
            }
        }
        ("strace", "E" | "env") => {
            let setting = value.and_then(Word::setting);
            look.settings.extend(setting.map(|(name, value)| (name.to_owned(), value)));
        }
        ("sudo", "s" | "i" | "shell" | "login") => look.ask("it starts a shell"),
        _ => {}
    }
    false
}

fn is_architecture(word: &Word) -> bool {
    const KNOWN: [&str; 22] = [
        "linux32", "linux64", "x86_64", "i386", "i486", "i586", "i686", "athlon", "amd64", "uname26", "arm",
        "armv7l", "armv8l", "aarch64", "arm64", "ppc", "ppc64", "ppc64le", "s390", "s390x", "sparc", "mips",
    ];
    word.text().is_some_and(|text| KNOWN.contains(&text))
}

fn splits(word: &Word) -> bool {
    word.split() == crate::word::Split::Words
}

/// `env -S`: one argument that holds several words.
fn split_string(value: Option<&Word>, rest: &[Word], look: &mut Look) {
    let text = value.and_then(Word::text).map(str::to_owned);
    let Some(text) = text.filter(|text| !text.contains(['\\', '$', '#'])) else {
        return look.ask("what it splits into words is not understood");
    };
    let parsed = script::parse(&text, ShellKind::Posix, 8);
    match &parsed.simples[..] {
        [simple] if parsed.broken.is_none() && simple.words.iter().all(|word| word.text().is_some()) => {
            let mut words = vec![Word::literal("env")];
            words.extend(simple.assignments.iter().chain(&simple.words).chain(rest).cloned());
            look.carry("env -S", Carried::Command(words));
        }
        _ => look.ask("what it splits into words is not understood"),
    }
}

/// The ways in which `windlass` itself runs a command.
fn of_windlass(given: &Given<'_>, look: &mut Look) {
    const RUN: Spec = Spec {
        shorts: "te:C:n:h",
        longs: "tty size: timeout: until: idle: max-tokens: view: tokenizer: json env: cwd: name: stdin: detach server: \
                token-file: help",
    };
    if !given.words.get(1).is_some_and(|word| word.is("run") || word.is("keep") || word.text().is_none()) {
        return;
    }
    let words = &given.words[1..];
    let mut walk = ArgumentWalk::new(words);
    loop {
        match walk.next(RUN) {
            None => return,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, value)) => {
                let setting = value.as_ref().filter(|_| matches!(option.as_str(), "e" | "env"));
                let setting = setting.and_then(Word::setting);
                look.settings.extend(setting.map(|(name, value)| (name.to_owned(), value)));
            }
            Some(ArgumentStep::Operand(place)) => {
                match &words[place..] {
                    [script] => look.carry("windlass run", Carried::Script(script.clone(), ShellKind::Posix)),
                    argv => look.carry_command("windlass run", argv),
                }
                return look.is_transparent(given);
            }
        }
    }
}
