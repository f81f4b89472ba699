//! `windlass completions`: completion scripts for shells, generated from the same definition as the help.

use anyhow::Result;
use clap::{Command, CommandFactory};
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
    generate(target, &mut typed_by_people(), "windlass", &mut script);
    print(script)?;
    Ok(Exit::SUCCESS)
}

/// The definition without the subcommands that windlass uses internally.
fn typed_by_people() -> Command {
    let whole = Windlass::command();
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let bare = Command::new("windlass").args(whole.get_arguments().cloned());
    bare.version(env!("CARGO_PKG_VERSION")).subcommands(verbs)
}

#[cfg(test)]
mod tests {
    use super::typed_by_people;

    #[test]
    fn completions_offer_what_people_type_and_nothing_else() {
        let verbs: Vec<_> =
            typed_by_people().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        assert!(verbs.contains(&"run".to_owned()) && verbs.contains(&"stop".to_owned()));
        assert!(!verbs.contains(&"keep".to_owned()) && !verbs.contains(&"guardian".to_owned()));
    }
}
