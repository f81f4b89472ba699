//! `cargo xtask <verb>`: everything that is done to the workspace has one name here.
//!
//! The people who work on Windlass and the machine that checks it run the same verbs. It depends on next to nothing,
//! so that it builds in seconds on a bare toolchain.
#![forbid(unsafe_code)]

mod bench;
mod chaos;
mod check;
mod command;
mod deny;
mod fuzz;
mod generated;
mod hanging;
mod notice;
mod peers;
mod step;
mod test;
mod tidy;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
Usage: cargo xtask <verb> [arguments]

  check                everything a change must pass, cheapest first
  test [arguments]     build all, run all tests and doc tests; arguments go to the test runner, e.g. `-p windlass-sys`
  peers [bench]        install what the tests need of other people's programs, or what the measurements need
  deny                 licences, bans and sources of all dependencies, and known vulnerabilities where they can be looked up
  tidy                 the mechanical style rules: what a reviewer should never have to say
  generate [path...]   write the files that are generated from the program and its dependencies, where they are out of date
  bench [arguments]    build for release and run `windlass-bench` with the arguments
  chaos [--minutes N | --seed N]
                       use Windlass at random under random faults, 10 minutes unless said otherwise, or one round of a seed
  fuzz [seconds] [target...]
                       run the fuzz targets in fuzz/, 60 seconds each unless said otherwise (needs nightly Rust)
  help                 this text
";

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let verb = arguments.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = arguments.collect();
    match run(&verb, &rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask {verb}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: &str, rest: &[String]) -> Result<()> {
    match (verb, rest) {
        ("check", []) => check::run(),
        ("deny", []) => deny::run(),
        ("tidy", []) => tidy::run(),
        ("generate", paths) => generated::run(paths),
        ("peers", []) => peers::for_tests(),
        ("peers", [which]) if which == "bench" => peers::for_bench(),
        ("test", arguments) => test::run(arguments),
        ("bench", arguments) => bench::run(arguments),
        ("chaos", arguments) => chaos::run(arguments),
        ("fuzz", arguments) => fuzz::run(arguments),
        ("help" | "--help" | "-h", _) => {
            print!("{HELP}");
            Ok(())
        }
        ("check" | "deny" | "tidy", _) => bail!("`{verb}` takes no arguments"),
        ("peers", _) => bail!("`peers` takes no argument but `bench`"),
        _ => bail!("there is no such verb; `cargo xtask help` lists them"),
    }
}
