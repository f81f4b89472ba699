//! Checks the rules files: commands do not start while a file has a fault.

use super::Check;
use crate::config::{Config, below_home};
use crate::report;
use crate::rules_files::{self, Faulty, RulesLocation};

const NAME: &str = "rules";

pub(super) fn checks(config: &Config) -> Vec<Check> {
    let places = match rules_files::places(config) {
        Ok(places) => places,
        Err(error) => return vec![problem(format!("{error:#}"))],
    };
    let checks: Vec<Check> = places.iter().flat_map(|place| check(place, config)).collect();
    if checks.is_empty() {
        return vec![Check::ok(NAME, "there is no rules file")];
    }
    checks
}

/// One check for each fault of a file; none for a file that does not exist.
fn check(place: &RulesLocation, config: &Config) -> Vec<Check> {
    let error = match rules_files::read(place, config) {
        Ok(None) => return Vec::new(),
        Ok(Some(file)) => {
            let name = below_home(&place.path, &config.environment);
            return vec![Check::ok(NAME, format!("{name}: {}", report::plural(file.rules().len(), "rule")))];
        }
        Err(error) => error,
    };
    match error.downcast_ref::<Faulty>() {
        Some(faulty) => faulty.lines().map(problem).collect(),
        None => vec![problem(format!("{error:#}"))],
    }
}

fn problem(message: String) -> Check {
    Check::problem(NAME, message, "correct it; `windlass rules check` reads it again")
}
