//! Plans over trees that exist only in these tests: the access to each place, names that must not be created, and
//! policies that are refused.

use super::*;
use crate::pattern::Pattern;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Component;

/// A tree of files that exists only here: paths that end with `/` are directories, with `->` links.
pub(crate) struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
    sockets: Vec<PathBuf>,
    /// The time at which each was created; 1 by default.
    made: BTreeMap<PathBuf, u64>,
}

enum Entry {
    Directory,
    File(String),
    Link(PathBuf),
}

impl Tree {
    pub(crate) fn of(lines: &[&str]) -> Self {
        let mut tree = Self { entries: BTreeMap::new(), sockets: Vec::new(), made: BTreeMap::new() };
        for line in lines {
            let (path, entry) = match (line.split_once(" -> "), line.split_once(" = ")) {
                (Some((path, target)), _) => (path, Entry::Link(PathBuf::from(target))),
                (_, Some((path, text))) => (path, Entry::File(text.to_owned())),
                _ if line.ends_with('/') => (*line, Entry::Directory),
                _ => (*line, Entry::File(String::new())),
            };
            let path = PathBuf::from(path.trim_end_matches('/'));
            for above in path.ancestors().skip(1) {
                tree.entries.entry(above.to_owned()).or_insert(Entry::Directory);
            }
            tree.entries.insert(path, entry);
        }
        tree
    }
}

impl Files for Tree {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let path = if path == Path::new("/") { path } else { &path.components().collect::<PathBuf>() };
        self.entries.get(path).map(|entry| match entry {
            Entry::Directory => Kind::Directory,
            Entry::File(_) => Kind::File,
            Entry::Link(_) => Kind::Link,
        })
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::Normal(name) => real.push(name),
                Component::ParentDir => drop(real.pop()),
                _ => continue,
            }
            match self.entries.get(&real)? {
                Entry::Link(target) if real.parent()?.join(target) == real => return None,
                Entry::Link(target) => real = self.real(&real.parent()?.join(target))?,
                Entry::Directory | Entry::File(_) => {}
            }
        }
        Some(real)
    }

    fn target(&self, link: &Path) -> Option<PathBuf> {
        match self.entries.get(link)? {
            Entry::Link(target) => Some(target.clone()),
            Entry::Directory | Entry::File(_) => None,
        }
    }

    fn names(&self, directory: &Path) -> Vec<OsString> {
        let inside = self.entries.keys().filter(|path| path.parent() == Some(directory));
        inside.filter_map(|path| path.file_name().map(OsString::from)).collect()
    }

    fn text(&self, file: &Path) -> Option<String> {
        match self.entries.get(file)? {
            Entry::File(text) => Some(text.clone()),
            Entry::Directory | Entry::Link(_) => None,
        }
    }

    fn made_at(&self, path: &Path) -> Option<u64> {
        self.entries.get(path).map(|_| self.made.get(path).copied().unwrap_or(1))
    }

    fn sockets(&self) -> Vec<PathBuf> {
        self.sockets.clone()
    }
}

fn machine() -> Machine {
    Machine { namespaces: Ok(()), landlock: 7, filter: true, supervisor: true, confined: false }
}

fn without_namespaces() -> Machine {
    Machine { namespaces: Err("not permitted".into()), ..machine() }
}

fn surroundings() -> PolicyContext {
    PolicyContext { workspace: "/w".into(), home: Some("/h".into()), ..PolicyContext::default() }
}

fn write() -> Confined {
    Confined::new(Base::WorkspaceWrite)
}

fn planned(confined: &Confined, tree: &Tree) -> Plan {
    plan(confined, &surroundings(), &machine(), tree).unwrap()
}

/// Checks the access to each of these places.
fn check(plan: &Plan, expected: &[(&str, Access)]) {
    for (path, access) in expected {
        let ruling = plan.ruling_at(Path::new(path)).unwrap();
        assert_eq!(ruling.access, *access, "{path}: {ruling:?}");
    }
}

fn must_not_exist(plan: &Plan) -> Vec<String> {
    plan.must_not_exist.iter().map(|must_not_exist| must_not_exist.path.display().to_string()).collect()
}

use Access::{Deny, Read, Write};

#[test]
fn a_pattern_covers_names_that_are_no_text() {
    let mut tree = Tree::of(&["/w/", "/tmp/"]);
    let secret = PathBuf::from(OsStr::from_bytes(b"/w/cl\xe9/\xff.pem"));
    tree.entries.insert(secret.parent().unwrap().to_owned(), Entry::Directory);
    tree.entries.insert(secret.clone(), Entry::File(String::new()));
    let plan = planned(&write().with(Pattern::new("**/*.pem"), Deny), &tree);
    assert_eq!(plan.ruling_at(&secret).unwrap().access, Deny);
}

#[test]
fn read_only_lets_nothing_be_written() {
    let tree = Tree::of(&["/w/", "/tmp/", "/etc/hosts"]);
    let plan = planned(&Confined::new(Base::ReadOnly), &tree);
    check(&plan, &[("/w", Read), ("/tmp/x", Read), ("/etc/hosts", Read), ("/", Read)]);
    assert!(plan.must_not_exist.is_empty());
}

#[test]
fn workspace_write_lets_the_workspace_and_temporary_directories_be_written() {
    let tree = Tree::of(&["/w/src/", "/tmp/", "/own-tmp/", "/etc/hosts"]);
    let surroundings = PolicyContext { temporary: Some("/own-tmp".into()), ..surroundings() };
    let plan = |confined: &Confined| plan(confined, &surroundings, &machine(), &tree).unwrap();
    check(&plan(&write()), &[("/w/src/a", Write), ("/tmp/x", Write), ("/own-tmp/y", Write), ("/etc", Read)]);
    let mut confined = write();
    confined.temporary = crate::policy::Temporary { common: false, own: false };
    check(&plan(&confined), &[("/w/src/a", Write), ("/tmp/x", Read), ("/own-tmp/y", Read)]);
}

