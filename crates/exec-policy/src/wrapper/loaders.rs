//! The loader of dynamic programs, which can be called itself: `/lib64/ld-linux-x86-64.so.2 program`.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::vague::vague;
use super::{Given, Look};

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if is_loader(name) {
        loader(name, given, look);
    }
}

/// `ld.so`, `ld-linux-x86-64.so.2`, `ld-linux.so.2`, `ld-musl-aarch64.so.1`, `ld64.so.2`.
fn is_loader(name: &str) -> bool {
    let is_versioned = |rest: &str| rest.contains(".so.") || rest.ends_with(".so");
    name == "ld.so"
        || name.strip_prefix("ld-").or_else(|| name.strip_prefix("ld64")).is_some_and(is_versioned)
}

fn loader(name: &str, given: &Given<'_>, look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "",
        longs: "list verify inhibit-cache library-path: inhibit-rpath: audit: preload: argv0: glibc-hwcaps-prepend: \
                glibc-hwcaps-mask: list-tunables list-diagnostics help version",
    };
    let mut walk = ArgumentWalk::new(given.words);
    loop {
        match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => {
                look.ask(format!("{what} is not understood"));
                return vague(name, given.words, look);
            }
            Some(ArgumentStep::Option(option, _)) => match option.as_str() {
                "library-path" | "audit" | "preload" => {
                    look.ask(format!("its option `--{option}` loads code"));
                }
                // Programs such as git and busybox choose what they do by the name that they are called by.
                "argv0" => look.ask("its option `--argv0` gives its program another name"),
                _ => {}
            },
            Some(ArgumentStep::Operand(place)) => return look.carry_command(name, &given.words[place..]),
        }
    }
    if walk.doubtful {
        look.ask("where its command begins is known only when it runs");
    }
}
