//! A person grants access to a path that does not exist yet.

use std::path::Path;

use super::*;

fn patch_of(path: &str, line: &str) -> Reply {
    custom("apply_patch", &format!("*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch"))
}

/// The turns of the model: it requests access to a missing path, works elsewhere meanwhile, and uses the path once it
/// exists.
fn turns(place: &Path) -> Vec<ModelTurn> {
    let file = |name: &str| place.join(name).display().to_string();
    let (by_command, by_patch) = (file("by-command"), file("by-patch"));
    let asked = json!({ "reason": "the build writes there",
        "permissions": { "file_system": { "write": [place.display().to_string()] } } });
    vec![
        always(call("request_permissions", asked)),
        turn(|request| {
            assert!(request.last_result().contains("session"), "{}", request.last_result());
            run("echo works > inside && cat inside")
        }),
        turn(|request| {
            let result = request.last_result();
            assert!(result.ends_with("works\n"), "a command fails after the grant: {result}");
            assert!(result.contains("granted/later"), "the missing place is not mentioned: {result}");
            patch_of("patched", "works")
        }),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("patched"), "a patch fails after the grant: {result}");
            say("Please make that directory.")
        }),
        always(run(&format!("echo written > {by_command}; cat {by_command}"))),
        turn(move |request| {
            let result = request.last_result();
            assert!(result.ends_with("written\n"), "the grant does not hold once the place exists: {result}");
            patch_of(&by_patch, "patched")
        }),
        always(say("That was all.")),
    ]
}

/// Such a grant once made every later command and patch fail, and could not be revoked.
async fn a_missing_place_is_granted(layers: &str) {
    let around = Scratch::below(Path::new("/var/tmp"), &format!("granted-{layers}"));
    let place = around.path().join("granted/later");
    let stage = Stage::new(&format!("granted-{layers}"), turns(&place));
    let person = stage.open(&["--sandbox-layers", layers, "build it"]);
    person.sees("yes + Enter").await;
    person.types("yes\r").await;
    person.sees("Please make that directory.").await;
    let read =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{layers}: {error}"));
    assert_eq!(read(&stage.work("patched")), "works\n");
    std::fs::create_dir_all(&place).expect("it can be made");
    person.types("it is there\r").await;
    person.sees("That was all.").await;
    assert_eq!(read(&place.join("by-command")), "written\n");
    assert_eq!(read(&place.join("by-patch")), "patched\n");
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_granted_place_that_does_not_exist_yet_stops_no_command_and_no_patch() {
    for layers in ["all", "landlock"] {
        a_missing_place_is_granted(layers).await;
    }
}
