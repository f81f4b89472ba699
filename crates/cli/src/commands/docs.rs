//! `windlass __docs`: the reference page of the command line, generated from its definition so that it cannot be wrong.

use std::fmt::Write;

use anyhow::Result;
use clap::{Command, CommandFactory};

use crate::args::Windlass;
use crate::failure::Exit;
use crate::printing::print;

/// A fixed width: the page is committed and must not depend on a terminal.
const WIDTH: usize = 100;

/// Prints the page.
pub(crate) fn run() -> Result<Exit> {
    print(page()?)?;
    Ok(Exit::SUCCESS)
}

fn page() -> Result<String> {
    let mut windlass = Windlass::command().term_width(WIDTH);
    windlass.build();
    let mut page = String::from("# The command line\n\nPrinted by the program itself; do not edit.\n");
    describe(&mut windlass, &mut page)?;
    Ok(page)
}

/// Describes a command, then its subcommands.
fn describe(command: &mut Command, page: &mut String) -> Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n"))?;
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
    {
        describe(verb, page)?;
    }
    Ok(())
}
