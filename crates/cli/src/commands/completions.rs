//! `windlass completions`: what a shell needs to complete our words, made from the same definition as the help.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell as Target, generate};

use crate::args::{Shell, Windlass};
use crate::failure::Exit;
use crate::printing::print;

/// Prints the completions.
pub(crate) fn run(shell: Shell) -> Result<Exit> {
    let target = match shell {
        Shell::Bash => Target::Bash,
        Shell::Zsh => Target::Zsh,
        Shell::Fish => Target::Fish,
    };
    let mut script = Vec::new();
    generate(target, &mut Windlass::command(), "windlass", &mut script);
    print(script)?;
    Ok(Exit::SUCCESS)
}
