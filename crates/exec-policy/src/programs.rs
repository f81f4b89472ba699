//! Programs as data: which options they have, which of those take values, which are the same option in other words, and
//! which make the program run a command, read code or write a file.
//!
//! An option that is not in a program's table is asked about. Where a table is partial, because the program has too
//! many options or too many versions, that holds only where commands need a rule.

mod archives;
mod arguments;
mod binaries;
mod compilers;
mod databases;
mod development;
mod git;
mod media;
mod network;
mod packages;
mod table;
mod text;
mod tools;

pub(crate) use self::arguments::{Arguments, FoundOption, read};

/// A program, or a subcommand of one.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) names: &'static [&'static str],
    pub(crate) style: Style,
    pub(crate) coverage: Coverage,
    /// Options, separated by blanks: `name,same:=role`. One letter is a short option, more are a long one. Behind the
    /// names, `:` takes a value, `?` takes one only if it is attached, and `+` takes all words up to `;`; `*` stands
    /// for any end of the name. Then comes the role.
    pub(crate) options: &'static str,
    pub(crate) operands: Operands,
}

/// The effect of a program on its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// It reads them, or other code judges them.
    Plain,
    /// Those behind the first ones, of which this is the number, are files that it writes.
    WrittenAfter(usize),
    /// The first one, or the first two with a slash between them, is a subcommand. These are known to neither run other
    /// programs nor write files outside of the project.
    Subcommands(&'static str),
}

/// One row of the tables.
const fn program(
    names: &'static [&'static str],
    (style, coverage): (Style, Coverage),
    options: &'static str,
) -> Program {
    Program { names, style, coverage, options, operands: Operands::Plain }
}

/// How a program reads its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Short ones may be bundled, long ones may be shortened, and all may stand behind operands.
    Gnu,
    /// The same, and a first word without a dash is a bundle too, as in `tar xzf`.
    Tar,
    /// Long options must be written out.
    Exact,
    /// Long options have one dash, as in `gcc -wrapper`.
    Dash,
    /// As with GNU, and `--no-x` takes `--x` back.
    Git,
    /// As with GNU, but an operand ends the options.
    Posix,
    /// Long options have one dash, and an operand ends the options.
    DashFirst,
    /// Long options must be written out. The values of bundled short ones follow in later words, as in
    /// `tree -Lo 2 file`.
    Spread,
}

/// Whether a table has all options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// It has all options: another one is asked about.
    Complete,
    /// It has the options of ordinary use. Another one is asked about where commands need a rule.
    Partial,
    /// It has only the options that matter, because the program runs the code of a project anyway. Another one is
    /// passed over.
    Marked,
}

/// One option of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionEntry {
    /// Its names, separated by commas.
    pub(crate) names: &'static str,
    pub(crate) takes: Takes,
    pub(crate) role: Role,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    Attached,
    /// A command, up to `;` or `+` or the last word.
    Command,
}

/// The effect of an option on its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Its value is a command.
    Run,
    /// Its value is code of another language.
    Code,
    /// Its value is a script in the program's own small language.
    Text,
    /// Its value is a file with code.
    File,
    /// It makes the program write a file.
    Write,
    /// It makes the program run something.
    Ask,
}

impl Style {
    /// Whether long options have one dash.
    pub(crate) fn has_one_dash(self) -> bool {
        matches!(self, Self::Dash | Self::DashFirst)
    }
}

impl Program {
    /// The table of a program, by its file name, or of a subcommand, as in `git push`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let find = |name: &str| Self::all().find(|program| program.names.contains(&name));
        find(name).or_else(|| find(without_version(without_target(name))))
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        let tables = [
            table::PROGRAMS,
            archives::PROGRAMS,
            text::PROGRAMS,
            binaries::PROGRAMS,
            compilers::PROGRAMS,
            databases::PROGRAMS,
            network::PROGRAMS,
            media::PROGRAMS,
            packages::PROGRAMS,
            development::PROGRAMS,
            tools::PROGRAMS,
            git::PROGRAMS,
        ];
        tables.into_iter().flatten()
    }

    /// The same program, which writes the operands behind the first ones.
    const fn writing_after(mut self, read: usize) -> Self {
        self.operands = Operands::WrittenAfter(read);
        self
    }

    /// The same program, of whose subcommands only these are harmless.
    const fn subcommands(mut self, harmless: &'static str) -> Self {
        self.operands = Operands::Subcommands(harmless);
        self
    }

    /// Its options.
    pub(crate) fn entries(&self) -> impl Iterator<Item = OptionEntry> + Clone + use<> {
        self.options.split_ascii_whitespace().map(OptionEntry::parse)
    }

    /// Whether some of its options run commands or read code.
    pub(crate) fn can_run(&self) -> bool {
        self.entries().any(|entry| !matches!(entry.role, Role::Plain | Role::Write))
    }

    /// Whether some of its options do anything of that kind, or write files.
    pub(crate) fn can_harm(&self) -> bool {
        self.entries().any(|entry| entry.role != Role::Plain)
    }
}

