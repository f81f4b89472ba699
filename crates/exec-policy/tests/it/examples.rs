//! Examples in rules files are checked against their rule when the file is loaded.

use windlass_exec_policy::RulesFile;

#[track_caller]
fn check(rule: &str, expected: Option<&str>) {
    let text = format!("\n[[rule]]\n{rule}");
    let told = RulesFile::parse(&text, "rules.toml").err().map(|faults| faults[0].to_string());
    assert_eq!(told.as_deref(), expected, "{rule}");
}

#[test]
fn an_example_that_does_not_hold_names_its_rule() {
    let push = "command = [\"git\", \"push\"]\nverdict = \"ask\"\n";
    check(&format!("{push}matches = [\"git push\", \"git -C x push\"]\nexcept = [\"git pull\"]"), None);
    check(
        &format!("{push}matches = [\"git pull\"]"),
        Some(
            "line 2: rule `git push` does not speak of its example `git pull` in `matches`; change the example, or the \
             words of `command`",
        ),
    );
    check(
        &format!("{push}except = [\"git status\", \"env git push\"]"),
        Some(
            "line 2: rule `git push` speaks of its example `env git push` in `except`; name more words in `command`, or \
             take the example out",
        ),
    );
}

#[test]
fn an_example_of_an_allowing_rule_must_be_met_exactly() {
    let status = "command = [\"git\", \"status\"]\nverdict = \"allow\"\n";
    check(&format!("{status}matches = [\"git status -s\"]\nexcept = [\"git $x\", \"./git status\"]"), None);
    check(
        &format!("{status}matches = [\"git \\\"$x\\\"\"]"),
        Some(
            "line 2: rule `git status` does not speak of its example `git \"$x\"` in `matches`; change the example, or \
             the words of `command`",
        ),
    );
}
