//! Rules files: their contents, and the messages about faulty ones.

use windlass_exec_policy::RulesFile;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let faults = RulesFile::parse(text, "rules.toml").err().unwrap_or_default();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(told, expected, "{text}");
}

#[test]
fn a_whole_file_is_read() {
    let text = r#"
# Comments are welcome.
default = "ask"
trust_projects = true

[[rule]]
command = ["git", ["push", "fetch"]]
verdict = "ask"
why = "pushes need a person's word"
matches = ["git push origin main", "git -C sub push", "sudo git fetch"]
except = ["git pull", "git status; git log"]

[[rule]]
command = ["ls"]
verdict = "allow"
"#;
    let file = RulesFile::parse(text, "mine.toml").expect("it is well formed");
    assert_eq!((file.name(), file.rules().len(), file.example_count()), ("mine.toml", 2, 5));
    assert_eq!(file.rules()[0].command(), "`git (push|fetch)`");
    assert_eq!(file.rules()[1].line(), 13);
}

#[test]
fn keys_that_are_not_known_are_told_with_what_was_meant() {
    check("defualt = \"ask\"", &["line 1: `defualt` is not known here; did you mean `default`?"]);
    check(
        "\n[[rule]]\ncomand = [\"x\"]\ncommand = [\"x\"]\nverdict = \"ask\"",
        &["line 3: `comand` is not known here; did you mean `command`?"],
    );
    check(
        "sandbox = 1",
        &["line 1: `sandbox` is not known here; there are `default`, `trust_projects`, `rule`"],
    );
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"ask\"\ndefault = \"ask\"",
        &[
            "line 4: `default` is about the whole file, but stands in a rule: TOML puts what follows a line `[[rule]]` into that rule; write it above the first one",
        ],
    );
    check("[[rules]]\ncommand = [\"x\"]", &["line 1: `rules` is not known here; did you mean `rule`?"]);
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"ask\"\nmatch = [\"x\"]",
        &["line 4: `match` is not known here; did you mean `matches`?"],
    );
}

#[test]
fn values_of_the_wrong_kind_are_told_with_what_to_write() {
    check("default = \"deny\"", &["line 1: `default` is \"allow\", \"ask\" or \"forbid\""]);
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"forbidden\"",
        &["line 3: `verdict` is \"allow\", \"ask\" or \"forbid\"; did you mean \"forbid\"?"],
    );
    check(
        "[[rule]]\ncommand = \"git push\"\nverdict = \"ask\"",
        &["line 2: `command` is a list of words: write `command = [\"git\", \"push\"]`"],
    );
    check(
        "[[rule]]\ncommand = [\"git push\"]\nverdict = \"ask\"",
        &["line 2: \"git push\" is more than one word: write \"git\", \"push\""],
    );
    check(
        "[[rule]]\ncommand = []\nverdict = \"ask\"",
        &["line 2: `command` names between 1 and 16 words, beginning with the program"],
    );
    check(
        "[[rule]]\ncommand = [\"git\", 3]\nverdict = \"ask\"",
        &["line 2: a word of `command` is a text, or a list of texts any of which may stand there"],
    );
    check(
        "[[rule]]",
        &[
            "line 1: a rule needs a command, such as `command = [\"git\", \"push\"]`",
            "line 1: a rule needs a verdict: `verdict = \"allow\"`, `\"ask\"` or `\"forbid\"`",
        ],
    );
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"ask\"\nmatches = \"x\"",
        &["line 4: `matches` is a list of commands, such as `matches = [\"git push origin main\"]`"],
    );
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"allow\"\nwrites = 1",
        &["line 4: `writes` is `true` or `false`"],
    );
    check(
        "[[rule]]\ncommand = [\"x\"]\nverdict = \"ask\"\nwrites = true",
        &["line 4: `writes` belongs in a rule with `verdict = \"allow\"`"],
    );
    check("rule = 1", &["line 1: rules are written as tables that begin with a line `[[rule]]`"]);
    check("trust_projects = \"yes\"", &["line 1: `trust_projects` is `true` or `false`"]);
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    let faults = RulesFile::parse("default = \"ask\"\n[[rule\n", "x").expect_err("it is not TOML");
    assert_eq!(faults[0].line, 2);
    assert!(faults[0].message.starts_with("this is not TOML: "), "{faults:?}");
}

#[test]
fn a_project_cannot_trust_itself() {
    let faults = RulesFile::parse_project("trust_projects = true", "x").expect_err("it may not");
    assert!(faults[0].message.contains("belongs in your own rules file"), "{faults:?}");
    assert!(RulesFile::parse_project("default = \"ask\"", "x").is_ok());
}
