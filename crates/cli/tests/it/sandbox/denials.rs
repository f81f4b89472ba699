//! Denied operations are reported: what a command tried, on what, and by which rule it was denied.

use serde_json::Value;

use super::confinement::{Confinement, Layers};
use super::stage::{Owner, Stage};
use super::{Network, WORKSPACE};

/// Something that is denied, and how it is reported.
struct Tried {
    /// For `python3`; errors are its own to catch.
    script: &'static str,
    operation: &'static str,
    /// Parts of the target and of the rule.
    target: &'static str,
    rule: &'static str,
}

const fn tried(
    script: &'static str,
    operation: &'static str,
    target: &'static str,
    rule: &'static str,
) -> Tried {
    Tried { script, operation, target, rule }
}

const IN_ALL_LAYERS: &[Tried] = &[
    tried("socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)", "socket", "unix socket", "SOCK_SEQPACKET"),
    tried("syslog.openlog(); libc.socket(1, 3, 0)", "socket", "unix socket", "could reach programs outside"),
];

/// The denials of one script.
fn denials(stage: &Stage, confinement: Confinement, script: &str) -> Vec<Value> {
    let mut words = confinement.words(stage);
    words.insert(2, "--json".to_owned());
    let script = format!(
        "import ctypes, fcntl, mmap, os, socket, struct, subprocess, syslog\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         try:\n    {script}\nexcept (OSError, subprocess.SubprocessError) as error:\n    print(error)\n"
    );
    words.extend(["python3", "-c", &script].map(str::to_owned));
    let output = stage.command(&words).output().expect("windlass starts");
    let said: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(said["exit_code"], 0, "{script}: {said:#}");
    said["denials"].as_array().cloned().unwrap_or_default()
}

fn check(name: &str, owner: Owner, confinement: Confinement, all: &[Tried]) {
    let stage = Stage::new(name, owner);
    for one in all {
        let said = denials(&stage, confinement, one.script);
        let is_it = |denial: &&Value| {
            let has =
                |field: &str, part: &str| denial[field].as_str().is_some_and(|text| text.contains(part));
            denial["operation"] == one.operation && has("target", one.target) && has("rule", one.rule)
        };
        assert!(said.iter().any(|denial| is_it(&denial)), "{confinement:?}, {}: {said:#?}", one.script);
    }
}

#[test]
fn denied_operations_are_reported() {
    check("denials", Owner::Myself, WORKSPACE, IN_ALL_LAYERS);
}

#[test]
fn denied_operations_of_an_ordinary_user_are_reported() {
    check("denials-user", Owner::ordinary(), WORKSPACE, IN_ALL_LAYERS);
}

#[test]
fn denied_operations_are_reported_without_namespaces() {
    let confinement = Confinement { layers: Layers::Landlock, ..WORKSPACE };
    check("denials-landlock", Owner::Myself, confinement, IN_ALL_LAYERS);
    check("denials-landlock-user", Owner::ordinary(), confinement, IN_ALL_LAYERS);
}

#[test]
fn denied_operations_are_reported_where_the_network_is_on() {
    check("denials-open", Owner::Myself, Confinement { network: Network::On, ..WORKSPACE }, IN_ALL_LAYERS);
}
