//! The output of `windlass sandbox explain` for a policy.

use serde_json::Value;

use super::Quarters;

#[test]
fn a_policy_can_be_explained_before_it_is_relied_on() {
    let quarters = Quarters::new("explain");
    let work = quarters.work.to_str().unwrap();
    let explain = |more: &[&str]| {
        let words = ["sandbox", "explain", "-C", work, "--policy", "workspace-write"];
        quarters.home.seen(&[&words, more].concat())
    };
    let short = explain(&["--deny-read", "/etc/shadow"]);
    assert!(short.stdout.lines().count() < 15, "{}", short.stdout);
    for line in
        ["policy      workspace-write", "reads       everything except /etc/shadow", "network     off"]
    {
        assert!(short.stdout.lines().any(|it| it == line), "{line}: {}", short.stdout);
    }
    let writes = short.stdout.lines().find(|line| line.starts_with("writes      "));
    assert!(writes.is_some_and(|line| line.contains(work)), "{}", short.stdout);
    assert!(
        short.stdout.contains("protected   although in a writable place")
            && short.stdout.contains("--verbose"),
        "{short:?}"
    );
    let words = ["sandbox", "explain", "-C", work, "--network", "loopback"];
    let told = quarters.home.windlass(&words).env("GH_TOKEN", "x").output().expect("it starts");
    let told = String::from_utf8(told.stdout).expect("it prints text");
    assert!(
        told.lines().any(|line| line.starts_with("variables   withheld: ") && line.contains("GH_TOKEN")),
        "{told}"
    );
    assert!(told.contains("servers that run on this machine outside of the sandbox are not there"), "{told}");
    let seen = explain(&["--verbose"]);
    assert!(seen.stdout.contains(&format!("writable  {work}  [workspace-write: the workspace")), "{seen:?}");
    assert!(seen.stdout.contains("\nunchanged   commands can neither create"), "{seen:?}");
    assert!(!seen.stdout.lines().any(|line| line.starts_with("writable") && line.contains("[protected")));
    let plan: Value = serde_json::from_str(&explain(&["--json"]).stdout).unwrap();
    let rule = plan["rules"].as_array().unwrap().iter().find(|rule| rule["path"] == work);
    assert!(rule.is_some_and(|rule| rule["access"] == "write" && plan["network"] == "off"), "{plan:#}");
    let weaker = explain(&["--sandbox-layers", "landlock"]);
    assert!(weaker.stdout.contains("differs     no namespaces"), "{weaker:?}");
    let refused = explain(&["--sandbox-layers", "landlock", "--network", "loopback"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("network loopback needs a network namespace"), "{refused:?}");
}

#[test]
fn a_write_rule_that_names_a_protected_file_is_listed_as_the_exception() {
    let quarters = Quarters::new("explain-exception");
    let work = quarters.work.to_str().unwrap();
    for name in [".vscode", ".windlass", ".git/hooks", ".bashrc", ".mcp.json"] {
        let place = quarters.work.join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        if name == ".bashrc" || name == ".mcp.json" {
            std::fs::write(&place, "").unwrap();
        } else {
            std::fs::create_dir_all(&place).unwrap();
        }
        let explain = |more: &[&str]| {
            let words = ["sandbox", "explain", "-C", work, "--policy", "workspace-write", "--verbose"];
            quarters.home.seen(&[&words, more].concat()).stdout
        };
        let line = format!("writable  {}  [", place.display());
        let is_listed = |said: &str| said.lines().any(|it| it.starts_with(&line));
        let without = explain(&[]);
        assert!(!is_listed(&without), "{name}: {without}");
        let with = explain(&["--writable", name]);
        assert!(is_listed(&with), "{name}: {with}");
    }
}
