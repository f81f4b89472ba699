//! The official conformance suite of the protocol against this program: both sets of requirements, over HTTP.

use std::process::{Command, Stdio};

use serde_json::Value;
use windlass_sys::signal::Signal;
use windlass_testkit::peers;

use crate::rig::{Home, Running};

/// The suite's name for a revision of the protocol, and the number of scenarios by which it scores a server.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 30), ("2026-07-28", 37)];

#[test]
fn every_scenario_of_the_conformance_suite_passes_in_both_eras() {
    let home = Home::new("conformance");
    let mut server = Server::start(&home);
    for (revision, scored) in REVISIONS {
        let (passed, report) = server.put_to_the_test(&home, revision);
        let summary = report.split("=== SUMMARY ===").nth(1).unwrap_or_default();
        println!("{revision}{summary}");
        let (required, optional) = scenarios(summary);
        // The suite also runs unscored scenarios: extensions, and features that its own reference does not support yet.
        let failed: Vec<_> = required.iter().chain(&optional).filter(|line| !line.starts_with('✓')).collect();
        assert!(passed && failed.is_empty(), "{revision}: {failed:?}\n{report}");
        assert_eq!(required.len(), scored, "{revision}: {required:?}");
        assert!(
            !optional.is_empty(),
            "{revision}: the suite says which scenarios it does not score\n{report}"
        );
    }
    server.end();
}

/// The lines of the scored scenarios, and those of the others.
fn scenarios(summary: &str) -> (Vec<&str>, Vec<&str>) {
    let (all, unscored) = summary.split_once("Not scored").unwrap_or((summary, ""));
    let name =
        |line: &str| line.split_whitespace().nth(1).unwrap_or_default().trim_end_matches(':').to_owned();
    let optional = marked(unscored);
    let unscored: Vec<_> = optional.iter().map(|line| name(line)).collect();
    let required = marked(all).into_iter().filter(|line| !unscored.contains(&name(line))).collect();
    (required, optional)
}

fn marked(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| line.starts_with(['✓', '✗'])).collect()
}

/// A windlass with the tools that the suite requires.
struct Server {
    running: Running,
    url: String,
}

impl Server {
    fn start(home: &Home) -> Self {
        let mut running = home.start(&["mcp", "--http", "127.0.0.1:0", "--conformance-fixtures", "--json"]);
        let said: Value = serde_json::from_str(&running.line()).expect("it says where it is");
        let url = said["url"].as_str().expect("it has an address").to_owned();
        Self { running, url }
    }

    /// Runs one set of requirements; returns whether the suite passed, and its output.
    fn put_to_the_test(&mut self, home: &Home, revision: &str) -> (bool, String) {
        let mut suite = Command::new(peers::node22());
        suite.arg(peers::npm_bin("conformance")).current_dir(home.path()).stdin(Stdio::null());
        suite.args(["server", "--url", &self.url, "--requirements", revision]);
        let output = suite.output().expect("the suite starts");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    fn end(self) {
        self.running.signal(Signal::TERM);
        assert_eq!(self.running.exit_code(), Some(0));
    }
}
