//! Words that are allowed in some crates only, or in none.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Patterns of tokens, where they are allowed, and the advice where they are not.
struct Banned {
    rule: &'static str,
    patterns: &'static [&'static str],
    place: BanScope,
    advice: &'static str,
}

/// The crates in which a ban holds.
enum BanScope {
    /// All of them.
    Everywhere,
    /// All but these.
    Outside(&'static [&'static str]),
    /// All but these, and test code and build scripts are free.
    OutsideExceptTests(&'static [&'static str]),
    /// Only these.
    Inside(&'static [&'static str]),
}

const BANNED: &[Banned] = &[
    Banned {
        rule: "unsafe",
        patterns: &["unsafe"],
        place: BanScope::Outside(&["sys"]),
        advice: "give crates/sys a safe function that does this",
    },
    Banned {
        rule: "platform",
        patterns: &["target_os"],
        place: BanScope::Outside(&["sys", "sandbox"]),
        advice: "only crates/sys and crates/sandbox know systems apart; give them one function per system",
    },
    Banned {
        rule: "environment",
        patterns: ENVIRONMENT,
        place: BanScope::OutsideExceptTests(&["cli", "xtask", "testkit", "bench"]),
        advice: "read the environment in crates/cli and pass a value down",
    },
    Banned {
        rule: "wall-clock",
        patterns: &["SystemTime :: now"],
        place: BanScope::OutsideExceptTests(&["sys", "cli", "xtask", "testkit", "bench"]),
        advice: "clocks step: measure with Instant, and ask windlass_sys::clock only for a date to show",
    },
    Banned {
        rule: "unfinished",
        patterns: &["todo !", "unimplemented !", "dbg !"],
        place: BanScope::Everywhere,
        advice: "finish it or take it out",
    },
    Banned {
        rule: "ignored-test",
        patterns: &["# [ ignore ]"],
        place: BanScope::Everywhere,
        advice: "say why: #[ignore = \"...\"]",
    },
    Banned {
        rule: "wire-in-engine",
        patterns: &["serde", "serde_json", "Serialize", "Deserialize", "clap"],
        place: BanScope::Inside(&["engine"]),
        advice: "the engine knows no JSON and no flags; convert in the crate above",
    },
];

/// Paths that read the arguments, environment or current directory. After `use std::{env, ...}` only the calls show.
const ENVIRONMENT: &[&str] = &[
    "std :: env",
    "env :: args",
    "env :: args_os",
    "env :: current_dir",
    "env :: current_exe",
    "env :: temp_dir",
    "env :: var",
    "env :: var_os",
    "env :: vars",
    "env :: vars_os",
];

/// Finds every banned word outside its allowed places.
pub(crate) fn words(source: &Source<'_>) -> Vec<Finding> {
    BANNED
        .iter()
        .flat_map(|banned| banned.lines(source).into_iter().map(|line| banned.at(source, line)))
        .collect()
}

impl Banned {
    /// The lines it is on, each once however many patterns match there.
    fn lines(&self, source: &Source<'_>) -> Vec<usize> {
        let positions = self.patterns.iter().flat_map(|pattern| source.find(pattern));
        let lines = positions.map(|position| source.tokens[position].line);
        let mut lines: Vec<usize> = lines.filter(|&line| self.place.covers(source, line)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn at(&self, source: &Source<'_>, line: usize) -> Finding {
        Finding::fault(self.rule, (&source.file.path, line), self.advice)
    }
}

impl BanScope {
    fn covers(&self, source: &Source<'_>, line: usize) -> bool {
        let room = source.file.room();
        match self {
            Self::Everywhere => true,
            Self::Outside(rooms) => !rooms.contains(&room),
            Self::OutsideExceptTests(rooms) => {
                !rooms.contains(&room) && !source.is_test(line) && source.file.name() != "build.rs"
            }
            Self::Inside(rooms) => rooms.contains(&room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_source;

    fn check(path: &str, text: &str, expected: &[&str]) {
        check_source(words, (path, text), expected);
    }

    #[test]
    fn unsafe_lives_in_sys() {
        let text = "fn f() {\n    unsafe { g() }\n}";
        check("crates/engine/src/a.rs", text, &["crates/engine/src/a.rs:2: unsafe"]);
        check("crates/sys/src/a.rs", text, &[]);
    }

    #[test]
    fn forbidding_or_mentioning_unsafe_is_fine_anywhere() {
        check("bench/src/a.rs", "#![forbid(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";", &[]);
    }

    #[test]
    fn systems_are_told_apart_in_sys_and_sandbox() {
        let text =
            "#[cfg(target_os = \"linux\")]\nmod linux;\nconst A: bool = cfg!(any(target_os = \"macos\"));";
        let expected = ["crates/engine/src/a.rs:1: platform", "crates/engine/src/a.rs:3: platform"];
        check("crates/engine/src/a.rs", text, &expected);
        check("crates/sandbox/src/a.rs", text, &[]);
    }

    #[test]
    fn the_environment_is_read_at_the_edge() {
        let text = "use std::env;\nfn f() { env::var(\"HOME\"); }";
        let expected = ["crates/output/src/a.rs:1: environment", "crates/output/src/a.rs:2: environment"];
        check("crates/output/src/a.rs", text, &expected);
        let grouped = "use std::{env, fs};\nfn f() { env::temp_dir(); }";
        check("crates/output/src/a.rs", grouped, &["crates/output/src/a.rs:2: environment"]);
        check("crates/cli/src/a.rs", text, &[]);
        check("crates/output/build.rs", text, &[]);
        check("crates/output/tests/it.rs", text, &[]);
        check("crates/output/src/a.rs", "#[cfg(test)]\nmod tests { use std::env; }", &[]);
    }

    #[test]
    fn a_childs_environment_and_compiled_in_values_are_not_ours() {
        check(
            "crates/sys/src/a.rs",
            "fn f() { c.env(\"A\", \"b\"); env!(\"CARGO\"); crate::env::Vars; }",
            &[],
        );
    }

    #[test]
    fn unfinished_code_is_found_on_its_line() {
        check("xtask/src/a.rs", "\nfn f() { todo!() }", &["xtask/src/a.rs:2: unfinished"]);
        check("xtask/src/a.rs", "fn f() { dbg!(x); }", &["xtask/src/a.rs:1: unfinished"]);
        check("xtask/src/a.rs", "fn todo() {}", &[]);
    }

    #[test]
    fn the_wall_clock_measures_nothing() {
        let now = "fn f() { std::time::SystemTime::now(); }";
        check("crates/engine/src/a.rs", now, &["crates/engine/src/a.rs:1: wall-clock"]);
        check("crates/cli/src/a.rs", now, &[]);
        check("crates/engine/tests/it/a.rs", now, &[]);
    }

    #[test]
    fn an_ignored_test_says_why() {
        check("bench/src/a.rs", "#[ignore]\nfn f() {}", &["bench/src/a.rs:1: ignored-test"]);
        check("bench/src/a.rs", "#[ignore = \"needs a real sshd\"]\nfn f() {}", &[]);
    }

    #[test]
    fn the_engine_knows_no_wire_format() {
        let text = "#[derive(Clone, Serialize)]\nstruct A;";
        check("crates/engine/src/a.rs", text, &["crates/engine/src/a.rs:1: wire-in-engine"]);
        check("crates/protocol/src/a.rs", text, &[]);
    }
}
