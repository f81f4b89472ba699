//! How a user's file and a project's go together.

use windlass_exec_policy::Verdict::{Allow, Ask, Forbid};
use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

fn file(text: &str, name: &str) -> RulesFile {
    RulesFile::parse(text, name).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn rule(command: &str, verdict: &str) -> String {
    format!("[[rule]]\ncommand = [{command}]\nverdict = \"{verdict}\"\n")
}

#[track_caller]
fn check(user: Option<&str>, project: &str, cases: &[(&str, Verdict)]) {
    let rules = Rules::compose(user.map(|text| file(text, "user")), Some(file(project, "project")));
    for (script, expected) in cases {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(judgement.verdict, *expected, "{script}: {:#?}", judgement.parts);
    }
}

#[test]
fn a_project_makes_things_stricter_and_never_looser() {
    let user = rule("\"git\", \"push\"", "ask") + &rule("\"rm\"", "forbid");
    let project = format!("default = \"allow\"\n{}", rule("\"git\"", "allow") + &rule("\"npm\"", "ask"))
        + &rule("\"rm\"", "allow")
        + &rule("\"python3\", \"-c\"", "allow");
    check(
        Some(&user),
        &project,
        &[("git push", Ask), ("rm x", Forbid), ("npm i", Ask), ("ls", Allow), ("python3 -c 1", Ask)],
    );
    let user = format!("default = \"ask\"\n{}", rule("\"ls\"", "allow"));
    check(Some(&user), &rule("\"git\"", "allow"), &[("git status", Ask), ("ls", Allow), ("id", Ask)]);
    let project = format!("default = \"ask\"\n{}", rule("\"ls\"", "allow"));
    check(
        Some(&rule("\"id\"", "allow")),
        &project,
        &[("ls", Allow), ("id", Ask), ("pwd", Allow), ("cat x", Ask)],
    );
}

#[test]
fn a_user_may_trust_projects() {
    let user = format!("trust_projects = true\ndefault = \"ask\"\n{}", rule("\"rm\"", "forbid"));
    let project = rule("\"git\"", "allow") + &rule("\"rm\"", "allow");
    check(Some(&user), &project, &[("git status", Allow), ("rm x", Forbid), ("id", Ask)]);
    check(Some(&user), "default = \"allow\"", &[("id", Allow)]);
}

#[test]
fn a_project_alone_counts() {
    check(None, &rule("\"git\", \"push\"", "forbid"), &[("git push", Forbid), ("ls", Allow)]);
}
