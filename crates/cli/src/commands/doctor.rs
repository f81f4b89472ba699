//! `windlass doctor`: reports what this machine supports and what is missing, one line per check, in plain words. It
//! changes nothing, and it uses the network only on request.

mod agent;
mod clients;
mod kernel;
mod limits;
mod resources;
mod rules;
mod sandbox;
mod shell;

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::config::{Colour, Config};
use crate::failure::Exit;
use crate::printing::{displayable, print};

/// Runs all checks and prints the results.
pub(crate) fn run(order: &Doctor, config: &Config) -> Result<Exit> {
    let mut checks = checks(config);
    checks.extend(agent::checks(order, config));
    let problems = checks.iter().filter(|check| check.verdict == CheckResult::Problem).count();
    if order.json {
        print(json(&checks, problems).to_string() + "\n")?;
    } else {
        print(checks.iter().map(|check| check.line(config.colour)).collect::<String>())?;
    }
    Ok(if problems == 0 { Exit::SUCCESS } else { Exit::FAILED })
}

fn checks(config: &Config) -> Vec<Check> {
    let mut checks = kernel::checks();
    checks.extend(resources::checks(config));
    checks.extend(limits::checks());
    checks.extend(shell::checks(config));
    checks.extend(sandbox::checks(config));
    checks.extend(rules::checks(config));
    checks.extend(clients::checks(config));
    checks
}

/// The result of one check.
#[derive(Debug)]
struct Check {
    name: &'static str,
    verdict: CheckResult,
    /// The finding.
    message: String,
    /// Advice for the user.
    advice: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckResult {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing fails for it.
    Note,
    /// Something will not work.
    Problem,
}

impl CheckResult {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, verdict: CheckResult::Ok, message: message.into(), advice: None }
    }

    fn note(name: &'static str, message: impl Into<String>) -> Self {
        Self { verdict: CheckResult::Note, ..Self::ok(name, message) }
    }

    fn problem(name: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: CheckResult::Problem, ..Self::ok(name, message) }.advise(advice)
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    fn line(&self, colour: Colour) -> String {
        let word = format!("{:<7}", self.verdict.word());
        let word = match (colour, self.verdict) {
            (Colour::Off, _) => word,
            (Colour::On, CheckResult::Ok) => format!("\x1b[32m{word}\x1b[0m"),
            (Colour::On, CheckResult::Note) => format!("\x1b[33m{word}\x1b[0m"),
            (Colour::On, CheckResult::Problem) => format!("\x1b[1;31m{word}\x1b[0m"),
        };
        let advice = self.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
        let said = displayable(&format!("{}{advice}", self.message));
        format!("{word}  {:<17}  {said}\n", self.name)
    }
}

fn json(checks: &[Check], problems: usize) -> Value {
    let check = |check: &Check| {
        json!({
            "name": check.name,
            "verdict": check.verdict.word(),
            "message": check.message,
            "advice": check.advice,
        })
    };
    json!({ "problems": problems, "checks": checks.iter().map(check).collect::<Vec<_>>() })
}

/// A small file of the kernel, without the newline; `None` if it cannot be read.
fn kernel_file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
