//! The invariants of the crate, checked with arbitrary bytes. The fuzz target and the ordinary tests run this same
//! body, which panics when an invariant is broken. Not part of the interface.

use crate::script::ShellKind;
use crate::verdict::Verdict;
use crate::{Rules, RulesFile};

/// Rules that speak of a little of everything.
const SAMPLE: &str = r#"
default = "allow"
[[rule]]
command = ["git", ["push", "fetch"]]
verdict = "forbid"
[[rule]]
command = ["rm"]
verdict = "ask"
[[rule]]
command = ["python3", "-c"]
verdict = "allow"
"#;

/// Judges any text as a script, as a rules file and as arguments, and checks the verdict against its parts.
pub fn judge_any(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _faults = RulesFile::parse(&text, "fuzz.toml");
    let rules = Rules::of(
        RulesFile::parse(SAMPLE, "sample.toml").unwrap_or_else(|faults| unreachable!("{faults:?}")),
    );
    for shell in [ShellKind::Bash, ShellKind::Zsh, ShellKind::Posix] {
        let judgement = rules.judge_script(&text, shell);
        let strictest = judgement.parts.iter().map(|part| part.verdict).max();
        assert_eq!(judgement.verdict, strictest.unwrap_or(Verdict::Allow));
    }
    let argv: Vec<&str> = text.split('\n').filter(|word| !word.is_empty()).collect();
    if !argv.is_empty() {
        let _judgement = rules.judge_argv(&argv);
    }
}
