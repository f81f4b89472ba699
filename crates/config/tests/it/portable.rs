//! The portable file: files written by the real `age` can be read, an import restores an export, and nothing is written
//! elsewhere.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use proptest::prelude::*;
use windlass_config::portable::{
    AgeError, ArchiveError, Existing, ExportError, ExportOptions, ImportError, ImportOptions, Secrets,
    WorkFactor, export, import,
};

use windlass_config::{Request, load};

use crate::world::World;

/// Made with age 1.1.1 of Debian (`age -p`, `age -p -a`, `age -r`) from tars of this crate. The passphrase is below.
const BY_AGE: &[u8] = include_bytes!("age/settings.age");
const BY_AGE_ARMOURED: &[u8] = include_bytes!("age/armoured.age");
const BY_AGE_TWO_CHUNKS: &[u8] = include_bytes!("age/two-chunks.age");
const BY_AGE_TO_A_KEY: &[u8] = include_bytes!("age/to-a-key.age");
const PASSPHRASE: &str = "correct horse";

fn exporting(secrets: Secrets) -> ExportOptions {
    ExportOptions { passphrase: PASSPHRASE.into(), secrets, work: WorkFactor(4) }
}

fn importing(existing: Existing) -> ImportOptions {
    ImportOptions { passphrase: PASSPHRASE.into(), existing }
}

#[test]
fn what_age_wrote_is_read() {
    for bytes in [BY_AGE, BY_AGE_ARMOURED] {
        let world = World::new("by-age");
        let imported = import(bytes, &world.places, &importing(Existing::Refuse)).unwrap();
        assert_eq!(imported.added.len(), 4);
        assert_eq!(world.read("home/.config/windlass/config.toml"), "model = \"gpt-x\" # the one\n");
        assert_eq!(world.read("home/.config/windlass/AGENTS.md"), "Be kind.\n");
        let script = world.root().join("home/.config/windlass/skills/greet/hello.sh");
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(world.load().settings.model.as_deref(), Some("gpt-x"));
    }
}

#[test]
fn what_age_wrote_in_two_chunks_is_read_and_a_cut_is_noticed() {
    let world = World::new("chunks");
    import(BY_AGE_TWO_CHUNKS, &world.places, &importing(Existing::Refuse)).unwrap();
    let text = world.read("home/.config/windlass/AGENTS.md");
    assert!(text.len() > 69_000 && text.starts_with("Line 0.\nLine 1.\n") && text.ends_with(".\n"));
    let cut = &BY_AGE_TWO_CHUNKS[..BY_AGE_TWO_CHUNKS.len() - 1];
    let world = World::new("cut");
    let error = import(cut, &world.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::Age(AgeError::Damaged)), "{error}");
}

#[test]
fn a_file_for_a_key_and_a_wrong_passphrase_are_told_apart() {
    let world = World::new("wrong");
    let error = import(BY_AGE_TO_A_KEY, &world.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::Age(AgeError::NoPassphrase)), "{error}");
    world.user("model = 'x'\n");
    let file = export(&world.places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    for (passphrase, wrong) in [("horse", true), ("", false)] {
        let options = ImportOptions { passphrase: passphrase.into(), existing: Existing::Refuse };
        match import(&file, &world.places, &options).unwrap_err() {
            ImportError::Age(AgeError::WrongPassphrase) => assert!(wrong),
            ImportError::Age(AgeError::EmptyPassphrase) => assert!(!wrong),
            other => panic!("{other}"),
        }
    }
}

fn furnished(name: &str) -> World {
    let world = World::with_user(name, CONFIGURATION);
    world.write("home/.config/windlass/fast.config.toml", "model = 'small'\n");
    world.write("home/.config/windlass/AGENTS.md", "Be kind.\n");
    world.write("home/.config/windlass/rules.toml", "default = 'ask'\n");
    world.write("home/.config/windlass/agents/explorer.toml", "model = 'small'\n");
    world.write("home/.config/windlass/skills/a/SKILL.md", "---\nname: a\ndescription: b\n---\n");
    world.write("home/.config/windlass/skills/a/image.png", [0x89, 0xff, 0]);
    world.write("home/.config/windlass/skills/a/.env", "X=1");
    world.write("home/.agents/skills/b/SKILL.md", "---\nname: b\ndescription: c\n---\n");
    world
}

const CONFIGURATION: &str = r#"# mine
model = "x" # keep this
[mcp_servers.a]
command = "srv"
args = ["--fast"]
env = { REGION = "eu" }
[mcp_servers.b]
url = "https://h"
[mcp_servers.b.http_headers]
Authorization = "Bearer abc"
X-Team = "ada"
[projects."/x"]
trust_level = "trusted"
"#;

