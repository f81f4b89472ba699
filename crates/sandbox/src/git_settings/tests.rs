//! Changes of a configuration that are permitted and refused, and the parser beside git's own.

use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use windlass_testkit::Scratch;

const BEFORE: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      [remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                      [remote \"bare\"]\n\tfetch = x\n\
                      [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n";

/// The reason of a refused change, without the advice after it.
fn said(before: &str, after: &str) -> String {
    match check_change(before.as_bytes(), after.as_bytes()) {
        Ok(()) => "permitted".to_owned(),
        Err(refused) => refused.to_string().split("; ").next().unwrap_or_default().to_owned(),
    }
}

fn check_added(added: &str, expected: &str) {
    assert_eq!(said(BEFORE, &format!("{BEFORE}{added}")), expected, "{added}");
}

#[test]
fn everyday_settings_can_be_added() {
    for added in [
        "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/y\n",
        "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/main\n\trebase = true\n\tpushRemote = origin\n",
        "[branch \"x\"]\n\tdescription = one\\ntwo\\n\n",
        "[branch \"moved\"]\n\tvscode-merge-base = origin/main\n",
        "[user]\n\tname = A \\\"B\\\" C\n\temail = \"a#b@example.com\"\n",
        "[pull]\n\trebase = merges\n\tff = only\n[push]\n\tdefault = current\n\tautoSetupRemote = true\n",
        "[merge]\n\tff = false\n\tconflictStyle = zdiff3\n[diff]\n\talgorithm = histogram\n\trenames = copies\n",
        "[advice]\n\tdetachedHead = false\n[color]\n\tui = auto\n[color \"branch\"]\n\tcurrent = yellow reverse\n",
        "[gc]\n\tauto = 0\n\tautoDetach = false\n[rerere]\n\tenabled\n[init]\n\tdefaultBranch = main\n",
        "[core]\n\tautocrlf = input\n\tfileMode = false\n[submodule \"s\"]\n\tactive = true\n",
        "# a comment\n\n[rebase]\n\tautoStash = true\n",
    ] {
        check_added(added, "permitted");
    }
}

#[test]
fn settings_that_run_or_redirect_something_cannot_be_added() {
    for (added, setting) in [
        ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
        ("[CORE]\n\tHooksPath = x\n", "core.hookspath"),
        ("[core]\n\tbare = true\n", "core.bare"),
        ("[core] worktree = /h\n", "core.worktree"),
        ("[remote \"origin\"]\n\tpushurl = x\n", "remote.origin.pushurl"),
        ("[remote \"new\"]\n\turl = x\n", "remote.new.url"),
        ("[remote.new]\n\turl = x\n", "remote.new.url"),
        ("[remote]\n\tpushDefault = new\n", "remote.pushdefault"),
        ("[url \"x\"]\n\tinsteadOf = https://example.com\n", "url.x.insteadof"),
        ("[include]\n\tpath = ../x\n", "include.path"),
        ("[includeIf \"gitdir:/\"]\n\tpath = ../x\n", "includeif.gitdir:/.path"),
        ("[extensions]\n\tworktreeConfig = true\n", "extensions.worktreeconfig"),
        ("[credential]\n\thelper = !x\n", "credential.helper"),
        ("[credential]\n\thelper = store\n", "credential.helper"),
        ("[core]\n\tvirtualFilesystem = x\n", "core.virtualfilesystem"),
        ("[alias]\n\tst = reset --hard\n", "alias.st"),
        ("[http]\n\tproxy = x\n", "http.proxy"),
        ("[filter \"x\"]\n\tclean = x\n", "filter.x.clean"),
        ("[alias]\n\tst = status\n", "alias.st"),
        ("[protocol]\n\tallow = always\n", "protocol.allow"),
        ("[gc]\n\trecentObjectsHook = x\n", "gc.recentobjectshook"),
        ("[diff \"x\"]\n\tcommand = x\n", "diff.x.command"),
        ("[diff]\n\texternal = x\n", "diff.external"),
        ("[merge \"x\"]\n\tff = x\n", "merge.x.ff"),
        ("[pull]\n\ttwohead = x\n", "pull.twohead"),
        ("[user]\n\tsigningKey = x\n", "user.signingkey"),
        ("[submodule \"s\"]\n\turl = x\n", "submodule.s.url"),
        ("[submodule \"s\"]\n\tupdate = !x\n", "submodule.s.update"),
        ("[branch \"x\"]\n\tmergeOptions = -s x\n", "branch.x.mergeoptions"),
        ("[core \"\"]\n\tfilemode = true\n", "core..filemode"),
        ("[ \"\"]\n\tx = y\n", "..x"),
    ] {
        check_added(added, &format!("{setting} is the user's setting"));
    }
    assert_eq!(said("", "x = y\n"), "x is the user's setting");
}

#[test]
fn a_branch_only_follows_remotes_that_are_there() {
    let refused = |key: &str| format!("branch.x.{key} can only name a remote of this configuration");
    for value in ["https://evil.example", "../evil", "bare", "ORIGIN", "\"\"", "origin2"] {
        check_added(&format!("[branch \"x\"]\n\tremote = {value}\n"), &refused("remote"));
        check_added(&format!("[branch \"x\"]\n\tpushRemote = {value}\n"), &refused("pushremote"));
    }
    check_added("[branch \"x\"]\n\tremote\n", &refused("remote"));
    let with_address = format!("{BEFORE}[branch \"old\"]\n\tremote = https://example.com/y\n");
    assert_eq!(said(&with_address, &format!("{with_address}[branch \"x\"]\n\tmerge = y\n")), "permitted");
    let renamed = with_address.replace("\"old\"", "\"x\"");
    assert_eq!(said(&with_address, &renamed), refused("remote"));
}

#[test]
fn values_that_git_does_not_know_are_refused() {
    for (added, setting) in [
        ("[push]\n\tdefault = upstream\n", "push.default"),
        ("[push]\n\tdefault = matching\n", "push.default"),
        ("[pull]\n\trebase = x\n", "pull.rebase"),
        ("[gc]\n\tauto = -1\n", "gc.auto"),
        ("[color]\n\tui = $(x)\n", "color.ui"),
        ("[user]\n\tname = a\\nb\n", "user.name"),
        ("[user]\n\tname\n", "user.name"),
        ("[advice]\n\tx = !y\n", "advice.x"),
    ] {
        check_added(added, &format!("{setting} can only have simple values"));
    }
}

#[test]
fn settings_that_are_there_stay_and_in_their_order() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(BEFORE.contains(from), "{from}");
        assert_eq!(said(BEFORE, &BEFORE.replacen(from, to, 1)), expected, "{from} -> {to}");
    };
    check("\turl = https://example.com/x\n", "", "remote.origin.url is the user's setting");
    check("https://example.com/x", "https://example.com/y", "remote.origin.url is the user's setting");
    check("\tbare = false\n", "\tbare\n", "core.bare is the user's setting");
    // Where a setting is repeated, the refusal names the setting after it.
    check("\tbare = false\n", "\tbare = false\n\tbare = false\n", "remote.origin.url is the user's setting");
    check("[remote \"origin\"]", "[remote \"Origin\"]", "remote.Origin.url is the user's setting");
    let swapped = "\tfetch = +refs/heads/*:refs/remotes/origin/*\n\turl = https://example.com/x\n";
    let (url, fetch) = ("\turl = https://example.com/x\n", "\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
    check(&format!("{url}{fetch}"), swapped, "remote.origin.url is the user's setting");
    check("\tfilemode = true\n", "\tfilemode = false\n", "permitted");
    check("\tfilemode = true\n", "", "permitted");
    check("[branch \"main\"]", "[branch \"renamed\"]", "permitted");
    check(
        "\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n",
        "",
        "permitted",
    );
    assert_eq!(said(BEFORE, ""), "core.repositoryformatversion is the user's setting");
    assert_eq!(said("", BEFORE), "core.repositoryformatversion is the user's setting");
    assert_eq!(said("", "[user]\n\tname = x\n"), "permitted");
}

#[test]
fn what_git_cannot_read_is_refused() {
    for after in [
        "[core",
        "x y\n",
        "[a]\nx = \"y\n",
        "[a]\nx = \\q\n",
        "[a b]\n",
        "\0",
        "[user]\nname = x\0y\n",
        "\u{feff}\u{feff}",
    ] {
        assert_eq!(said(BEFORE, after), "git cannot read the new configuration", "{after:?}");
    }
    assert_eq!(said("[core", "[user]\n\tname = x\n"), "git cannot read the configuration that is there");
    assert_eq!(said("[core", "[core"), "permitted");
}

#[test]
fn new_lines_look_as_git_writes_them() {
    for added in [
        "[branch \"x\"] merge = y\n",
        "[branch.x]\n\tmerge = y\n",
        "[branch \"x\"]\n\tmerge = y \\\n\tz\n",
        "[user]\n\tname = x ; [core]\n",
        "[user]\n\tname = x\r\n",
        "[user]\r\n",
        "# x\\\n",
        "[branch \"a\\b\"]\n",
    ] {
        assert!(
            said(BEFORE, &format!("{BEFORE}{added}")).starts_with("git does not write lines"),
            "{added:?}"
        );
    }
    // Lines of the user's own can look like anything.
    let odd = "\u{feff}[core] bare = false ; comment\r\n[a.B]\r\n x = y \\\r\n z\r\n";
    assert_eq!(said(odd, &format!("{odd}[user]\n\tname = x\n")), "permitted");
}

/// Names and values as git lists them; `None`: git refuses the file.
fn read_by_git(bytes: &[u8], file: &Path) -> Option<Vec<Vec<u8>>> {
    std::fs::write(file, bytes).unwrap();
    let output = Command::new("git").args(["config", "--null", "--list", "--file"]).arg(file).output();
    let output = output.expect("git runs");
    output.status.success().then(|| {
        let mut lines: Vec<_> = output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        lines.pop();
        lines
    })
}

fn listed(settings: Vec<Setting>) -> Vec<Vec<u8>> {
    let line = |Setting { name, value }: Setting| match value {
        Some(value) => [name, value].join(&b'\n'),
        None => name,
    };
    settings.into_iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// A difference would be a setting that is judged as another one than git obeys.
    #[test]
    fn configurations_are_read_as_git_reads_them(
        text in "(\u{feff})?(\\[core\\]|\\[a \"b\"\\]|\\[A\\.b \"C\\\\\"d\"\\]|\\[|\\]|key|K-1|=|\"|\\\\|\\\\n|#|;|\r|\t| |\n|\r\n|\n|é){0,20}",
    ) {
        let scratch = Scratch::new("git-settings");
        let found = parse(text.as_bytes()).map(listed);
        prop_assert_eq!(&found, &read_by_git(text.as_bytes(), &scratch.path().join("config")), "{:?}", text);
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_compared(
        before in prop::collection::vec(any::<u8>(), 0..80),
        after in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let _ = check_change(&before, &after);
    }

    #[test]
    fn a_permitted_change_keeps_what_is_not_listed(
        before in "(\\[core\\]\n|\\[branch \"x\"\\]\n|\\[remote \"o\"\\]\n|url = u\n|remote = o\n|bare\n|x = y\n){0,8}",
        after in "(\\[core\\]\n|\\[branch \"x\"\\]\n|\\[remote \"o\"\\]\n|url = u\n|remote = o\n|bare\n|x = y\n){0,8}",
    ) {
        let frozen = |text: &str| -> Vec<Setting> {
            let all = parse(text.as_bytes()).unwrap().into_iter();
            all.filter(|setting| setting.permission() == Permission::Frozen).collect()
        };
        if check_change(before.as_bytes(), after.as_bytes()).is_ok() {
            prop_assert_eq!(frozen(&before), frozen(&after));
        }
    }
}
