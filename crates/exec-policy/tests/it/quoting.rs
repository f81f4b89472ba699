//! However a simple command is quoted, its verdict is the same.

use proptest::prelude::*;
use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

const RULES: &str = r#"
default = "ask"
[[rule]]
command = ["git", "push"]
verdict = "forbid"
[[rule]]
command = ["git", ["status", "log"]]
verdict = "allow"
[[rule]]
command = ["ls"]
verdict = "allow"
"#;

/// Ways to write one character.
#[derive(Clone, Copy, Debug)]
enum Way {
    Bare,
    Single,
    Double,
    Backslash,
    Escape,
    Broken,
}

fn ways() -> impl Strategy<Value = Vec<Way>> {
    let way = prop_oneof![
        Just(Way::Bare),
        Just(Way::Single),
        Just(Way::Double),
        Just(Way::Backslash),
        Just(Way::Escape),
        Just(Way::Broken),
    ];
    prop::collection::vec(way, 40)
}

fn written(words: &[&str], ways: &[Way]) -> String {
    let mut ways = ways.iter().cycle();
    let mut script = String::new();
    for word in words {
        for letter in word.chars() {
            script += &match ways.next().unwrap_or(&Way::Bare) {
                Way::Bare => letter.to_string(),
                Way::Single => format!("'{letter}'"),
                Way::Double => format!("\"{letter}\""),
                Way::Backslash => format!("\\{letter}"),
                Way::Escape => format!("$'\\x{:02x}'", u32::from(letter)),
                Way::Broken => format!("\\\n{letter}"),
            };
        }
        script.push(' ');
    }
    script
}

proptest! {
    #[test]
    fn quoting_does_not_change_a_verdict(ways in ways()) {
        let rules = Rules::of(RulesFile::parse(RULES, "rules.toml").expect("it is well formed"));
        let cases: [(&[&str], Verdict); 7] = [
            (&["git", "push", "origin"], Verdict::Forbid),
            (&["git", "-C", "sub", "push"], Verdict::Forbid),
            (&["env", "A=b", "git", "push"], Verdict::Forbid),
            (&["git", "status", "-s"], Verdict::Allow),
            (&["ls", "-l", "/tmp"], Verdict::Allow),
            (&["timeout", "5", "git", "log"], Verdict::Allow),
            (&["id"], Verdict::Ask),
        ];
        for (words, expected) in cases {
            let script = written(words, &ways);
            let judgement = rules.judge_script(&script, ShellKind::Bash);
            prop_assert_eq!(judgement.verdict, expected, "{}", script);
            let nested = format!("bash -c '{}'", script.replace('\'', "'\\''"));
            let judgement = rules.judge_script(&nested, ShellKind::Bash);
            prop_assert_eq!(judgement.verdict, expected, "{}", nested);
        }
    }
}
