//! The user guide's examples are true.

use windlass_exec_policy::{Rules, RulesFile, ShellKind};

const GUIDE: &str = include_str!("../../../../docs/rules.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let parts = GUIDE.split(opening.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_files_of_the_guide_are_well_formed() {
    let files = blocks("toml");
    assert!(files.len() >= 2, "{files:?}");
    for text in files {
        RulesFile::parse(text, "guide.toml").unwrap_or_else(|faults| panic!("{faults:?} in {text}"));
    }
}

/// Rows of the tables that begin with a command in backquotes and a verdict.
#[test]
fn the_verdicts_of_the_guide_hold_for_its_first_file() {
    let rules = Rules::of(RulesFile::parse(blocks("toml")[0], "guide.toml").expect("it is well formed"));
    let mut rows = 0;
    for line in GUIDE.lines() {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches([' ', '|'])).collect();
        let [command, verdict, _] = cells[..] else { continue };
        let Some(command) = command.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else {
            continue;
        };
        let command = command.replace("\\|", "|");
        let judgement = rules.judge_script(&command, ShellKind::Bash);
        assert_eq!(judgement.verdict.word(), verdict, "{command}: {:#?}", judgement.parts);
        rows += 1;
    }
    assert!(rows >= 10, "{rows} rows");
}
