//! Checks rules against the examples that their authors gave: a rule that does not mean what its author thinks is found
//! when its file is loaded.

use crate::file::Fault;
use crate::rule::Rule;
use crate::script::ShellKind;
use crate::verdict::{Reason, RuleSource};
use crate::{Rules, RulesFile};

/// Every example that does not hold.
pub(crate) fn check(rules: &[Rule]) -> Vec<Fault> {
    rules.iter().flat_map(wrong_examples).collect()
}

fn wrong_examples(rule: &Rule) -> Vec<Fault> {
    let alone =
        RulesFile { name: String::new(), default: None, trust_projects: false, rules: vec![rule.clone()] };
    let rules = Rules::of(alone);
    let speaks = |example: &String| {
        let judgement = rules.judge_script(example, ShellKind::Bash);
        judgement.parts.iter().any(|part| matches!(&part.reason, Reason::Rule(RuleSource { .. })))
    };
    let missed = rule.matches.iter().filter(|example| !speaks(example)).map(|example| {
        let advice = "change the example, or the words of `command`";
        fault(rule, &format!("does not speak of its example `{example}` in `matches`; {advice}"))
    });
    let wrong = rule.except.iter().filter(|example| speaks(example)).map(|example| {
        let advice = "name more words in `command`, or take the example out";
        fault(rule, &format!("speaks of its example `{example}` in `except`; {advice}"))
    });
    missed.chain(wrong).collect()
}

fn fault(rule: &Rule, complaint: &str) -> Fault {
    Fault { line: rule.line, message: format!("rule {} {complaint}", rule.command()) }
}