#[test]
fn the_most_specific_rule_wins_and_of_two_for_one_place_the_later() {
    let tree = Tree::of(&["/w/vendor/ours/x", "/w/secret/public/y", "/h/.ssh/id"]);
    let confined = write()
        .with(Pattern::new("vendor"), Read)
        .with(Pattern::new("vendor/ours"), Write)
        .with(Pattern::new("secret"), Deny)
        .with(Pattern::new("secret/public"), Read)
        .with(Pattern::new("~/.ssh"), Write)
        .with(Pattern::new("~/.ssh"), Deny);
    let expected = [
        ("/w/vendor/a", Read),
        ("/w/vendor/ours/x", Write),
        ("/w/secret/key", Deny),
        ("/w/secret/public/y", Read),
        ("/h/.ssh/id", Deny),
    ];
    check(&planned(&confined, &tree), &expected);
}

#[test]
fn a_pattern_covers_what_fits_it_now() {
    let tree = Tree::of(&["/w/.env", "/w/a/b/.env", "/w/a/.env.example", "/h/x.pem", "/h/link -> /w/a"]);
    let confined = write().with(Pattern::new("**/.env"), Deny).with(Pattern::new("~/*.pem"), Deny);
    let expected =
        [("/w/.env", Deny), ("/w/a/b/.env", Deny), ("/w/a/.env.example", Write), ("/h/x.pem", Deny)];
    check(&planned(&confined, &tree), &expected);
}

#[test]
fn a_rule_over_a_link_is_about_where_it_leads() {
    let tree = Tree::of(&["/w/", "/h/real/keys/", "/h/keys -> /h/real/keys"]);
    check(&planned(&write().with(Pattern::new("~/keys"), Deny), &tree), &[("/h/real/keys/a", Deny)]);
}

#[test]
fn a_writable_place_that_is_missing_is_left_out_with_a_remark() {
    let tree = Tree::of(&["/w/"]);
    let plan =
        planned(&write().with(Pattern::new("/nowhere"), Write).with(Pattern::new("later"), Write), &tree);
    check(&plan, &[("/nowhere", Read), ("/w/later", Write)]);
    let remark = "`/nowhere` was to be writable, but there is no /nowhere; make the directory first";
    assert_eq!(plan.remarks[0], remark);
    // A command can make it, but not with a repository in it that the next plan would take for the user's.
    assert!(must_not_exist(&plan).contains(&"/w/later/.git".to_owned()), "{:?}", plan.must_not_exist);
}

