//! `cargo xtask chaos`: runs the rounds of `crates/cli/tests/it/chaos.rs` for as long as asked for.
//!
//! Plain `cargo test` runs them: nextest would end a test that takes longer than a few minutes.

use anyhow::{Context, Result, bail};

use crate::command;

/// Runs rounds until the time is over, or one round of a seed.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let request = Request::parse(arguments)?;
    command::run(command::cargo(["build", "--workspace", "--bins"])?)?;
    let mut rounds =
        command::cargo(["test", "--package", "windlass", "--test", "it", "chaos::", "--", "--nocapture"])?;
    match request {
        Request::Minutes(minutes) => rounds.env("WINDLASS_TEST_CHAOS_SECONDS", (minutes * 60).to_string()),
        Request::Seed(seed) => rounds.env("WINDLASS_TEST_CHAOS_SEED", seed.to_string()),
    };
    command::run(rounds)
}

/// The request on the command line.
#[derive(Debug, PartialEq)]
enum Request {
    Minutes(u64),
    Seed(u64),
}

impl Request {
    const MINUTES: u64 = 10;

    fn parse(arguments: &[String]) -> Result<Self> {
        let number = |text: &str| text.parse().with_context(|| format!("`{text}` is not a whole number"));
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(Self::Minutes(Self::MINUTES)),
            ["--minutes", minutes] => Ok(Self::Minutes(number(minutes)?)),
            ["--seed", seed] => Ok(Self::Seed(number(seed)?)),
            _ => bail!("usage: cargo xtask chaos [--minutes N | --seed N]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Request> {
        Request::parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn chaos_takes_a_time_or_a_seed() {
        assert_eq!(parse(&[]).unwrap(), Request::Minutes(10));
        assert_eq!(parse(&["--minutes", "60"]).unwrap(), Request::Minutes(60));
        assert_eq!(parse(&["--seed", "7"]).unwrap(), Request::Seed(7));
        assert!(parse(&["--minutes"]).is_err());
        assert!(parse(&["--minutes", "an hour"]).unwrap_err().to_string().contains("an hour"));
    }
}
