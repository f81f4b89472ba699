//! The attempts as the tests see them: the list of the program, and the reported results.

use std::fmt::Write;
use std::process::Stdio;

use super::stage::Stage;

/// One attempt to escape, as the program describes it.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) stopped_by: String,
}

impl Attempt {
    fn parse(line: &str) -> Self {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let [name, category, stopped_by, _needs] =
            words.try_into().expect("a line of the list has four words");
        Self { name, category, stopped_by }
    }
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Blocked(String),
    Escaped(String),
    Untried(String),
}

impl Outcome {
    fn parse(said: &str) -> Self {
        let (kind, detail) = said.split_once(' ').expect("an outcome and its detail");
        match kind {
            "blocked" => Self::Blocked(detail.to_owned()),
            "ESCAPED" => Self::Escaped(detail.to_owned()),
            "untried" => Self::Untried(detail.to_owned()),
            other => panic!("{other} is no outcome"),
        }
    }
}

/// An attempt and its result.
#[derive(Debug)]
pub(crate) struct Attempted {
    pub(crate) attempt: Attempt,
    pub(crate) outcome: Outcome,
}

impl Attempted {
    /// An attempt that escaped, of which only the layer that must stop it matters.
    pub(crate) fn escaped(stopped_by: &str) -> Self {
        let attempt = Attempt { name: "some".into(), category: "some".into(), stopped_by: stopped_by.into() };
        Self { attempt, outcome: Outcome::Escaped("by chance".into()) }
    }
}

impl Stage {
    /// All attempts of the program.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        let listed =
            self.command(&[self.program(), "list".to_owned()]).output().expect("the list can be had");
        let text = String::from_utf8(listed.stdout).expect("the list is text");
        text.lines().map(Attempt::parse).collect()
    }

    /// Runs every attempt behind these words, with an open descriptor that no process inside should have.
    pub(crate) fn attempt(&self, prefix: &[String]) -> Vec<Attempted> {
        let leaking = ["sh", "-c", "exec 9<\"$OUTSIDE\"; exec \"$@\"", "sh"].map(str::to_owned);
        let attack = [self.program(), "run".to_owned(), "all".to_owned()];
        let words: Vec<_> = leaking.into_iter().chain(prefix.iter().cloned()).chain(attack).collect();
        let mut command = self.command(&words);
        if prefix.is_empty() {
            // With this variable, an attempt that this kernel or this user cannot make at all is reported as untried
            // instead of stopped.
            command.env("NOTHING_STOPS", "1");
        }
        let output = command.stderr(Stdio::inherit()).output().expect("the attempts can be run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{} after {said}", output.status);
        self.attempts().into_iter().map(|attempt| attempted(attempt, &said)).collect()
    }
}

fn attempted(attempt: Attempt, said: &str) -> Attempted {
    let outcome =
        outcome_of(&attempt.name, said).unwrap_or_else(|| panic!("nothing was said of {}", attempt.name));
    Attempted { attempt, outcome }
}

/// The result of an attempt, if the program reported one.
pub(super) fn outcome_of(name: &str, said: &str) -> Option<Outcome> {
    let start = format!("{name}: ");
    said.lines().find_map(|line| line.strip_prefix(&start)).map(Outcome::parse)
}

/// A line for each category, and one for each attempt that was not tried.
pub(crate) fn table(attempted: &[Attempted]) -> String {
    let mut categories: Vec<_> = attempted.iter().map(|one| &one.attempt.category).collect();
    categories.sort();
    categories.dedup();
    let mut text = format!("{:16} {:>8} {:>8} {:>8}\n", "category", "escaped", "blocked", "untried");
    for category in categories {
        let of_it = || attempted.iter().filter(|one| one.attempt.category == *category);
        let row = counts(of_it());
        let _ = writeln!(text, "{category:16} {:>8} {:>8} {:>8}", row[0], row[1], row[2]);
    }
    let row = counts(attempted.iter());
    let _ = writeln!(text, "{:16} {:>8} {:>8} {:>8}", "all", row[0], row[1], row[2]);
    for one in attempted {
        if let Outcome::Untried(reason) = &one.outcome {
            let _ = writeln!(text, "untried: {}: {reason}", one.attempt.name);
        }
    }
    text
}

fn counts<'a>(attempted: impl Iterator<Item = &'a Attempted>) -> [usize; 3] {
    let mut row = [0; 3];
    for one in attempted {
        let column = match one.outcome {
            Outcome::Escaped(_) => 0,
            Outcome::Blocked(_) => 1,
            Outcome::Untried(_) => 2,
        };
        row[column] += 1;
    }
    row
}
