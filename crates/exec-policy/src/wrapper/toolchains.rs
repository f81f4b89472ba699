//! Values and operands by which compilers, build tools and media tools run another program, where the name of the
//! option does not say so.

use super::{Look, Strength};
use crate::programs::Arguments;
use crate::word::Word;

/// Settings of the code generator of rustc that name neither a program nor a file.
const CODEGEN: [&str; 16] = [
    "codegen-units",
    "debug-assertions",
    "debuginfo",
    "embed-bitcode",
    "extra-filename",
    "force-frame-pointers",
    "lto",
    "metadata",
    "opt-level",
    "overflow-checks",
    "panic",
    "prefer-dynamic",
    "strip",
    "symbol-mangling-version",
    "target-cpu",
    "target-feature",
];

/// Properties of Maven that only choose what is built and tested.
const PROPERTIES: [&str; 6] =
    ["skipTests", "test", "maven.test.skip", "it.test", "style.color", "surefire.failIfNoSpecifiedTests"];

/// Pictures that are scripts, and pictures that are removed when they were read.
const PICTURES: [&str; 5] = ["|", "@", "msl:", "mvg:", "ephemeral:"];

/// Options of a C compiler that name a program, a plugin, or a file with options.
const COMPILER_OPTIONS: [&str; 11] = [
    "-wrapper",
    "-fplugin",
    "-B",
    "-specs",
    "--specs",
    "-Xclang",
    "-load",
    "--ld-path",
    "--config",
    "-fuse-ld=/",
    "@",
];

pub(super) fn look(name: &str, arguments: &Arguments, words: &[Word], look: &mut Look) {
    let operands = || arguments.operands.iter().map(|place| &words[*place]);
    let has_value = |option: &str, is_harmful: fn(&Word) -> bool| {
        let named = arguments.options.iter().filter(|found| found.entry.is_named(option));
        named.filter_map(|found| found.value.as_ref()).any(is_harmful)
    };
    let ask = |look: &mut Look, why: &str| look.ask_at_least(Strength::UnlessDefaultAllows, why);
    match name {
        "rustc" | "rustdoc" => {
            if has_value("C", names_program) {
                look.ask("its option `-C` may name a program that it runs");
            }
            if has_value("emit", names_file) || has_value("print", names_file) {
                ask(look, "it writes a file that an option names");
            }
        }
        "mvn" | "mvnw" => {
            if operands().any(|goal| goal.text().is_none_or(|goal| goal.contains(':'))) {
                ask(look, "one of its goals may run another program");
            }
            if words.iter().any(is_unusual_property) {
                ask(look, "one of its properties may say what it runs");
            }
        }
        "rclone" if operands().any(|remote| remote.beginning().starts_with(':')) => {
            ask(look, "the settings of a remote may name a program that it runs");
        }
        "convert" | "magick" | "identify" | "mogrify" | "montage" | "composite" | "compare" | "display"
        | "animate" | "conjure" | "stream"
            if operands().any(is_script_as_picture) =>
        {
            look.ask_at_least(Strength::UnlessUnrestricted, "one of its operands is a script or a command");
        }
        "exiftool" if words[1..].iter().any(assigns_tag) => {
            ask(look, "it writes into the files that it reads");
        }
        "pytest" | "py.test" if has_value("p", |plugin| !plugin.beginning().starts_with("no:")) => {
            look.ask("its option `-p` loads a plugin");
        }
        _ => {}
    }
}

/// Whether flags for a C compiler make it run another program.
pub(crate) fn flags_run_program(flags: &str) -> bool {
    flags.split_ascii_whitespace().any(|flag| COMPILER_OPTIONS.iter().any(|option| flag.starts_with(option)))
}

fn names_program(setting: &Word) -> bool {
    let name = |text: &str| text.split('=').next().unwrap_or_default().replace('_', "-");
    !setting.text().is_some_and(|text| CODEGEN.contains(&name(text).as_str()))
}

fn names_file(value: &Word) -> bool {
    value.text().is_none_or(|text| text.contains('='))
}

fn is_unusual_property(word: &Word) -> bool {
    let Some(property) = word.beginning().strip_prefix("-D") else { return false };
    !PROPERTIES.contains(&property.split('=').next().unwrap_or_default())
}

fn is_script_as_picture(word: &Word) -> bool {
    let beginning = word.beginning().to_ascii_lowercase();
    PICTURES.iter().any(|picture| beginning.starts_with(picture))
}

fn assigns_tag(word: &Word) -> bool {
    word.beginning().starts_with('-') && word.texts().any(|text| text.contains(['=', '<', '>']))
}
