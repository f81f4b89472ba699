//! Allowed dependencies: for our crates by a table of directions, for others by a list of forbidden crates.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::{Dependency, Kind, dependencies};
use crate::tidy::workspace::{File, Workspace};

/// The crates of the workspace that each crate may use. Every crate stands below the ones it uses, so there can be no
/// circle.
pub(super) const MAY_USE: &[(&str, &[&str])] = &[
    ("sys", &[]),
    ("output", &[]),
    ("exec-policy", &[]),
    ("protocol", &[]),
    ("proxy", &[]),
    ("tls", &[]),
    ("llm", &["tls"]),
    ("patch", &[]),
    ("files", &[]),
    ("code-mode", &[]),
    ("config", &[]),
    ("testkit", &[]),
    ("xtask", &[TESTKIT]),
    ("sandbox", &["sys"]),
    ("engine", &["sandbox", "proxy", "sys", "output"]),
    ("tools", &["engine", "output", "exec-policy"]),
    ("server", &["tools", "engine", "protocol", "output", "tls"]),
    ("mcp-client", &["engine"]),
    ("agent", &["tools", "output", "exec-policy", "llm", "patch", "files", "code-mode", "mcp-client"]),
    (
        "cli",
        &[
            "sys",
            "output",
            "exec-policy",
            "protocol",
            "proxy",
            "tls",
            "llm",
            "patch",
            "files",
            "code-mode",
            "config",
            "mcp-client",
            "sandbox",
            "engine",
            "tools",
            "server",
            "agent",
        ],
    ),
    (
        "bench",
        &[
            "sys",
            "output",
            "exec-policy",
            "protocol",
            "proxy",
            "tls",
            "llm",
            "patch",
            "files",
            "code-mode",
            "config",
            "mcp-client",
            "sandbox",
            "engine",
            "tools",
            "server",
            "agent",
            "cli",
            TESTKIT,
        ],
    ),
    (
        "fuzz",
        &[
            "sys",
            "output",
            "exec-policy",
            "protocol",
            "proxy",
            "tls",
            "llm",
            "patch",
            "files",
            "code-mode",
            "config",
            "mcp-client",
            "sandbox",
            "engine",
            "tools",
            "server",
            "agent",
        ],
    ),
];

/// Every crate's tests may use this one.
const TESTKIT: &str = "testkit";

/// External crates that a crate must not use.
const MUST_NOT_KNOW: &[(&str, &[&str])] = &[
    ("sys", &["anyhow", "tokio"]),
    ("output", &["anyhow", "libc", "rustix", "tokio"]),
    ("exec-policy", &["anyhow", "libc", "rustix", "tokio"]),
    ("protocol", &["anyhow", "tokio"]),
    ("proxy", &["anyhow", "clap", "http", "hyper", "serde", "serde_json"]),
    ("sandbox", &["anyhow", "tokio"]),
    ("engine", &["anyhow", "clap", "serde", "serde_json"]),
    ("tools", &["anyhow", "clap"]),
    ("server", &["anyhow", "clap"]),
    ("tls", &["anyhow", "tokio"]),
    ("llm", &["anyhow", "clap"]),
    ("patch", &["anyhow", "clap", "tokio"]),
    ("files", &["anyhow", "clap", "tokio"]),
    ("code-mode", &["anyhow", "clap"]),
    ("config", &["anyhow", "clap", "tokio"]),
    ("mcp-client", &["anyhow", "clap"]),
    ("agent", &["anyhow", "clap"]),
];

/// Our crates use each other only in the directions of the table.
pub(crate) fn point_downwards(workspace: &Workspace) -> Vec<Finding> {
    members(workspace).flat_map(wrong_directions).collect()
}

/// External crates are not used where they are forbidden; tests may use what they like.
pub(crate) fn stay_in_their_rooms(workspace: &Workspace) -> Vec<Finding> {
    members(workspace).flat_map(intruders).collect()
}

/// External crates are named once, in the workspace, with the reason beside them; members inherit them.
pub(crate) fn are_decided_once(workspace: &Workspace) -> Vec<Finding> {
    let reasonless = workspace.files_named("Cargo.toml").flat_map(without_reason);
    let inherited = members(workspace).filter(|file| file.room() != "fuzz").flat_map(not_inherited);
    reasonless.chain(inherited).collect()
}

fn members(workspace: &Workspace) -> impl Iterator<Item = &File> {
    workspace.files_named("/Cargo.toml").filter(|file| !file.room().is_empty())
}

fn wrong_directions(manifest: &File) -> Vec<Finding> {
    let room = manifest.room();
    let Some(may_use) = lookup(MAY_USE, room) else {
        let advice = format!("say in xtask's table of directions what `{room}` may use");
        return vec![Finding::fault("direction", (&manifest.path, 1), advice)];
    };
    let wrong = |dependency: &Dependency<'_>| {
        let used = room_of(dependency.name)?;
        // Tests assemble the dependencies of a crate: they may reach further down, never up.
        let for_tests = dependency.kind == Kind::Dev && (used == TESTKIT || stands_on(room, used));
        (!for_tests && !may_use.contains(&used)).then(|| direction(manifest, dependency, used))
    };
    dependencies(&manifest.text).iter().filter_map(wrong).collect()
}

/// Whether a crate uses another one, itself or through those it uses.
fn stands_on(room: &str, used: &str) -> bool {
    let below = lookup(MAY_USE, room).unwrap_or_default();
    below.contains(&used) || below.iter().any(|room| stands_on(room, used))
}

fn direction(manifest: &File, dependency: &Dependency<'_>, used: &str) -> Finding {
    let room = manifest.room();
    let advice = if used == TESTKIT {
        "testkit is for tests: move it to [dev-dependencies]".to_owned()
    } else {
        format!("`{room}` must not know `{used}`; pass data up or down instead")
    };
    Finding::fault("direction", (&manifest.path, dependency.line), advice)
}