#[test]
fn what_the_runtime_and_shells_obey_is_unwritable_wherever_it_lies() {
    let lines = [
        "/w/",
        "/h/.bashrc",
        "/h/.profile -> /h/dot/profile",
        "/h/dot/profile",
        "/h/tools/windlass",
        "/h/bin/x",
    ];
    let own_files = OwnFiles {
        program: Some("/h/tools/windlass".into()),
        configuration: vec!["/h/.config/windlass".into()],
        startup: vec!["/h".into()],
        ..OwnFiles::default()
    };
    let surroundings = PolicyContext { own_files, ..surroundings() };
    let home = write().with(Pattern::new("/h"), Write);
    let made = plan(&home, &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    let kept = ["/h/.bashrc", "/h/dot/profile", "/h/tools/windlass", "/h/bin/x"];
    check(&made, &kept.map(|path| (path, Read)));
    check(&made, &[("/h/tools/other", Write)]);
    for path in
        ["/h/.profile", "/h/.bash_profile", "/h/.zshenv", "/h/.config/windlass", "/h/.ssh", "/h/.config/nvim"]
    {
        assert!(must_not_exist(&made).contains(&path.to_owned()), "{path}: {:?}", made.must_not_exist);
    }
    // A rule that names the file itself is the exception.
    let named = home.with(Pattern::new("/h/.bashrc"), Write);
    let made = plan(&named, &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    check(&made, &[("/h/.bashrc", Write), ("/h/tools/windlass", Read)]);
    // A program that was built in the workspace may be built again.
    let own_files = OwnFiles { program: Some("/w/target/windlass".into()), ..OwnFiles::default() };
    let surroundings = PolicyContext { own_files, ..surroundings };
    let made = plan(&write(), &surroundings, &machine(), &Tree::of(&["/w/target/windlass"])).unwrap();
    check(&made, &[("/w/target/windlass", Write)]);
}

#[test]
fn a_writable_part_of_the_home_opens_nothing_that_programs_of_the_user_obey() {
    let lines = [
        "/h/.cargo/bin/cargo",
        "/h/.cargo/registry/",
        "/h/.config -> dot",
        "/h/dot/nvim/",
        "/h/.m2 -> /far/m2",
        "/far/m2/",
    ];
    let own_files = OwnFiles { startup: vec!["/h".into()], ..OwnFiles::default() };
    let surroundings = PolicyContext { own_files, ..surroundings() };
    let planned = |place: &str, workspace: &str| {
        let surroundings = PolicyContext { workspace: workspace.into(), ..surroundings.clone() };
        let confined = match place {
            "" => write(),
            place => write().with(Pattern::new(place), Write),
        };
        plan(&confined, &surroundings, &machine(), &Tree::of(&[&lines[..], &["/w/"]].concat())).unwrap()
    };
    let cargo = planned("~/.cargo", "/w");
    check(&cargo, &[("/h/.cargo/bin/x", Read), ("/h/.cargo/registry/x", Write), ("/h/.cargo/other", Write)]);
    assert!(
        must_not_exist(&cargo).contains(&"/h/.cargo/config.toml".to_owned()),
        "{:?}",
        cargo.must_not_exist
    );
    check(&planned("~/.cargo/bin", "/w"), &[("/h/.cargo/bin/x", Write)]);
    let behind_a_link = planned("~/.m2", "/w");
    check(&behind_a_link, &[("/far/m2/repository", Write)]);
    assert!(
        must_not_exist(&behind_a_link).contains(&"/far/m2/settings.xml".to_owned()),
        "{:?}",
        behind_a_link.must_not_exist
    );
    // A directory of settings that is the workspace, because its files are the work, is open behind a link.
    check(&planned("", "/h/dot"), &[("/h/dot/nvim/x", Write)]);
    check(&planned("", "/h/.cargo"), &[("/h/.cargo/bin/x", Read), ("/h/.cargo/registry/x", Write)]);
}

#[test]
fn directories_on_the_path_are_unwritable_and_those_of_the_project_stay_writable() {
    let lines = ["/w/.venv/bin/python", "/w/node_modules/.bin/x", "/w/target/", "/w/tools/", "/w/l -> tools"];
    let search_path = ["/usr/bin", "/w/.venv/bin", "/w/l", "/w/missing/bin", "/w"].map(Into::into).to_vec();
    let own_files = OwnFiles { search_path, ..OwnFiles::default() };
    let surroundings = PolicyContext { own_files, ..surroundings() };
    let made = plan(&write(), &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    check(&made, &[("/w/.venv/bin/python", Read), ("/w/tools/x", Read)]);
    check(
        &made,
        &[
            ("/w/node_modules/.bin/x", Write),
            ("/w/target/x", Write),
            ("/w/.venv/lib", Write),
            ("/w/x", Write),
        ],
    );
    for path in ["/w/l", "/w/missing/bin"] {
        assert!(must_not_exist(&made).contains(&path.to_owned()), "{path}: {:?}", made.must_not_exist);
    }
    let named = write().with(Pattern::new("/w/.venv/bin"), Write);
    let made = plan(&named, &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    check(&made, &[("/w/.venv/bin/python", Write), ("/w/tools/x", Read)]);
}

#[test]
fn files_with_secrets_of_the_runtime_are_hidden_whatever_the_rules_say() {
    let lines = ["/w/token", "/w/current -> /h/keys/1", "/h/keys/1", "/h/keys/2"];
    let secrets = ["/w/token", "/w/current", "/w/replaced"].map(Into::into).to_vec();
    let own_files = OwnFiles { secrets, ..OwnFiles::default() };
    let surroundings = PolicyContext { own_files, ..surroundings() };
    let allowed = write().with(Pattern::new("token"), Write).with(Pattern::new("/h"), Write);
    let made = plan(&allowed, &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    check(&made, &[("/w/token", Deny), ("/h/keys/1", Deny), ("/h/keys/2", Write)]);
    for path in ["/w/current", "/w/replaced"] {
        assert!(must_not_exist(&made).contains(&path.to_owned()), "{path}: {:?}", made.must_not_exist);
    }
}

#[test]
fn opens_are_judged_for_what_has_content_and_can_be_seen() {
    let lines = ["/s/keepers/", "/run/secrets/token", "/h/token", "/w/"];
    let surroundings = |secret: &str| PolicyContext {
        doors: vec!["/s/keepers".into()],
        own_files: OwnFiles { secrets: vec![secret.into()], ..OwnFiles::default() },
        ..surroundings()
    };
    let reads = |confined: &Confined, machine: &Machine, secret: &str| {
        let made = plan(confined, &surroundings(secret), machine, &Tree::of(&lines)).unwrap();
        assert_eq!(made.ruling_at(Path::new("/s/keepers/1.sock")).unwrap().access, Deny);
        let judged = made.rulings.iter().any(Ruling::hides_content);
        assert_eq!(made.readable.is_some(), judged && !made.has(Layer::Namespaces));
        judged
    };
    let with_run = write().with(Pattern::new("/run"), Write);
    for (confined, machine, secret, expected) in [
        (write(), machine(), "/s/none", false),
        (write(), without_namespaces(), "/s/none", false),
        (write(), machine(), "/run/secrets/token", false),
        (with_run, machine(), "/run/secrets/token", true),
        (write(), without_namespaces(), "/run/secrets/token", true),
        (write(), machine(), "/h/token", true),
    ] {
        assert_eq!(reads(&confined, &machine, secret), expected, "{secret} {:?}", machine.namespaces);
    }
}

#[test]
fn what_a_repositorys_configuration_makes_git_obey_stays_as_it_is() {
    let config = "[core]\n\thooksPath = .husky\n\tfsmonitor = tools/watch\n[include]\n\tpath = ../shared.cfg\n\
                  [filter \"x\"]\n\tclean = python3 clean.py\n";
    let tree = Tree::of(&[
        "/w/.git/HEAD",
        &format!("/w/.git/config = {config}"),
        "/w/.husky/pre-commit",
        "/w/shared.cfg = [core]\n\tsshCommand = ./deploy/ssh\n",
        "/w/clean.py",
        "/h/.gitconfig = [core]\n\thooksPath = .githooks\n",
        "/w/.githooks/",
    ]);
    let plan = planned(&write(), &tree);
    let kept = ["/w/.husky/pre-commit", "/w/shared.cfg", "/w/clean.py", "/w/.githooks/pre-push"];
    check(&plan, &kept.map(|path| (path, Read)));
    check(&plan, &[("/w/src/main.rs", Write), ("/w/.git/objects/x", Write)]);
    for missing in ["/w/tools/watch", "/w/deploy/ssh"] {
        assert!(must_not_exist(&plan).contains(&missing.to_owned()), "{missing}: {:?}", plan.must_not_exist);
    }
    assert_eq!(plan.repositories, [Repository { git_dir: "/w/.git".into(), work_tree: "/w".into() }]);
}

#[test]
fn repositories_that_are_too_many_to_look_through_are_kept_as_they_are() {
    let lines: Vec<String> = (0..3000).map(|number| format!("/w/.git/modules/m{number}/HEAD")).collect();
    let lines: Vec<&str> = ["/w/.git/HEAD"].into_iter().chain(lines.iter().map(String::as_str)).collect();
    let plan = planned(&write(), &Tree::of(&lines));
    check(&plan, &[("/w/.git/modules/1/config", Read), ("/w/.git/objects", Write)]);
    assert!(plan.remarks[0].starts_with("/w/.git/modules has more than"), "{:?}", plan.remarks);
}

#[test]
fn a_machine_without_namespaces_says_so_with_every_plan() {
    let made = plan(&write(), &surroundings(), &without_namespaces(), &Tree::of(&["/w/"])).unwrap();
    assert!(made.remarks[0].contains("without namespaces (not permitted)"), "{:?}", made.remarks);
    assert!(planned(&write(), &Tree::of(&["/w/"])).remarks.is_empty());
}

#[test]
fn settings_of_agents_stay_as_they_are_and_do_not_come_into_being() {
    let tree = Tree::of(&["/w/.codex/config.toml"]);
    let plan = planned(&write(), &tree);
    check(&plan, &[("/w/.codex/config.toml", Read), ("/w/other", Write)]);
    assert_eq!(must_not_exist(&plan), ["/w/.agents", "/w/.windlass", "/w/HEAD"]);
}

#[test]
fn in_a_repository_only_what_gives_orders_is_protected() {
    let tree = Tree::of(&["/w/.git/HEAD", "/w/.git/config", "/w/.git/hooks/", "/w/.git/objects/"]);
    let plan = planned(&write(), &tree);
    let expected =
        [("/w/.git/objects/ab/cd", Write), ("/w/.git/index", Write), ("/w/.git/hooks/pre-commit", Read)];
    check(&plan, &expected);
    check_judged(&plan, "/w/.git/config");
    check_judged(&plan, "/w/.git/config.worktree");
    assert!(plan.rulings.iter().any(|ruling| ruling.path == Path::new("/w/.git") && ruling.pinned));
    let must_not_exist = must_not_exist(&plan);
    assert!(must_not_exist.iter().any(|it| it == "/w/.git/commondir"), "{must_not_exist:?}");
    assert!(!must_not_exist.iter().any(|it| it == "/w/.git"), "{must_not_exist:?}");
}

/// Whether the content of a configuration is judged, and nothing else keeps it.
fn check_judged(plan: &Plan, path: &str) {
    assert!(plan.judged_configurations().any(|it| it == Path::new(path)), "{path}: {plan:?}");
    assert!(!must_not_exist(plan).iter().any(|it| it == path), "{path}: {plan:?}");
}

#[test]
fn a_configuration_that_cannot_be_judged_stays_as_it_is() {
    let lines = ["/w/.git/HEAD", "/w/.git/config", "/w/.git/hooks/"];
    let alone = Machine { supervisor: false, ..machine() };
    let kept = plan(&write(), &surroundings(), &alone, &Tree::of(&lines)).unwrap();
    check(&kept, &[("/w/.git/config", Read)]);
    assert!(must_not_exist(&kept).contains(&"/w/.git/config.worktree".to_owned()));
    // Other programs may read what a link leads to.
    let lines = ["/w/.git/HEAD", "/w/.git/config -> ../shared", "/w/shared"];
    let kept = planned(&write(), &Tree::of(&lines));
    check(&kept, &[("/w/shared", Read)]);
    assert!(must_not_exist(&kept).contains(&"/w/.git/config".to_owned()));
    // A rule about the file says what holds.
    for (access, rule) in [(Read, "read"), (Write, "write"), (Deny, "deny")] {
        let confined = write().with(Pattern::new(".git/config"), access);
        let kept = planned(&confined, &Tree::of(&["/w/.git/HEAD", "/w/.git/config"]));
        check(&kept, &[("/w/.git/config", access)]);
        assert!(!kept.judged_configurations().any(|it| it == Path::new("/w/.git/config")), "{rule}");
    }
}

#[test]
fn a_linked_worktree_obeys_the_configuration_that_all_have_in_common() {
    let tree = Tree::of(&[
        "/w/.git = gitdir: /r/.git/worktrees/w\n",
        "/w/.gh/",
        "/r/.git/HEAD",
        "/r/.git/objects/",
        "/r/.git/refs/",
        "/r/.git/config = [core]\n\thooksPath = .gh\n",
        "/r/.git/worktrees/w/HEAD",
        "/r/.git/worktrees/w/commondir = ../..\n",
        "/r/.git/worktrees/w/gitdir = /w/.git\n",
    ]);
    let plan = planned(&write(), &tree);
    check(&plan, &[("/w/.gh", Read), ("/w/src", Write)]);
}

#[test]
fn worktrees_that_commands_added_can_be_removed() {
    let lines = [
        "/w/.git/HEAD",
        "/w/.git/worktrees/old/HEAD",
        "/w/.git/worktrees/old/commondir = ../..\n",
        "/w/.git/worktrees/old/gitdir = /w/old/.git\n",
        "/w/.git/worktrees/new/HEAD",
        "/w/.git/worktrees/new/commondir = ../..\n",
        "/w/.git/worktrees/new/gitdir = /w/new/.git\n",
        "/w/.git/modules/new/HEAD",
        "/w/.git/modules/new/config",
        "/w/.git/worktrees/odd/HEAD",
        "/w/.git/worktrees/odd/commondir",
        "/w/.git/worktrees/odd/gitdir",
        "/w/.git/worktrees/odd/objects/",
    ];
    let mut tree = Tree::of(&lines);
    for young in ["worktrees/new", "modules/new", "worktrees/odd"] {
        tree.made.insert(Path::new("/w/.git").join(young), 7);
    }
    let made = |began| {
        let surroundings = PolicyContext { runtime_began: began, ..surroundings() };
        plan(&write(), &surroundings, &machine(), &tree).unwrap()
    };
    let later = made(Some(5));
    check(&later, &[("/w/.git/worktrees/new/commondir", Write), ("/w/.git/worktrees/old/commondir", Read)]);
    check(&later, &[("/w/.git/modules/new/config", Read), ("/w/.git/worktrees/odd/commondir", Read)]);
    assert!(!later.rulings.iter().any(|ruling| ruling.path == Path::new("/w/.git/worktrees/new")));
    // The clock of file systems stands still between two ticks, so one of the same tick may have been there before.
    for earlier in [Some(7), Some(8), None] {
        check(&made(earlier), &[("/w/.git/worktrees/new/commondir", Read)]);
    }
}

#[test]
fn repositories_within_a_repository_are_protected_too() {
    let lines = ["/w/.git/HEAD", "/w/.git/modules/lib/a/HEAD", "/w/.git/modules/lib/a/config"];
    let plan = planned(&write(), &Tree::of(&lines));
    check(&plan, &[("/w/.git/modules/lib/a/config", Read), ("/w/.git/modules/lib/a/index", Write)]);
    assert!(must_not_exist(&plan).iter().any(|it| it == "/w/.git/modules/lib/a/hooks"));
}

#[test]
fn a_repository_elsewhere_is_found_through_its_file() {
    let lines = ["/w/.git = gitdir: /w/store/main\n", "/w/store/main/HEAD", "/w/store/main/config"];
    let plan = planned(&write(), &Tree::of(&lines));
    check(&plan, &[("/w/.git", Read), ("/w/store/main/index", Write)]);
    check_judged(&plan, "/w/store/main/config");
}

#[test]
fn a_link_to_a_repository_cannot_be_replaced() {
    let lines = ["/w/.git -> /w/elsewhere", "/w/elsewhere/HEAD", "/w/elsewhere/config"];
    let plan = planned(&write(), &Tree::of(&lines));
    check_judged(&plan, "/w/elsewhere/config");
    assert!(must_not_exist(&plan).iter().any(|it| it == "/w/.git"));
}

/// A command made such a link, and the next one could read what was denied.
#[test]
fn protecting_what_a_link_leads_to_lets_nobody_read_what_is_denied() {
    let lines = [
        "/w/.git/HEAD",
        "/w/.git/modules/e/HEAD",
        "/w/.git/modules/e/config -> /h/secret",
        "/w/.git/modules/e/hooks -> /h/open",
        "/h/secret",
        "/h/open/",
    ];
    let plan = planned(&write().with(Pattern::new("/h/secret"), Deny), &Tree::of(&lines));
    check(&plan, &[("/h/secret", Deny), ("/h/open/x", Read)]);
    assert!(!plan.rulings.iter().any(|ruling| ruling.path == Path::new("/h/open")), "it needs no ruling");
}

/// A regression: no command could be started in such a project any more.
#[test]
fn a_link_among_inner_repositories_is_none_unless_it_leads_to_what_can_be_changed() {
    let lines = [
        "/w/.git/HEAD",
        "/w/.git/modules/out -> /h/r",
        "/w/.git/modules/in -> /w/r",
        "/h/r/HEAD",
        "/w/r/HEAD",
        "/w/r/config",
    ];
    let plan = planned(&write(), &Tree::of(&lines));
    let ruled = |path: &str| plan.rulings.iter().any(|ruling| ruling.path == Path::new(path));
    assert!(!ruled("/w/.git/modules/out") && !ruled("/h/r") && !ruled("/w/.git/modules/in"));
    check(&plan, &[("/w/r/config", Read), ("/w/r/index", Write)]);
}

#[test]
fn what_is_denied_stays_denied_where_something_is_protected_or_kept() {
    let lines = ["/w/.git/HEAD", "/w/.git/config", "/w/.git/hooks/a", "/w/.codex/c", "/h/state/1001.out"];
    let tree = Tree::of(&lines);
    let check_denied = |rule: &str, denied: &str| {
        let surroundings = PolicyContext { kept: vec!["/h/state".into()], ..surroundings() };
        let confined = write().with(Pattern::new(rule), Deny);
        check(&plan(&confined, &surroundings, &machine(), &tree).unwrap(), &[(denied, Deny)]);
    };
    check_denied("/w/.git/config", "/w/.git/config");
    check_denied("/w/.git/con*", "/w/.git/config");
    check_denied("/w/.codex", "/w/.codex/c");
    for inside in ["/w/.git/config", "/w/.git/hooks/a", "/w/.git/HEAD"] {
        check_denied("/w/.git", inside);
    }
    check_denied("/h/state", "/h/state/1001.out");
    check_denied("/h", "/h/state/1001.out");
}

#[test]
fn a_pattern_that_begins_at_a_link_covers_what_is_behind_it() {
    let tree = Tree::of(&["/w/.env", "/w/sub/.env", "/way -> /w", "/tmp/"]);
    let denied = [("/w/.env", Deny), ("/w/sub/.env", Deny)];
    check(&planned(&write().with(Pattern::new("/way/**/.env"), Deny), &tree), &denied);
    let surroundings = PolicyContext { workspace: "/way".into(), ..surroundings() };
    let confined = write().with(Pattern::new("**/.env"), Deny);
    check(&plan(&confined, &surroundings, &machine(), &tree).unwrap(), &denied);
}

#[test]
fn a_path_that_is_no_text_is_that_path() {
    let mut tree = Tree::of(&["/w/", "/tmp/"]);
    let secret = PathBuf::from(OsStr::from_bytes(b"/w/s\xffcret"));
    tree.entries.insert(secret.clone(), Entry::File(String::new()));
    let plan = planned(&write().with(Pattern::plain(&secret), Deny), &tree);
    assert_eq!(plan.ruling_at(&secret).unwrap().access, Deny);
}

#[test]
fn what_may_not_be_changed_and_is_not_there_does_not_come_into_being() {
    let tree = Tree::of(&["/w/", "/h/", "/tmp/"]);
    let confined = write()
        .with(Pattern::new("later"), Deny)
        .with(Pattern::new("kept/deep/er"), Read)
        .with(Pattern::new("/h/nowhere"), Deny);
    let must_not_exist = must_not_exist(&planned(&confined, &tree));
    assert!(
        must_not_exist.starts_with(&["/w/later".to_owned(), "/w/kept/deep/er".to_owned()]),
        "{must_not_exist:?}"
    );
    assert!(
        !must_not_exist.iter().any(|it| it.starts_with("/h")),
        "nothing comes into being there: {must_not_exist:?}"
    );
}

/// A command exchanged such a link, and the next one could read what it had led to.
#[test]
fn links_that_rules_are_about_stay_what_they_are() {
    let lines = [
        "/w/link -> target",
        "/w/target",
        "/w/conf -> v1",
        "/w/v1/secret",
        "/w/d/.env -> ../real",
        "/w/real",
        "/w/cache -> /h/cache",
        "/h/cache/",
        "/w/gone -> not/there",
        "/h/away -> /w/link",
    ];
    let confined = write()
        .with(Pattern::new("link"), Deny)
        .with(Pattern::new("conf/secret"), Deny)
        .with(Pattern::new("**/.env"), Deny)
        .with(Pattern::new("cache"), Write)
        .with(Pattern::new("gone"), Read)
        .with(Pattern::new("~/away"), Deny);
    let plan = planned(&confined, &Tree::of(&lines));
    // A command before this one could have made the link.
    check(&plan, &[("/w/target", Deny), ("/w/v1/secret", Deny), ("/w/real", Deny), ("/h/cache/x", Read)]);
    assert_eq!(plan.remarks.len(), 1, "{:?}", plan.remarks);
    let must_not_exist = must_not_exist(&plan);
    for kept in ["/w/link", "/w/conf", "/w/d/.env", "/w/gone", "/w/not/there"] {
        assert!(must_not_exist.iter().any(|it| it == kept), "{kept}: {must_not_exist:?}");
    }
    assert!(!must_not_exist.iter().any(|it| it == "/h/away"), "nothing is changed there: {must_not_exist:?}");
}

/// Every directory of a repository was pinned, also those that were hidden, and then could not be found.
#[test]
fn what_is_hidden_is_not_pinned() {
    let lines = ["/w/.git/HEAD", "/w/.git/modules/a/HEAD", "/w/.git/worktrees/b/HEAD", "/w/.git/config"];
    for (rule, hidden) in [(".git", "/w/.git/modules"), ("**/worktrees", "/w/.git/worktrees")] {
        let plan = planned(&write().with(Pattern::new(rule), Deny), &Tree::of(&lines));
        check(&plan, &[(hidden, Deny)]);
        let below = |ruling: &&Ruling| ruling.path.starts_with(hidden) && ruling.pinned;
        assert_eq!(plan.rulings.iter().find(below), None, "{rule}");
    }
}

/// Links in it made planning take minutes.
#[test]
fn repositories_within_a_repository_are_looked_at_once_however_they_are_linked() {
    let mut lines = vec!["/w/.git/HEAD".to_owned(), "/w/.git/modules/real/HEAD".to_owned()];
    lines.extend((0..200).map(|number| format!("/w/.git/modules/l{number} -> ../modules")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let plan = planned(&write(), &Tree::of(&lines));
    let pinned: Vec<_> = plan.rulings.iter().filter(|ruling| ruling.pinned).map(|it| &it.path).collect();
    assert_eq!(pinned, ["/w/.git", "/w/.git/modules", "/w/.git/modules/real"].map(Path::new));
}

/// A command made such links, and the next one could read and change what they led to.
#[test]
fn a_link_that_fits_a_pattern_opens_nothing() {
    let lines = [
        "/w/pkgs/a/cache/x",
        "/w/pkgs/e/cache -> /h/out",
        "/h/out/",
        "/w/conf/x",
        "/w/x/conf -> /h/hid/sub",
        "/w/y/conf -> ../secret/sub",
        "/w/z/conf -> ../plain",
        "/w/v/conf -> nowhere",
        "/w/plain/",
        "/h/hid/sub/",
        "/w/secret/sub/",
    ];
    let confined = write()
        .with(Pattern::new("/h/hid"), Deny)
        .with(Pattern::new("secret"), Deny)
        .with(Pattern::new("**/conf"), Read)
        .with(Pattern::new("pkgs/*/cache"), Write);
    let plan = planned(&confined, &Tree::of(&lines));
    check(
        &plan,
        &[("/h/out/x", Read), ("/h/hid/sub/x", Deny), ("/w/secret/sub/x", Deny), ("/w/conf/x", Read)],
    );
    check(&plan, &[("/w/plain/x", Read), ("/w/pkgs/a/cache/x", Write), ("/w/v/x", Write)]);
    // Whatever their order.
    let confined = write().with(Pattern::new("**/conf"), Read).with(Pattern::new("secret"), Deny);
    check(&planned(&confined, &Tree::of(&lines)), &[("/w/secret/sub/x", Deny), ("/w/plain/x", Read)]);
}

#[test]
fn a_temporary_directory_that_is_not_there_can_be_made_and_not_linked() {
    let surroundings = PolicyContext { temporary: Some("/w/tmp".into()), ..surroundings() };
    let plan = plan(&write(), &surroundings, &machine(), &Tree::of(&["/w/", "/tmp/"])).unwrap();
    let must_not_exist = must_not_exist(&plan);
    assert!(
        must_not_exist.iter().any(|it| it == "/w/tmp/.git")
            && !must_not_exist.iter().any(|it| it == "/w/tmp")
    );
}

/// The ruling for a path that a link turned into a repository looked like one of the user's rules.
#[test]
fn whatever_is_linked_to_be_a_repository_stays_protected_in_its_own() {
    let lines = ["/w/.git/HEAD", "/w/.git/config", "/w/.git/hooks/a", "/w/tmp/.git -> ../.git/hooks"];
    let surroundings = PolicyContext { temporary: Some("/w/tmp".into()), ..surroundings() };
    let plan = plan(&write(), &surroundings, &machine(), &Tree::of(&lines)).unwrap();
    check(&plan, &[("/w/.git/hooks/pre-commit", Read), ("/w/tmp/x", Write)]);
    check_judged(&plan, "/w/.git/config");
}

#[test]
fn a_repository_is_known_by_what_cannot_be_taken_from_it() {
    let lines = [
        "/w/.git/HEAD",
        "/w/.git/modules/sub/config",
        "/w/.git/modules/sub/objects/ab/",
        "/w/.git/modules/libs/HEAD",
        "/w/.git/modules/libs/foo/HEAD",
        "/w/.git/modules/libs/foo/config",
        "/w/.git/modules/a/b/c/l -> ../../../deep",
        "/w/.git/modules/deep/er/HEAD",
        "/w/.git/modules/deep/er/config",
    ];
    let plan = planned(&write(), &Tree::of(&lines));
    for repository in ["sub", "libs/foo", "deep/er"] {
        let config = format!("/w/.git/modules/{repository}/config");
        check(&plan, &[(&config, Read)]);
        assert!(
            must_not_exist(&plan).contains(&format!("/w/.git/modules/{repository}/hooks")),
            "{repository}"
        );
    }
    assert!(must_not_exist(&plan).contains(&"/w/.git/worktrees/HEAD".to_owned()), "nothing takes its place");
    // A repository whose own directory is the workspace, without `HEAD`.
    let plan = planned(&write(), &Tree::of(&["/w/objects/", "/w/refs/", "/w/config", "/w/hooks/a"]));
    check(&plan, &[("/w/hooks/a", Read), ("/w/objects/x", Write)]);
    check_judged(&plan, "/w/config");
    assert!(plan.rulings.iter().any(|ruling| ruling.path == Path::new("/w/objects") && ruling.pinned));
}

#[test]
fn a_directory_that_a_rule_only_passes_stays_where_it_is() {
    let lines = ["/w/link -> p/../secret", "/w/p/", "/w/secret"];
    let plan = planned(&write().with(Pattern::new("link"), Deny), &Tree::of(&lines));
    check(&plan, &[("/w/secret", Deny)]);
    assert!(must_not_exist(&plan).contains(&"/w/p".to_owned()));
}

#[test]
fn links_on_the_way_to_a_hidden_socket_stay() {
    let mut tree = Tree::of(&["/tmp/l -> r", "/tmp/r/socket", "/w/"]);
    tree.sockets = vec!["/tmp/l/socket".into()];
    tree.entries.insert("/tmp/l/socket".into(), Entry::File(String::new()));
    let plan = planned(&write(), &tree);
    assert_eq!(plan.sockets, [PathBuf::from("/tmp/r/socket")]);
    assert!(must_not_exist(&plan).contains(&"/tmp/l".to_owned()));
}

#[test]
fn the_hooks_that_a_repository_lacks_are_not_made_where_a_link_leads() {
    let lines = ["/w/.git/HEAD", "/w/.git/hooks -> ../later/hooks"];
    let must_not_exist = must_not_exist(&planned(&write(), &Tree::of(&lines)));
    for kept in ["/w/.git/hooks", "/w/later/hooks"] {
        assert!(must_not_exist.iter().any(|it| it == kept), "{kept}: {must_not_exist:?}");
    }
}

#[test]
fn what_the_runtime_keeps_is_nobodys_to_change() {
    let tree = Tree::of(&["/w/state/"]);
    let surroundings = PolicyContext { kept: vec!["/w/state".into()], ..surroundings() };
    let plan = plan(&write(), &surroundings, &machine(), &tree).unwrap();
    check(&plan, &[("/w/state/1001.out", Read), ("/w/x", Write)]);
}

#[test]
fn sockets_of_others_are_hidden_and_those_of_the_workspace_are_not() {
    let mut tree = Tree::of(&["/w/own.sock", "/tmp/agent.1", "/h/s.sock", "/run/docker.sock"]);
    tree.sockets =
        ["/w/own.sock", "/tmp/agent.1", "/h/s.sock", "/run/docker.sock", "/gone"].map(PathBuf::from).into();
    let expected = ["/tmp/agent.1", "/h/s.sock"].map(PathBuf::from);
    assert_eq!(planned(&write(), &tree).sockets, expected);
}

#[test]
fn without_namespaces_the_rest_of_the_tree_is_listed_where_something_may_not_be_read() {
    let tree = Tree::of(&["/w/", "/h/.ssh/id", "/h/.bashrc", "/usr/", "/tmp/"]);
    let confined = write().with(Pattern::new("~/.ssh"), Deny);
    let plan = plan(&confined, &surroundings(), &without_namespaces(), &tree).unwrap();
    let expected = ["/h/.bashrc", "/tmp", "/usr", "/w"].map(PathBuf::from);
    assert_eq!(plan.readable, Some(expected.to_vec()));
    assert!(!plan.differences.is_empty());
}

#[test]
fn a_policy_that_the_machine_cannot_enforce_is_refused_with_what_is_missing() {
    let tree = Tree::of(&["/w/"]);
    let check = |machine: Machine, network: Network, words: &[&str]| {
        let confined = write().with_network(network);
        let error = plan(&confined, &surroundings(), &machine, &tree).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    };
    check(Machine { filter: false, ..machine() }, Network::Off, &["seccomp"]);
    let nested = Machine { confined: true, landlock: 0, ..without_namespaces() };
    check(nested, Network::Off, &["already in force", "the policy `external`"]);
    check(Machine { landlock: 1, ..without_namespaces() }, Network::Off, &["Landlock 2", "not permitted"]);
    check(Machine { supervisor: false, ..without_namespaces() }, Network::Off, &["supervisor"]);
    check(
        without_namespaces(),
        Network::Loopback,
        &["network loopback", "network namespace", "the network `off` or `on`"],
    );
    assert!(plan(&write().with_network(Network::On), &surroundings(), &without_namespaces(), &tree).is_ok());
}

/// Checks the sentences about unix sockets that a plan has on machines with namespaces.
#[test]
fn sockets_that_the_kernel_does_not_keep_a_command_from_are_listed_as_differences() {
    const ALONE: &str = "only the supervisor";
    const ABSTRACT: &str = "commands can connect to abstract unix sockets";
    const LATER: &str = "bind in writable places after the command has started";
    let tree = Tree::of(&["/w/"]);
    let check = |(landlock, supervisor, network): (u32, bool, Network), expected: &[&str]| {
        let machine = Machine { landlock, supervisor, ..machine() };
        let confined = write().with_network(network.clone());
        let differences = plan(&confined, &surroundings(), &machine, &tree).unwrap().differences;
        let said: Vec<_> = differences.iter().filter(|it| it.contains("unix sockets")).collect();
        assert_eq!(said.len(), expected.len(), "{landlock} {supervisor} {network:?}: {said:?}");
        assert!(expected.iter().all(|text| said.iter().any(|it| it.contains(text))), "{said:?}");
    };
    check((7, true, Network::On), &[]);
    check((5, true, Network::Off), &[]);
    check((5, true, Network::On), &[ALONE]);
    check((5, false, Network::On), &[ABSTRACT, LATER]);
    check((7, false, Network::On), &[LATER]);
    check((5, false, Network::Off), &[LATER]);
    check((9, false, Network::On), &[]);
    let fallback = Machine { landlock: 5, ..without_namespaces() };
    let confined = write().with_network(Network::On);
    let differences = plan(&confined, &surroundings(), &fallback, &tree).unwrap().differences;
    assert!(
        differences.iter().any(|it| it.contains("unix sockets") && it.contains(ALONE)),
        "{differences:?}"
    );
}

#[test]
fn a_plan_is_explained_line_by_line() {
    let tree = Tree::of(&["/w/.git/HEAD", "/w/.git/config", "/w/.git/branches/", "/tmp/"]);
    let text = crate::explain::Explanation(&planned(&write(), &tree)).to_string();
    for line in [
        "policy    workspace-write",
        "layers    namespaces, network namespace, landlock 7, seccomp, supervisor",
        "writable  /w  [workspace-write: the workspace; namespaces, landlock]",
        "read only /w/.git/branches  [protected: git takes addresses of remotes from it; namespaces, landlock]",
        "judged    /w/.git/config  [content is checked: everyday settings can be changed, others cannot; supervisor]",
        "unchanged /w/.git/hooks  [protected: git runs the programs in it (hooks); supervisor]",
        "network   off  [network namespace]",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
}

#[test]
fn no_server_is_started_where_tmux_would_obey_it() {
    let place = format!("/tmp/tmux-{}", rustix::process::getuid().as_raw());
    let missing = planned(&write(), &Tree::of(&["/w/", "/tmp/"]));
    assert!(must_not_exist(&missing).contains(&place), "{missing:?}");
    let tree = Tree::of(&["/w/", &format!("{place}/")]);
    let there = planned(&write(), &tree);
    check(&there, &[(&format!("{place}/default"), Read), ("/tmp/other", Write)]);
    let asked_for = planned(&write().with(Pattern::new(&place), Write), &tree);
    check(&asked_for, &[(&format!("{place}/default"), Write)]);
}

#[test]
fn a_socket_that_a_rule_names_is_not_hidden() {
    let mut tree = Tree::of(&["/w/", "/tmp/used", "/tmp/other"]);
    tree.sockets = vec!["/tmp/used".into(), "/tmp/other".into()];
    let confined = write().with(Pattern::new("/tmp/used"), Write);
    assert_eq!(planned(&confined, &tree).sockets, [PathBuf::from("/tmp/other")]);
}
