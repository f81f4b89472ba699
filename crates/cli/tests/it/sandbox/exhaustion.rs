//! Attempts to exhaust a resource, each in a session of its own with a limit on that resource: the limit ends the whole
//! session.

use serde_json::Value;

use super::attempts::{Outcome, outcome_of};
use super::confinement::Confinement;
use super::stage::Stage;

/// A limited resource.
struct Resource {
    /// The resource's part of the attempt's name, and the variable that tells the attempt the amount.
    name: &'static str,
    variable: &'static str,
    /// The limit.
    most: u64,
    /// The option that sets the limit; terminals and instances of inotify are limited in every sandbox.
    flag: Option<&'static str>,
}

const RESOURCES: &[Resource] = &[
    Resource { name: "processes", variable: "LIMIT_PROCESSES", most: 40, flag: Some("--processes") },
    Resource { name: "memory", variable: "LIMIT_MEMORY", most: 64 << 20, flag: Some("--memory") },
    Resource { name: "disk", variable: "LIMIT_DISK", most: 16 << 20, flag: Some("--disk") },
    Resource { name: "terminals", variable: "LIMIT_TERMINALS", most: 1024, flag: None },
    // Half of the 128 that a user has by default.
    Resource { name: "watchers", variable: "LIMIT_WATCHERS", most: 64, flag: None },
    Resource { name: "descriptors", variable: "LIMIT_FILES", most: 64, flag: Some("--files") },
];

/// The result of each attempt.
pub(crate) type Ends = Vec<(String, Outcome)>;

/// Runs the attempts without a sandbox.
pub(crate) fn unconfined(stage: &Stage) -> Ends {
    each(stage, |attempt, resource| {
        let words = [stage.program(), "run".to_owned(), attempt.to_owned()];
        let mut command = stage.command(&words);
        command.env("NOTHING_STOPS", "1").env(resource.variable, resource.most.to_string());
        let output = command.output().expect("the attempts can be run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        outcome_of(attempt, &said).unwrap_or_else(|| panic!("nothing was said of {attempt}: {output:?}"))
    })
}

/// Runs the attempts in a sandbox, with a limit.
pub(crate) fn confined(stage: &Stage, confinement: Confinement) -> Ends {
    each(stage, |attempt, resource| {
        let mut words = confinement.words(stage);
        words.insert(2, "--json".to_owned());
        if let Some(flag) = resource.flag {
            words.splice(3..3, [flag.to_owned(), resource.most.to_string()]);
        }
        words.extend([stage.program(), "run".to_owned(), attempt.to_owned()]);
        let output = stage.command(&words).env(resource.variable, resource.most.to_string()).output();
        let output = output.expect("windlass starts");
        let told: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"));
        let said = told["output"].as_str().unwrap_or_default();
        let crossed = || told["limit"]["resource"].as_str().map(|name| Outcome::Blocked(name.to_owned()));
        outcome_of(attempt, said)
            .or_else(crossed)
            .unwrap_or_else(|| panic!("{attempt} ended by nothing: {told:#}"))
    })
}

fn each(stage: &Stage, run: impl Fn(&str, &Resource) -> Outcome) -> Ends {
    let attempts = stage.attempts().into_iter().filter(|attempt| attempt.category == "exhaust");
    let ends = attempts.map(|attempt| {
        let of_it = |resource: &&Resource| attempt.name.starts_with(&format!("exhaust_{}", resource.name));
        let resource = RESOURCES.iter().find(of_it).unwrap_or_else(|| panic!("{} of what?", attempt.name));
        let end = run(&attempt.name, resource);
        (attempt.name, end)
    });
    ends.collect()
}
