//! A command of the agent exchanges a directory for a link in a loop while the agent applies patches there. Nothing is
//! written at the target of the link, for any user that runs the agent and for all layers that confine its commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use windlass_testkit::Scratch;
use windlass_testkit::model::{call, custom, say};

use super::stage::{Owner, Stage, exec};

/// Exchanges `dir` for each of the links in turn until a file `stop` exists.
const RACER: &str = r#"
my @links = @ARGV;
print "racing\n"; $| = 1;
until (-e "stop") {
    for my $link (@links) {
        rename("dir", "real"); rename($link, "dir");
        rename("dir", $link); rename("real", "dir");
    }
}
"#;

const ROUNDS: usize = 20;
const FILES: usize = 20;

fn patch(round: usize) -> String {
    let file = |number: usize| {
        format!(
            "*** Add File: dir/{round}-{number}.txt\n+planted\n*** Update File: dir/old-{number}.txt\n@@\n+line {round}\n text\n"
        )
    };
    let sections: String = (0..FILES).map(file).collect();
    format!("*** Begin Patch\n{sections}*** End Patch")
}

fn race(owner: Owner, layers: &str) {
    // The agent is notified of the racer's end, and may send one more request for it.
    let asked = AtomicUsize::new(0);
    let mut stage = Stage::answering(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => call(
            "exec_command",
            json!({ "cmd": "exec perl racer.pl to-outside to-hooks", "yield_time_ms": 250 }),
        ),
        step if step <= ROUNDS => custom("apply_patch", &patch(step)),
        step if step == ROUNDS + 1 => exec("touch stop"),
        _ => say("raced"),
    })
    .with("sandbox_workspace_write.exclude_slash_tmp = true")
    .owned_by(owner);
    stage.write("work/racer.pl", RACER);
    for number in 0..FILES {
        for place in ["work/dir", "outside", "work/.git/hooks"] {
            stage.write(&format!("{place}/old-{number}.txt"), "text\n");
        }
    }
    symlink(stage.home().join("outside"), stage.work().join("to-outside")).expect("a link can be made");
    symlink(".git/hooks", stage.work().join("to-hooks")).expect("a link can be made");
    let words = ["--sandbox-layers", layers, "-s", "workspace-write", "race"];
    stage.run(&words).well();
    for place in ["outside", "work/.git/hooks"] {
        for number in 0..FILES {
            assert_eq!(stage.read(&format!("{place}/old-{number}.txt")), "text\n", "{place}");
        }
        let names = fs::read_dir(stage.home().join(place)).expect("it can be listed").flatten().count();
        assert_eq!(names, FILES, "a file was planted in {place}");
    }
    let requests = stage.finish();
    let results = requests.last().expect("the model was asked").results();
    let patched =
        results.iter().filter(|result| result.contains("Success.") || result.contains("Exit code: 1"));
    assert_eq!(patched.count(), ROUNDS, "{results:?}");
}

#[test]
fn patches_win_against_exchanged_directories_with_namespaces() {
    race(Owner::Myself, "all");
}

#[test]
fn patches_win_against_exchanged_directories_without_namespaces() {
    race(Owner::Myself, "landlock");
}

#[test]
fn patches_of_an_ordinary_user_win_against_exchanged_directories_with_namespaces() {
    race(Owner::Ordinary, "all");
}

#[test]
fn patches_of_an_ordinary_user_win_against_exchanged_directories_without_namespaces() {
    race(Owner::Ordinary, "landlock");
}

/// A process that ends with the test.
struct Racer(Child);

impl Drop for Racer {
    fn drop(&mut self) {
        // An error means that the process has exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_writes_by_path_loses_the_same_race() {
    let scratch = Scratch::new("race");
    let at = |name: &str| scratch.path().join(name);
    for name in ["work", "work/dir", "outside"] {
        fs::create_dir(at(name)).expect("a directory can be made");
    }
    fs::write(at("work/racer.pl"), RACER).expect("a file can be written");
    symlink(at("outside"), at("work/to-outside")).expect("a link can be made");
    let mut racer = Command::new("perl");
    racer.args(["racer.pl", "to-outside"]).current_dir(at("work")).stdout(Stdio::null());
    let _racer = Racer(racer.spawn().expect("perl starts"));
    let lost = (0..1_000_000).any(|_| {
        let _exchanged_just_now = fs::write(at("work/dir/planted"), "planted");
        at("outside/planted").exists()
    });
    assert!(lost, "the racer is too slow to show anything");
}
