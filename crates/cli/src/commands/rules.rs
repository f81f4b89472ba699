//! `windlass rules`: shows the verdict of the rules for a command, and checks the rules files. It runs nothing.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use windlass_exec_policy::{JudgedCommand, Judgement, Reason, Rules, ShellKind, Verdict};

use crate::args::{RulesCheck, RulesCommand, RulesTest};
use crate::config::{Config, below_home};
use crate::failure::Exit;
use crate::printing::{print, print_text};
use crate::rules_files::{self, Owner, RulesLocation};

/// Runs the subcommand.
pub(crate) fn run(order: &RulesCommand, config: &Config) -> Result<Exit> {
    match order {
        RulesCommand::Test(order) => test(order, config),
        RulesCommand::Check(order) => check(order, config),
        RulesCommand::Path => path(config),
    }
}

fn test(order: &RulesTest, config: &Config) -> Result<Exit> {
    let rules = match &order.file {
        Some(file) => Some(Rules::of(rules_files::only(file, config)?)),
        None => rules_files::usual(config)?,
    };
    if rules.is_none() && !order.json {
        print("there is no rules file: every command may run\n")?;
    }
    // Without a rules file there are no rules, so none asks about the command.
    let judgement = rules.map(|rules| judge(&rules, &order.command, config)).unwrap_or_default();
    if order.json {
        print(as_json(&judgement).to_string() + "\n")?;
    } else {
        print_text(&as_text(&judgement))?;
    }
    Ok(match judgement.verdict {
        Verdict::Allow => Exit::SUCCESS,
        Verdict::Ask => Exit::ASK,
        Verdict::Forbid => Exit::FORBIDDEN,
    })
}

fn judge(rules: &Rules, command: &[String], config: &Config) -> Judgement {
    match command {
        [script] => rules.judge_script(script, shell(config)),
        words => rules.judge_argv(&words.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// The user's shell, or `sh` as in the tools.
fn shell(config: &Config) -> ShellKind {
    let name = Path::new(&config.shell).file_name().and_then(|name| name.to_str());
    name.and_then(ShellKind::of_program).unwrap_or(ShellKind::Posix)
}

/// One line for each part of the command: its verdict and the rule.
fn as_text(judgement: &Judgement) -> String {
    const WIDEST: usize = 60;
    let width =
        judgement.parts.iter().map(|part| part.text.chars().count()).max().unwrap_or_default().min(WIDEST);
    let line = |part: &JudgedCommand| {
        let within: String = part.within.iter().map(|carrier| format!("in {carrier}: ")).collect();
        format!("{:<7} {:<width$}  {within}{}\n", part.verdict, part.text, part.reason)
    };
    let lines: String = judgement.parts.iter().map(line).collect();
    format!("{lines}verdict: {}\n", judgement.verdict)
}

fn as_json(judgement: &Judgement) -> Value {
    let parts: Vec<Value> = judgement.parts.iter().map(part_json).collect();
    json!({ "verdict": judgement.verdict.word(), "parts": parts })
}

fn part_json(part: &JudgedCommand) -> Value {
    let mut value = json!({
        "command": part.text,
        "within": part.within,
        "verdict": part.verdict.word(),
        "reason": part.reason.to_string(),
    });
    if let Reason::Rule(speaker) = &part.reason {
        value["rule"] = json!({ "file": speaker.file, "line": speaker.line, "why": speaker.why });
    }
    value
}

fn check(order: &RulesCheck, config: &Config) -> Result<Exit> {
    let places = match &order.file {
        Some(file) => vec![RulesLocation { owner: Owner::User, path: file.clone() }],
        None => rules_files::places(config)?,
    };
    for place in places {
        let name = below_home(&place.path, &config.environment);
        let state = match rules_files::read(&place, config)? {
            Some(file) => format!("{} rules, {} examples hold", file.rules().len(), file.example_count()),
            None if order.file.is_some() => {
                rules_files::only(&place.path, config)?;
                String::new()
            }
            None => "not there".to_owned(),
        };
        print_text(&format!("{name}: {state}\n"))?;
    }
    Ok(Exit::SUCCESS)
}

fn path(config: &Config) -> Result<Exit> {
    for RulesLocation { owner, path } in rules_files::places(config)? {
        let (owner, state) = (
            if owner == Owner::User { "yours" } else { "the project's" },
            if path.exists() { "" } else { " (not there)" },
        );
        print_text(&format!("{}  {owner}{state}\n", path.display()))?;
    }
    Ok(Exit::SUCCESS)
}
