//! `windlass agent --portable`: transfers settings from one home directory to another.

use std::process::Command;

use windlass_engine::{CommandSpec, Engine, EngineOptions, Io, Met, Terminal, Until};
use windlass_output::Pattern;
use windlass_testkit::HANG;
use windlass_testkit::model::Model;

use crate::rig::{Seen, WINDLASS};
use crate::workbench::{More, Workbench, seen};

const PASSPHRASE: &str = "correct horse battery";
const CONFIG: &str = ".config/windlass/config.toml";

/// A windlass that cannot ask for a passphrase: it has no terminal, even if the tests run in one.
fn portable(bench: &Workbench, words: &[&str], passphrase: Option<&str>) -> Seen {
    let windlass = bench.windlass(&[]);
    let mut command = Command::new("setsid");
    command.args(["-w", WINDLASS, "agent", "--portable"]).args(words);
    let variables = windlass.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(variables).current_dir(bench.work()).stdin(std::process::Stdio::null());
    command.env_remove("WINDLASS_PASSPHRASE").env_remove("XDG_CONFIG_HOME");
    command.envs(passphrase.map(|passphrase| ("WINDLASS_PASSPHRASE", passphrase)));
    seen(&mut command)
}

fn bench(name: &str, keys: &str) -> Workbench {
    let model = Model::playing(Vec::new());
    let tables = "[model_providers.it.http_headers]\nx-token = \"very-secret-header-0123456789abcdef\"\n";
    Workbench::new(name, &model, &More { keys, tables })
}

#[test]
fn settings_travel_encrypted_and_overwrite_nothing_unasked() {
    let from = bench("portable-from", "sandbox_mode = \"read-only\"\n");
    from.write(".config/windlass/AGENTS.md", "be kind\n");
    from.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: ships it\n---\nship\n");
    let file = from.home.path().join("settings.age");
    let name = file.to_str().unwrap();
    let told = portable(&from, &["export", name], Some(PASSPHRASE));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("config/AGENTS.md") && told.stdout.contains("x-token"), "{told:?}");
    let bytes = std::fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("be kind"));
    let again = portable(&from, &["export", name], Some(PASSPHRASE));
    assert!(again.code == 1 && again.stderr.contains("--replace overwrites it"), "{again:?}");

    let to = bench("portable-to", "");
    let before = to.read(CONFIG);
    let refused = portable(&to, &["import", name], Some(PASSPHRASE));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("config.toml") && refused.stderr.contains("--replace"), "{refused:?}");
    assert_eq!(to.read(CONFIG), before);
    let told = portable(&to, &["import", name, "--replace"], Some(PASSPHRASE));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("Added:\n") && told.stdout.contains("Replaced:\n"), "{told:?}");
    assert!(to.read(CONFIG).contains("read-only"));
    assert!(!to.read(CONFIG).contains("very-secret"), "secrets stay at home");
    assert_eq!(to.read(".config/windlass/AGENTS.md"), "be kind\n");
    assert!(to.read(".agents/skills/deploy/SKILL.md").ends_with("ship\n"));
}

#[test]
fn a_wrong_passphrase_and_a_damaged_file_import_nothing() {
    let from = bench("portable-bad", "");
    let word = from.home.secret("word", "from a file\nsecond line\n");
    let path = |name: &str| from.home.path().join(name).to_str().unwrap().to_owned();
    let file = path("settings.age");
    let words = ["export", &file, "--with-secrets", "--passphrase-file", &word];
    let told = portable(&from, &words, None);
    assert_eq!(told.code, 0, "{told:?}");
    let check = |bytes: Vec<u8>, passphrase: Option<&str>, expected: &str| {
        let bad = path("bad.age");
        std::fs::write(&bad, bytes).unwrap();
        let told = portable(&from, &["import", &bad], passphrase);
        assert!(told.code == 1 && told.stderr.contains(expected), "{expected}: {told:?}");
    };
    let good = std::fs::read(&file).unwrap();
    check(good.clone(), Some("something else"), "the passphrase is wrong");
    check(good[..good.len() - 1].to_vec(), Some("from a file"), "the file is damaged");
    check(b"hello".to_vec(), Some("x"), "this is not an age file");
    check(good, None, "give --passphrase-file, or set WINDLASS_PASSPHRASE");
    let told = portable(&from, &["import", &file], Some("from a file"));
    assert!(told.code == 0 && told.stdout.contains("The same already:"), "{told:?}");
}

#[test]
fn other_words_are_refused() {
    let bench = bench("portable-words", "");
    let told = portable(&bench, &["copy", "x"], None);
    assert!(told.code == 2 && told.stderr.contains("`export` or `import`, not `copy`"), "{told:?}");
    let told = bench.agent(&["--with-secrets", "hello"]);
    assert!(told.code == 2 && told.stderr.contains("--portable"), "{told:?}");
}

/// The test acts as the person at the terminal.
#[tokio::test]
async fn a_passphrase_that_is_typed_is_not_shown_and_must_be_typed_twice() {
    let bench = bench("portable-typed", "");
    let engine = Engine::new(EngineOptions::default()).unwrap();
    let file = bench.home.path().join("settings.age");
    let words = [WINDLASS, "agent", "--portable", "export", file.to_str().unwrap()];
    let mut spec = CommandSpec::new(words, bench.work());
    spec.environment = vec![("HOME".into(), bench.home.path().into())];
    spec.io = Io::Terminal(Terminal::default());
    let typed = async |lines: &[(&str, &str)], last: &str| {
        let session = engine.start(spec.clone()).unwrap();
        for (question, answer) in lines {
            let until = Until::pattern(Pattern::new(question).unwrap());
            let met = tokio::time::timeout(HANG, session.wait(&until)).await.unwrap();
            assert!(matches!(met, Met::Pattern(_)), "{question}: {met:?}");
            session.write(answer.as_bytes()).await.unwrap();
        }
        let until = Until::pattern(Pattern::new(last).unwrap());
        let met = tokio::time::timeout(HANG, session.wait(&until)).await.unwrap();
        assert!(matches!(met, Met::Pattern(_)), "{last}: {met:?}");
        let receipt = tokio::time::timeout(HANG, session.exited()).await.unwrap().unwrap();
        let mut bytes = Vec::new();
        let journal = session.journal();
        let all = windlass_output::Span::new(windlass_output::Offset::ZERO, journal.end());
        journal.read_into(all, 1 << 16, &mut bytes);
        assert!(!String::from_utf8_lossy(&bytes).contains("open-sesame"));
        receipt.exit.code()
    };
    let slip = [("Passphrase: ", "open-sesame\n"), ("The same again: ", "open-sesam\n")];
    assert_eq!(typed(&slip, "the two passphrases differ").await, 1);
    assert_eq!(typed(&[("Passphrase: ", "open-sesame\x03")], "no passphrase was given").await, 1);
    assert!(!file.exists());
    let twice = [("Passphrase: ", "open-sesame\n"), ("The same again: ", "open-sesame\n")];
    assert_eq!(typed(&twice, "settings.age holds").await, 0);
    assert!(file.exists());
}
