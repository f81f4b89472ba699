//! `cargo xtask check`: everything a change must pass. Cheap steps come first; code that does not compile is not
//! tested.

use anyhow::Result;

use crate::step::{self, NamedStep};
use crate::{command, deny, generated, test, tidy};

/// Runs every check.
pub(crate) fn run() -> Result<()> {
    step::run_all(&[
        NamedStep::call("tidy", tidy::run).or("each line above says where and what to change"),
        NamedStep::cargo("format", &["fmt", "--all", "--check"]).or("run `cargo fmt --all`"),
    ])?;
    deny::run()?;
    step::run_all(&[NamedStep::cargo("clippy", &CLIPPY)
        .or("fix what it names; where it is wrong, use `#[expect(clippy::..., reason = \"...\")]`")])?;
    step::run_all(&[
        NamedStep::call("generated files", generated::check)
            .or("run `cargo xtask generate` and commit what changed"),
        NamedStep::call("documentation", document).or("fix the links and comments that rustdoc names"),
    ])?;
    test::run(&[])?;
    eprintln!("\neverything passes");
    Ok(())
}

const CLIPPY: [&str; 6] = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

fn document() -> Result<()> {
    let mut rustdoc = command::cargo(["doc", "--workspace", "--no-deps", "--document-private-items"])?;
    rustdoc.env("RUSTDOCFLAGS", "-D warnings");
    command::run(rustdoc)
}
