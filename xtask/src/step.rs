//! A step of a longer run: a heading, an action, and the advice to print when it fails.

use anyhow::{Result, bail};

use crate::command;

/// One named thing to do.
pub(crate) struct NamedStep<'a> {
    name: &'a str,
    remedy: &'a str,
    action: Box<dyn Fn() -> Result<()> + 'a>,
}

impl<'a> NamedStep<'a> {
    /// A step that calls a function.
    pub(crate) fn call(name: &'a str, action: impl Fn() -> Result<()> + 'a) -> Self {
        Self { name, remedy: "", action: Box::new(action) }
    }

    /// A step that runs cargo.
    pub(crate) fn cargo(name: &'a str, arguments: &'a [&'a str]) -> Self {
        Self::call(name, || command::run(command::cargo(arguments.iter().copied())?))
    }

    /// Adds the advice to print when the step fails.
    pub(crate) fn or(self, remedy: &'a str) -> Self {
        Self { remedy, ..self }
    }
}

/// Runs all of the steps, also after one has failed: they do not depend on each other, and the whole picture is worth
/// more than the first fault. Groups that do depend on each other are separate calls.
pub(crate) fn run_all(steps: &[NamedStep<'_>]) -> Result<()> {
    let failed: Vec<&str> = steps.iter().filter(|step| !passes(step)).map(|step| step.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn passes(step: &NamedStep<'_>) -> bool {
    eprintln!("\n== {} ==", step.name);
    let Err(error) = (step.action)() else { return true };
    eprintln!("-- {} failed: {error:#}", step.name);
    if !step.remedy.is_empty() {
        eprintln!("-- what to do: {}", step.remedy);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn steps_after_a_failed_one_still_run_and_every_failure_is_named() {
        let ran = RefCell::new(Vec::new());
        let step = |name, outcome: fn() -> Result<()>| {
            let ran = &ran;
            NamedStep::call(name, move || {
                ran.borrow_mut().push(name);
                outcome()
            })
        };
        let steps = [step("first", || bail!("no")), step("second", || Ok(())), step("third", || bail!("no"))];

        let error = run_all(&steps).unwrap_err();

        assert_eq!(*ran.borrow(), ["first", "second", "third"]);
        assert_eq!(error.to_string(), "failed: first, third");
    }

    #[test]
    fn no_failure_is_no_error() {
        run_all(&[NamedStep::call("fine", || Ok(())).or("nothing")]).unwrap();
    }
}