fn intruders(manifest: &File) -> Vec<Finding> {
    let unwanted = lookup(MUST_NOT_KNOW, manifest.room()).unwrap_or_default();
    let all = dependencies(&manifest.text);
    let intruders = all.iter().filter(|found| found.kind != Kind::Dev && unwanted.contains(&found.name));
    let finding = |found: &Dependency<'_>| {
        let advice = format!("`{}` must not know {}; use it in a crate above", manifest.room(), found.name);
        Finding::fault("intruder", (&manifest.path, found.line), advice)
    };
    intruders.map(finding).collect()
}

fn without_reason(manifest: &File) -> Vec<Finding> {
    let all = dependencies(&manifest.text);
    let others = all.iter().filter(|found| found.kind == Kind::Workspace && room_of(found.name).is_none());
    let silent = others.filter(|found| !found.entry.contains("# "));
    let advice = "say beside it what it is for: `# reason`";
    silent.map(|found| Finding::fault("dependency-reason", (&manifest.path, found.line), advice)).collect()
}

fn not_inherited(manifest: &File) -> Vec<Finding> {
    let all = dependencies(&manifest.text);
    let own = all.iter().filter(|found| !found.entry.contains("workspace = true"));
    let advice = "name it in the root Cargo.toml with its reason, and inherit it: `.workspace = true`";
    own.map(|found| Finding::fault("dependency-version", (&manifest.path, found.line), advice)).collect()
}

/// The crate of the workspace with this name; none for external crates.
fn room_of(dependency: &str) -> Option<&str> {
    match dependency {
        "windlass" => Some("cli"),
        "xtask" => Some("xtask"),
        _ => dependency.strip_prefix("windlass-"),
    }
}

fn lookup<'t>(table: &[(&str, &'t [&'t str])], room: &str) -> Option<&'t [&'t str]> {
    table.iter().find(|(name, _)| *name == room).map(|&(_, row)| row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_workspace;

    fn check_directions(path: &str, manifest: &str, expected: &[&str]) {
        check_workspace(point_downwards, &[(path, manifest)], expected);
    }

    #[test]
    fn the_table_has_no_circle() {
        for (index, (room, used)) in MAY_USE.iter().enumerate() {
            let above = &MAY_USE[..index];
            let missing = used.iter().find(|name| lookup(above, name).is_none());
            assert_eq!(missing, None, "`{room}` stands above a room it uses");
        }
    }

    #[test]
    fn a_room_uses_only_what_the_table_allows() {
        let engine = "[dependencies]\nwindlass-sys.workspace = true\nwindlass-tools.workspace = true\n";
        check_directions("crates/engine/Cargo.toml", engine, &["crates/engine/Cargo.toml:3: direction"]);
        let output = "[dependencies]\nwindlass-sys.workspace = true\n";
        check_directions("crates/output/Cargo.toml", output, &["crates/output/Cargo.toml:2: direction"]);
        let agent = "[dependencies]\nwindlass-server.workspace = true\n";
        check_directions("crates/agent/Cargo.toml", agent, &["crates/agent/Cargo.toml:2: direction"]);
        check_directions("crates/cli/Cargo.toml", agent, &[]);
    }

    #[test]
    fn the_direction_holds_for_tests_too_but_they_may_reach_further_down() {
        let dev = "[dev-dependencies]\nwindlass-testkit.workspace = true\nwindlass-engine.workspace = true\n";
        check_directions("crates/sys/Cargo.toml", dev, &["crates/sys/Cargo.toml:3: direction"]);
        check_directions("crates/agent/Cargo.toml", dev, &[]);
    }

    #[test]
    fn testkit_is_a_real_dependency_of_bench_alone() {
        let real = "[dependencies]\nwindlass-testkit.workspace = true\n";
        check_directions("crates/sys/Cargo.toml", real, &["crates/sys/Cargo.toml:2: direction"]);
        check_directions("crates/cli/Cargo.toml", real, &["crates/cli/Cargo.toml:2: direction"]);
        check_directions("bench/Cargo.toml", real, &[]);
    }

    #[test]
    fn a_room_the_table_does_not_know_is_asked_for() {
        check_directions("crates/attic/Cargo.toml", "", &["crates/attic/Cargo.toml:1: direction"]);
    }

    #[test]
    fn the_engine_builds_without_json_and_flags() {
        let manifest =
            "[dependencies]\nserde_json.workspace = true\n[dev-dependencies]\nclap.workspace = true\n";
        let expected = ["crates/engine/Cargo.toml:2: intruder"];
        check_workspace(stay_in_their_rooms, &[("crates/engine/Cargo.toml", manifest)], &expected);
        check_workspace(stay_in_their_rooms, &[("crates/cli/Cargo.toml", manifest)], &[]);
    }

    #[test]
    fn a_dependency_has_its_reason_beside_it() {
        let root = "[workspace.dependencies]\nwindlass-sys = { path = \"crates/sys\" }\na = \"1\" # bytes\nb = \"1\"\n";
        check_workspace(are_decided_once, &[("Cargo.toml", root)], &["Cargo.toml:4: dependency-reason"]);
    }

    #[test]
    fn members_inherit_their_versions() {
        let member =
            "[dependencies]\na.workspace = true\nb = { workspace = true, features = [] }\nc = \"1\"\n";
        let expected = ["crates/sys/Cargo.toml:4: dependency-version"];
        check_workspace(are_decided_once, &[("crates/sys/Cargo.toml", member)], &expected);
        check_workspace(are_decided_once, &[("fuzz/Cargo.toml", member)], &[]);
    }
}