#[test]
fn what_goes_in_comes_out_without_secrets_and_without_trust() {
    let exported = export(&furnished("from").places, &exporting(Secrets::LeaveOut)).unwrap();
    assert_eq!(
        exported.files,
        [
            "config/AGENTS.md",
            "config/agents/explorer.toml",
            "config/config.toml",
            "config/fast.config.toml",
            "config/skills/a/SKILL.md",
            "config/skills/a/image.png",
            "agents/skills/b/SKILL.md",
        ]
    );
    let left_out: Vec<String> = exported
        .left_out
        .iter()
        .map(|one| format!("{} {}", one.file, one.place.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        left_out,
        [
            "config/config.toml projects",
            "config/config.toml mcp_servers.a.env.REGION",
            "config/config.toml mcp_servers.b.http_headers.Authorization",
            "config/skills/a/.env -",
        ]
    );
    let to = World::new("to");
    let imported = import(&exported.bytes, &to.places, &importing(Existing::Refuse)).unwrap();
    assert_eq!(imported.added.len(), 7);
    let expected = "# mine\nmodel = \"x\" # keep this\n[mcp_servers.a]\ncommand = \"srv\"\nargs = [\"--fast\"]\n\
                    env = {}\n[mcp_servers.b]\nurl = \"https://h\"\n[mcp_servers.b.http_headers]\nX-Team = \"ada\"\n";
    assert_eq!(to.read("home/.config/windlass/config.toml"), expected);
    assert_eq!(
        std::fs::read(to.root().join("home/.config/windlass/skills/a/image.png")).unwrap(),
        [0x89, 0xff, 0]
    );
    to.load();
}

#[test]
fn secrets_go_along_when_they_are_asked_for_but_trust_does_not() {
    let exported = export(&furnished("with-secrets").places, &exporting(Secrets::Include)).unwrap();
    let to = World::new("to-secrets");
    import(&exported.bytes, &to.places, &importing(Existing::Refuse)).unwrap();
    let text = to.read("home/.config/windlass/config.toml");
    assert!(
        text.contains("Bearer abc") && text.contains("REGION") && !text.contains("trust_level"),
        "{text}"
    );
    assert_eq!(to.read("home/.config/windlass/skills/a/.env"), "X=1");
    let mode = to.places.user_file().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn nothing_is_exported_where_nothing_is_or_where_secrets_cannot_be_told() {
    let world = World::new("nothing");
    assert!(matches!(export(&world.places, &exporting(Secrets::LeaveOut)), Err(ExportError::Nothing)));
    world.user("= broken");
    assert!(matches!(export(&world.places, &exporting(Secrets::LeaveOut)), Err(ExportError::NotToml { .. })));
}

/// A regression: the export left the file out without a message, and the agent refused to start after the import.
#[test]
fn the_instructions_that_a_configuration_names_go_along_or_their_key_is_left_out_and_named() {
    let from = World::new("instructions");
    let inside = from.write("home/.config/windlass/here.md", "from inside");
    from.write("home/prompts/base.txt", "from the home");
    from.write("home/more/base.txt", "another one");
    from.user(&format!(
        "model_instructions_file = '~/prompts/base.txt'\n[profiles.a]\nmodel_instructions_file = '../../more/base.txt'\n\
         [profiles.b]\nmodel_instructions_file = '{}'\n[profiles.c]\nmodel_instructions_file = '/nowhere'\nmodel = 'm'\n",
        inside.display()
    ));
    let exported = export(&from.places, &exporting(Secrets::LeaveOut)).unwrap();
    let left_out: Vec<_> = exported.left_out.iter().map(|omission| omission.place.as_deref()).collect();
    assert_eq!(left_out, [Some("profiles.c.model_instructions_file")]);
    let to = World::new("instructions-there");
    import(&exported.bytes, &to.places, &importing(Existing::Refuse)).unwrap();
    let config = to.read("home/.config/windlass/config.toml");
    for (profile, expected) in
        [(None, Some("from the home")), (Some("a"), Some("another one")), (Some("b"), Some("from inside"))]
    {
        let request = Request { profile: profile.map(str::to_owned), ..Request::default() };
        let file = load(&to.places, &request).unwrap().settings.instructions_file.expect(&config);
        assert!(file.starts_with(to.root()), "{config}");
        assert_eq!(std::fs::read_to_string(file).ok().as_deref(), expected, "{config}");
    }
}

#[test]
fn links_are_not_exported() {
    let world = furnished("links");
    let secret = world.write("home/secret", "x");
    std::os::unix::fs::symlink(secret, world.root().join("home/.config/windlass/skills/a/link")).unwrap();
    let exported = export(&world.places, &exporting(Secrets::Include)).unwrap();
    assert!(!exported.files.iter().any(|name| name.ends_with("link")));
    assert_eq!(exported.left_out.last().unwrap().file, "config/skills/a/link");
}

#[test]
fn what_differs_is_listed_and_stays_until_told_otherwise() {
    let bytes = export(&furnished("differs").places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    let to = World::with_user("kept", "model = 'mine'\n");
    to.write("home/.config/windlass/AGENTS.md", "Be kind.\n");
    let error = import(&bytes, &to.places, &importing(Existing::Refuse)).unwrap_err();
    let ImportError::Differs { files } = error else { panic!("{error}") };
    assert_eq!(files, [to.places.user_file().unwrap()]);
    assert!(!to.root().join("home/.agents").exists(), "nothing else was written either");
    let imported = import(&bytes, &to.places, &importing(Existing::Replace)).unwrap();
    assert_eq!(imported.replaced, [to.places.user_file().unwrap()]);
    assert_eq!(imported.unchanged, [to.root().join("home/.config/windlass/AGENTS.md")]);
    assert!(to.read("home/.config/windlass/config.toml").starts_with("# mine"));
    assert_eq!(leftovers(&to), Vec::<PathBuf>::new());
    let again = import(&bytes, &to.places, &importing(Existing::Refuse)).unwrap();
    assert_eq!((again.added.len(), again.unchanged.len()), (0, 7));
}

/// Trust was lost on the machine that the export came from.
#[test]
fn an_import_changes_no_trust_and_an_unchanged_export_differs_in_nothing() {
    let plain = "model = 'x'\n[tools]\n[projects.'/x']\ntrust_level = 'trusted'\n[projects.'/u']\ntrust_level = 'untrusted'\n";
    let world = World::with_user("trust-stays", plain);
    let bytes = export(&world.places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    let imported = import(&bytes, &world.places, &importing(Existing::Refuse)).unwrap();
    assert_eq!(imported.unchanged, [world.places.user_file().unwrap()]);
    world.user(&plain.replace("'x'", "'other'"));
    let error = import(&bytes, &world.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::Differs { .. }), "{error}");
    import(&bytes, &world.places, &importing(Existing::Replace)).unwrap();
    assert_eq!(world.read("home/.config/windlass/config.toml"), plain);
}

#[test]
fn links_in_the_way_are_not_written_through() {
    let bytes = export(&furnished("in-the-way").places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    for link in ["home/.config/windlass/skills", "home/.config/windlass/config.toml"] {
        let to = World::new("linked");
        let elsewhere =
            if link.ends_with("toml") { to.write("elsewhere", "") } else { to.folder("elsewhere") };
        to.folder("home/.config/windlass");
        std::os::unix::fs::symlink(&elsewhere, to.root().join(link)).unwrap();
        let error = import(&bytes, &to.places, &importing(Existing::Replace)).unwrap_err();
        assert!(matches!(&error, ImportError::InTheWay { path } if path.ends_with(&link[5..])), "{error}");
        assert!(!to.root().join("home/.config/windlass/AGENTS.md").exists());
    }
}

#[test]
fn a_failure_in_the_middle_leaves_everything_as_it_was() {
    let bytes = export(&furnished("middle").places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    let to = World::with_user("half", "model = 'mine'\n");
    // `~/.agents` is a file: its skills, which come last, cannot be written.
    to.write("home/.agents", "in the way");
    let error = import(&bytes, &to.places, &importing(Existing::Replace)).unwrap_err();
    assert!(matches!(error, ImportError::Io { .. } | ImportError::InTheWay { .. }), "{error}");
    assert_eq!(to.read("home/.config/windlass/config.toml"), "model = 'mine'\n");
    let names: Vec<_> = to.root().join("home/.config/windlass").read_dir().unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_changed_file_is_refused_wherever_it_was_changed() {
    let world = World::with_user("changed-file", "model = 'x'\n");
    let bytes = export(&world.places, &exporting(Secrets::LeaveOut)).unwrap().bytes;
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let to = World::new("refused");
        assert!(import(&changed, &to.places, &importing(Existing::Refuse)).is_err(), "byte {at}");
        assert!(!to.root().join("home").exists());
    }
}

#[test]
fn an_archive_of_something_else_is_refused() {
    let to = World::new("foreign");
    let error = import(&vec![0; 40 << 20], &to.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge), "{error}");
    let error = ImportError::from(ArchiveError::Kind { name: "a".into(), kind: '2' });
    assert_eq!(error.to_string(), "the archive: \"a\" is not a plain file but of kind '2'");
    let header = "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\n";
    let error = import(header.as_bytes(), &to.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::Age(AgeError::NotAge(_))), "{error}");
    let body = "A".repeat(43);
    let greedy = format!("{header}{body}\n--- {body}\n");
    let error = import(greedy.as_bytes(), &to.places, &importing(Existing::Refuse)).unwrap_err();
    assert!(matches!(error, ImportError::Age(AgeError::WorkFactor(30))), "{error}");
}

fn leftovers(world: &World) -> Vec<PathBuf> {
    let entries = world.root().join("home/.config/windlass").read_dir().unwrap().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("/.windlass-")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_imported_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), keep in 0usize..150) {
        let world = World::new("any");
        let _ = import(&bytes, &world.places, &importing(Existing::Refuse));
        let mut begun = BY_AGE[..keep].to_vec();
        begun.extend(bytes);
        // A complete header makes scrypt do real work, which is not the subject of this test.
        if !begun.windows(5).any(|window| window == b"\n--- ") {
            let _ = import(&begun, &world.places, &importing(Existing::Refuse));
        }
        prop_assert!(!world.root().join("home").exists());
    }
}
