//! Programs that can run others or write files by an option, an operand or their own language. A rule allows the
//! program by its name and everything else is forbidden: harmless uses are allowed, and the others are not, in every
//! spelling.

#[path = "programs/archives.rs"]
mod archives;
#[path = "programs/databases.rs"]
mod databases;
#[path = "programs/development.rs"]
mod development;
#[path = "programs/languages.rs"]
mod languages;
#[path = "programs/network.rs"]
mod network;
#[path = "programs/text.rs"]
mod text;
#[path = "programs/tracers.rs"]
mod tracers;

use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

/// A program, what is allowed by its name alone, and what is not.
struct Case {
    program: &'static str,
    harmless: &'static [&'static str],
    asked: &'static [&'static str],
}

const fn case(
    program: &'static str,
    harmless: &'static [&'static str],
    asked: &'static [&'static str],
) -> Case {
    Case { program, harmless, asked }
}

#[track_caller]
fn check(cases: &[Case]) {
    let wrong: Vec<String> = cases.iter().flat_map(Case::wrong).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

impl Case {
    fn wrong(&self) -> Vec<String> {
        let text = format!(
            "default = \"forbid\"\n[[rule]]\ncommand = [[\"{}\", \"cat\", \"ls\", \"true\"]]\nverdict = \"allow\"\n",
            self.program
        );
        let rules = Rules::of(RulesFile::parse(&text, "rules.toml").expect("it is well formed"));
        let is_allowed = |script: &str| {
            let judgement = rules.judge_script(script, ShellKind::Bash);
            (judgement.verdict == Verdict::Allow, judgement.explanation())
        };
        let refused = self.harmless.iter().filter_map(|script| match is_allowed(script) {
            (true, _) => None,
            (false, why) => Some(format!("asked about: {script}\n    {why}")),
        });
        let slipped = self.asked.iter().filter(|script| is_allowed(script).0);
        refused.chain(slipped.map(|script| format!("allowed: {script}"))).collect()
    }
}