/// `gcc` of `gcc-12`, which takes the same options.
fn without_version(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if bare.is_empty() { name } else { bare }
}

/// `gcc` of `aarch64-linux-gnu-gcc`.
fn without_target(name: &str) -> &str {
    const SYSTEMS: [&str; 6] = ["-gnu-", "-gnueabihf-", "-musl-", "-elf-", "-eabi-", "-mingw32-"];
    SYSTEMS.iter().find_map(|system| name.split_once(system)).map_or(name, |(_, tool)| tool)
}

impl OptionEntry {
    fn parse(text: &'static str) -> Self {
        let (text, role) = match text.split_once('=') {
            Some((text, role)) => (text, Role::parse(role)),
            None => (text, Role::Plain),
        };
        let suffixes = [(':', Takes::Value), ('?', Takes::Attached), ('+', Takes::Command)];
        let suffixed =
            |(suffix, takes)| Some((text.strip_suffix(suffix).filter(|names| !names.is_empty())?, takes));
        let (names, takes) = suffixes.into_iter().find_map(suffixed).unwrap_or((text, Takes::Nothing));
        Self { names, takes, role }
    }

    /// Whether this is one of its names.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.split(',').any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => known == name,
        })
    }

    /// Whether one of its long names begins so.
    pub(crate) fn begins_with(&self, beginning: &str) -> bool {
        self.names.split(',').any(|known| known.len() > 1 && known.starts_with(beginning))
    }
}

impl Role {
    fn parse(role: &str) -> Self {
        match role {
            "run" => Self::Run,
            "code" => Self::Code,
            "text" => Self::Text,
            "file" => Self::File,
            "write" => Self::Write,
            _ => Self::Ask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../docs/rules.md");

    /// The row of the guide that lists these programs by their first names.
    fn row(title: &str, programs: impl Iterator<Item = &'static Program>) -> String {
        let mut names: Vec<&str> = programs.map(|program| program.names[0]).collect();
        names.sort_unstable();
        let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {title} | {} |", list.join(", "))
    }

    #[test]
    fn the_guide_lists_the_programs_of_the_tables() {
        let of = |coverage| Program::all().filter(move |program| program.coverage == coverage);
        let has_list = |program: &&Program| matches!(program.operands, Operands::Subcommands(_));
        let rows = [
            row("options, complete", of(Coverage::Complete)),
            row("options of ordinary use", of(Coverage::Partial)),
            row("options, only those that matter", of(Coverage::Marked)),
            row("subcommands that are known to be harmless", Program::all().filter(has_list)),
        ];
        for row in rows {
            assert!(GUIDE.lines().any(|line| line == row), "docs/rules.md lacks this row:\n{row}");
        }
    }

    #[test]
    fn every_program_has_one_table() {
        let mut seen = Vec::new();
        for name in Program::all().flat_map(|program| program.names) {
            assert!(!seen.contains(&name), "{name} has two tables");
            seen.push(name);
        }
    }

    #[test]
    fn every_entry_of_the_tables_is_well_formed() {
        for program in Program::all() {
            let mut seen = Vec::new();
            for entry in program.entries() {
                let names =
                    program.options.split_ascii_whitespace().find(|text| text.starts_with(entry.names));
                let role = names.and_then(|text| text.split_once('=')).map(|(_, role)| role);
                let known = ["run", "code", "text", "file", "write", "ask"];
                assert!(role.is_none_or(|role| known.contains(&role)), "{:?}: {names:?}", program.names);
                for name in entry.names.split(',') {
                    assert!(
                        !name.is_empty() && (name == "-" || !name.starts_with('-')),
                        "{:?}: {names:?}",
                        program.names
                    );
                    assert!(!seen.contains(&name), "{:?}: {name} twice", program.names);
                    seen.push(name);
                }
            }
        }
    }
}
