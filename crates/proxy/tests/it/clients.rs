//! Programs that people use, with the proxy variables of a confined command.

use std::process::{Command, Output};

use windlass_proxy::AllowList;
use windlass_proxy::decision::{HostVerdict, Protocol, ProxyEvent};
use windlass_proxy::environment::{AllProxy, environment};
use windlass_testkit::Scratch;

use crate::far::web;
use crate::rig::Rig;

/// Where Debian puts programs.
const PATH: &str = "/usr/bin:/bin";

/// Runs a program that has nothing but the proxy's variables, and a home of its own.
async fn run(rig: &Rig, entries: &[&str], words: &[&str]) -> Output {
    let (program, arguments) = words.split_first().expect("a program");
    demand(program);
    let allow = AllowList::parse(entries).expect("a good list");
    let home = Scratch::new("proxy-client");
    let mut command = Command::new(format!("/usr/bin/{program}"));
    command.args(arguments).env_clear().env("PATH", PATH).env("HOME", home.path()).env("LC_ALL", "C");
    command.envs(environment(rig.address.port(), &allow, AllProxy::Socks)).current_dir(home.path());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = crate::rig::within(output).await.expect("it runs").expect("it starts");
    drop(home);
    output
}

/// No silent skips: a program that is missing is named, with its package.
fn demand(command: &str) {
    const LIST: &str = include_str!("../../../../peers/debian.txt");
    let mut lines = LIST.lines().filter_map(|line| line.split_once(' '));
    let package = lines.find(|(name, _)| *name == command).map(|(_, package)| package);
    let package = package.unwrap_or_else(|| panic!("{command} needs a line in peers/debian.txt"));
    let there = std::path::Path::new("/usr/bin").join(command).exists();
    assert!(
        there,
        "{command} is missing: install it with `apt-get install {package}` or `cargo xtask peers`"
    );
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program reaches a page of a listed host, by this protocol.
async fn check_reaches(words: &[&str], protocol: Protocol, shown: &str) {
    let (server, _requests) = web().await;
    let entries = ["allowed.test"];
    let mut rig = Rig::start(&entries, server).await;
    let output = run(&rig, &entries, words).await;
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert_eq!(text(&output.stdout), shown, "{words:?}");
    let decision = rig.decision().await;
    assert_eq!((decision.protocol, decision.host.as_str()), (protocol, "allowed.test"), "{words:?}");
    assert_eq!(decision.verdict, HostVerdict::Allowed { entry: "allowed.test".into() });
}

const PAGE: &str = "http://allowed.test/page";
const SHOWN: &str = "path /page body ";

#[tokio::test]
async fn curl_reaches_a_listed_host_by_every_protocol() {
    check_reaches(&["curl", "-sS", PAGE], Protocol::Http, SHOWN).await;
    check_reaches(&["curl", "-sS", "--proxytunnel", PAGE], Protocol::Connect, SHOWN).await;
    let (server, _requests) = web().await;
    let mut rig = Rig::start(&["allowed.test"], server).await;
    let proxy = rig.address.to_string();
    // The proxy is given by its option, and by ALL_PROXY alone.
    for words in [
        &["curl", "-sS", "--socks5-hostname", &proxy, PAGE][..],
        &["env", "-u", "http_proxy", "curl", "-sS", PAGE],
    ] {
        let output = run(&rig, &["allowed.test"], words).await;
        assert_eq!(text(&output.stdout), SHOWN, "{words:?}: {output:?}");
        assert_eq!(rig.decision().await.protocol, Protocol::Socks5);
        rig.ending().await;
    }
}

#[tokio::test]
async fn curl_sends_bodies_of_both_kinds() {
    check_reaches(&["curl", "-sS", "-d", "name=value", PAGE], Protocol::Http, "path /page body name=value")
        .await;
    let chunked = ["curl", "-sS", "-H", "Transfer-Encoding: chunked", "-d", "abc", PAGE];
    check_reaches(&chunked, Protocol::Http, "path /page body 3\r\nabc\r\n0\r\n\r\n").await;
    let expecting = ["curl", "-sS", "-H", "Expect: 100-continue", "-d", "abc", PAGE];
    check_reaches(&expecting, Protocol::Http, "path /page body abc").await;
}

#[tokio::test]
async fn each_request_of_a_client_is_judged() {
    let (server, _requests) = web().await;
    let rig = Rig::start(&["allowed.test"], server).await;
    let words = ["curl", "-sS", PAGE, "http://other.test/", PAGE];
    let output = run(&rig, &["allowed.test"], &words).await;
    let shown = text(&output.stdout);
    assert!(shown.starts_with(SHOWN) && shown.ends_with(SHOWN), "{shown}");
    assert!(shown.contains("other.test:80 was refused"), "{shown}");
    let told = rig.stop().await;
    let decided = told.iter().filter_map(|event| match event {
        ProxyEvent::Decided(decision) => {
            Some((decision.host.as_str(), matches!(decision.verdict, HostVerdict::Allowed { .. })))
        }
        _ => None,
    });
    let decided: Vec<(&str, bool)> = decided.collect();
    assert_eq!(decided, [("allowed.test", true), ("other.test", false), ("allowed.test", true)]);
}

/// A program is refused, and shows the reason that the proxy sent.
async fn check_refused(words: &[&str], shown: &str) {
    let (server, _requests) = web().await;
    let entries = ["allowed.test"];
    let mut rig = Rig::start(&entries, server).await;
    let output = run(&rig, &entries, words).await;
    let all = text(&output.stdout) + &text(&output.stderr);
    assert!(all.contains(shown), "{words:?}: {all}");
    assert!(matches!(rig.decision().await.verdict, HostVerdict::Refused(_)));
    assert_eq!(rig.names.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn programs_show_why_they_were_refused() {
    let advice = "To allow it, list `other.test` among the hosts that this command may reach.";
    check_refused(&["curl", "-sS", "http://other.test/"], advice).await;
    check_refused(&["curl", "-sS", "https://other.test/"], "403").await;
    check_refused(&["git", "ls-remote", "https://other.test/repository"], "403").await;
    let urllib = "import urllib.request; urllib.request.urlopen('https://other.test/')";
    let reason = "Tunnel connection failed: 403 other.test:443 was refused: no entry of the allow-list covers this host";
    check_refused(&["python3", "-c", urllib], reason).await;
}

#[tokio::test]
async fn git_and_python_reach_a_listed_host() {
    let refs = format!("{}\trefs/heads/trunk\n", "1".repeat(40));
    let (server, _requests) = web().await;
    let mut rig = Rig::start(&["allowed.test"], server).await;
    let output =
        run(&rig, &["allowed.test"], &["git", "ls-remote", "http://allowed.test/repository", "trunk"]).await;
    assert_eq!(text(&output.stdout), refs, "{output:?}");
    assert_eq!(rig.decision().await.host, "allowed.test");
    let urllib = "import urllib.request; \
                  print(urllib.request.urlopen('http://allowed.test/page').read().decode(), end='')";
    check_reaches(&["python3", "-c", urllib], Protocol::Http, SHOWN).await;
}

#[tokio::test]
async fn a_commands_own_servers_are_reached_without_the_proxy() {
    let (server, _requests) = web().await;
    let rig = Rig::start(&["allowed.test"], server).await;
    for host in ["localhost", "127.0.0.1"] {
        let page = format!("http://{host}:{}/page", server.port());
        let output = run(&rig, &["allowed.test"], &["curl", "-sS4", &page]).await;
        assert_eq!(text(&output.stdout), SHOWN, "{output:?}");
    }
    assert_eq!(rig.stop().await, []);
}
