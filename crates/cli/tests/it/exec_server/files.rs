//! File operations of a client that requests a sandbox for them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_testkit::wire::ServerError;
use windlass_testkit::{Scratch, base64};

use super::{Exec, project_only};

/// A project beside the server's own records, a directory outside of it, and the client's permissions for both.
struct Ground {
    exec: Exec,
    project: PathBuf,
    outside: Scratch,
    sandbox: Value,
}

/// The layers that enforce the permissions.
const LAYERS: [&str; 2] = ["all", "landlock"];

impl Ground {
    fn new(name: &str, layers: &str) -> Self {
        let exec = Exec::start_with(&format!("{name}-{layers}"), &["--sandbox-layers", layers]);
        let project = exec.home.path().join("project");
        fs::create_dir_all(project.join("kept")).expect("it can be made");
        fs::write(project.join("kept/file"), "as it was").expect("it can be written");
        fs::write(project.join("secret"), "hush").expect("it can be written");
        let outside = Scratch::below(Path::new("/var/tmp"), "exec-files");
        fs::write(outside.path().join("there"), "readable").expect("it can be written");
        let below = json!({ "type": "special", "value": { "kind": "project_roots", "subpath": "kept" } });
        let hidden = json!({ "type": "path", "path": uri(&project.join("secret")) });
        let mut sandbox = project_only(&[
            json!({ "path": below, "access": "read" }),
            json!({ "path": hidden, "access": "none" }),
        ]);
        sandbox["cwd"] = json!(uri(&project));
        Self { exec, project, outside, sandbox }
    }

    /// An operation on a path, with further parameters.
    fn ask(&mut self, method: &str, path: &Path, more: Value) -> Result<Value, ServerError> {
        let mut params = more;
        params["path"] = json!(uri(path));
        params["sandbox"] = self.sandbox.clone();
        self.exec.wire.request(method, &params).expect("it answers")
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<Value, ServerError> {
        self.ask("fs/writeFile", path, json!({ "dataBase64": base64::encode(bytes) }))
    }

    fn end(self) {
        self.exec.end();
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn bytes_of(answer: &Value, member: &str) -> Vec<u8> {
    base64::decode(answer[member].as_str().expect("base64").as_bytes()).expect("base64")
}

#[test]
fn what_is_inside_is_changed_and_what_is_outside_is_only_read() {
    for layers in LAYERS {
        let mut ground = Ground::new("files", layers);
        let (project, outside) = (ground.project.clone(), ground.outside.path().to_owned());
        ground.ask("fs/createDirectory", &project.join("a/b"), json!({})).expect("it is inside");
        ground.write(&project.join("a/b/new"), b"hello").expect("it is inside");
        assert_eq!(fs::read(project.join("a/b/new")).expect("it is there"), b"hello");
        let read = ground.ask("fs/readFile", &outside.join("there"), json!({})).expect("it can be read");
        assert_eq!(bytes_of(&read, "dataBase64"), b"readable");
        let about =
            ground.ask("fs/getMetadata", &project.join("a/b/new"), json!({})).expect("it can be read");
        assert_eq!((&about["isFile"], &about["size"]), (&json!(true), &json!(5)));
        let names = ground.ask("fs/readDirectory", &project.join("a"), json!({})).expect("it can be read");
        assert_eq!(names["entries"][0]["fileName"], "b");
        let path =
            ground.ask("fs/canonicalize", &project.join("a/../a/b"), json!({})).expect("it can be read");
        assert!(path["path"].as_str().is_some_and(|path| path.ends_with("project/a/b")), "{path}");

        for (method, path, more) in [
            ("fs/writeFile", outside.join("new"), json!({ "dataBase64": "" })),
            ("fs/writeFile", outside.join("there"), json!({ "dataBase64": "" })),
            ("fs/writeFile", project.join("kept/file"), json!({ "dataBase64": "" })),
            ("fs/createDirectory", outside.join("folder"), json!({})),
            ("fs/remove", outside.join("there"), json!({})),
            ("fs/remove", project.join("kept"), json!({})),
            ("fs/readFile", project.join("secret"), json!({})),
            ("fs/writeFile", project.join("secret"), json!({ "dataBase64": "" })),
        ] {
            let refusal = ground.ask(method, &path, more).expect_err("it is kept from it");
            assert!(refusal.message.contains("(os error "), "{method} {}: {refusal}", path.display());
        }
        assert_eq!(ground.outside.names(), ["there"]);
        assert_eq!(fs::read(outside.join("there")).expect("it is there"), b"readable");
        assert_eq!(fs::read(project.join("kept/file")).expect("it is there"), b"as it was");
        assert_eq!(fs::read(project.join("secret")).expect("it is there"), b"hush");
        ground.ask("fs/remove", &project.join("a"), json!({})).expect("it is inside");
        assert!(!project.join("a").exists());
        ground.end();
    }
}

/// A path may be inside while the file to which it leads is not.
#[test]
fn links_lead_no_further_than_the_sandbox() {
    for layers in LAYERS {
        let mut ground = Ground::new("files-links", layers);
        let (project, outside) = (ground.project.clone(), ground.outside.path().to_owned());
        std::os::unix::fs::symlink(&outside, project.join("way")).expect("a link");
        std::os::unix::fs::symlink(outside.join("there"), project.join("shortcut")).expect("a link");
        ground.write(&project.join("way/new"), b"x").expect_err("it is outside");
        ground.write(&project.join("shortcut"), b"x").expect_err("it is outside");
        ground.ask("fs/remove", &project.join("way/there"), json!({})).expect_err("it is outside");
        let sandbox = ground.sandbox.clone();
        let copy = |from: &Path, to: &Path| json!({ "sourcePath": uri(from), "destinationPath": uri(to), "recursive": true, "sandbox": sandbox });
        let params = copy(&project.join("kept/file"), &project.join("way/copy"));
        ground.exec.wire.request("fs/copy", &params).expect("it answers").expect_err("it is outside");
        let params = copy(&outside.join("there"), &project.join("copy"));
        ground.exec.wire.request("fs/copy", &params).expect("it answers").expect("it is inside");
        assert_eq!(fs::read(project.join("copy")).expect("it is there"), b"readable");
        assert_eq!(ground.outside.names(), ["there"]);
        assert_eq!(fs::read(outside.join("there")).expect("it is there"), b"readable");
        ground.end();
    }
}

#[test]
fn an_opened_file_is_read_in_blocks_and_a_hidden_one_is_not_opened() {
    for layers in LAYERS {
        let mut ground = Ground::new("files-open", layers);
        let large: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let path = ground.project.join("large");
        ground.write(&path, &large).expect("it is inside");
        assert!(fs::read(&path).expect("it is there") == large);
        let whole = ground.ask("fs/readFile", &path, json!({})).expect("it can be read");
        assert!(bytes_of(&whole, "dataBase64") == large);
        ground.ask("fs/open", &path, json!({ "handleId": "h" })).expect("it can be read");
        let block = json!({ "handleId": "h", "offset": 11_999_000, "len": 1_000_000 });
        let read = ground.exec.wire.request("fs/readBlock", &block).expect("it answers").expect("it is open");
        assert!(bytes_of(&read, "chunk") == large[11_999_000..]);
        assert_eq!(read["eof"], true);
        let secret = ground.project.join("secret");
        ground.ask("fs/open", &secret, json!({ "handleId": "s" })).expect_err("it is hidden");
        ground.end();
    }
}

/// An operation that needs no enforcement starts no process.
#[test]
fn files_that_may_all_be_touched_are_whatever_the_network() {
    let mut ground = Ground::new("files-free", "all");
    ground.sandbox = json!({
        "permissions": { "type": "managed", "file_system": { "type": "unrestricted" }, "network": "restricted" },
    });
    let there = ground.outside.path().join("new");
    ground.write(&there, b"x").expect("everything may be touched");
    assert_eq!(ground.outside.names(), ["new", "there"]);
    ground.end();
}

/// The denials of a client apply to every operation and every process, whatever a process did before.
#[test]
fn what_is_denied_stays_denied_whatever_a_process_does() {
    for layers in LAYERS {
        let mut ground = Ground::new("files-lifted", layers);
        let project = ground.project.clone();
        for name in ["HEAD", "objects", "refs", "hooks"] {
            fs::create_dir_all(project.join(".git").join(name)).expect("a folder");
        }
        fs::create_dir(project.join("a")).expect("a folder");
        fs::write(project.join("a/hidden"), "hush").expect("a file");
        let there = ground.outside.path().join("there");
        let deny = |path: &Path| json!({ "path": { "type": "path", "path": uri(path) }, "access": "deny" });
        ground.sandbox =
            project_only(&[deny(&there), deny(&project.join("a/hidden")), deny(&project.join("later"))]);
        ground.sandbox["cwd"] = json!(uri(&project));
        let script = format!(
            "mkdir -p .git/modules/e; touch .git/modules/e/HEAD; ln -s '{there}' .git/modules/e/config; \
             ln -s '{outside}' .git/modules/f; mv a b; echo x > later",
            there = there.display(),
            outside = ground.outside.path().display()
        );
        fs::write(ground.outside.path().join("HEAD"), "").expect("a file");
        let mut params = ground.exec.params("p", &["/bin/sh", "-c", &script]);
        params["cwd"] = json!(uri(&project));
        params["sandbox"] = ground.sandbox.clone();
        ground.exec.begin(&params);
        let said = ground.exec.printed("p", ("", 0));
        // Links there once led the plan outside; now commands cannot create anything where git keeps submodules.
        assert!(!project.join(".git/modules").exists(), "{layers}: {said}");
        for path in [there.clone(), project.join("a/hidden")] {
            let refusal = ground.ask("fs/readFile", &path, json!({})).expect_err("it is denied");
            assert!(refusal.message.contains("(os error 13)"), "{layers}: {refusal}");
        }
        assert!(!project.join("b").exists() && !project.join("later").exists(), "{layers}: {said}");
        ground.write(&project.join("later"), b"x").expect_err("it must not come into being");
        ground.write(&project.join("other"), b"x").expect("work goes on");
        ground.end();
    }
}

#[test]
fn patterns_are_denied_however_they_are_written() {
    let mut ground = Ground::new("files-patterns", "all");
    let project = ground.project.clone();
    let way = ground.exec.home.path().join("way");
    std::os::unix::fs::symlink(&project, &way).expect("a link");
    fs::write(project.join("k.pem"), "hush").expect("a file");
    let here = project.display();
    for (cwd, pattern) in [
        (&project, format!("{here}/*.{{key,pem}}")),
        (&project, "codex-project-roots://**/*.pem".to_owned()),
        (&way, "**/*.pem".to_owned()),
        (&project, format!("{}/*.pem", way.display())),
    ] {
        let glob = json!({ "type": "glob_pattern", "pattern": pattern });
        ground.sandbox = project_only(&[json!({ "path": glob, "access": "deny" })]);
        ground.sandbox["cwd"] = json!(uri(cwd));
        let refusal = ground.ask("fs/readFile", &project.join("k.pem"), json!({})).expect_err("it is denied");
        assert!(refusal.message.contains("(os error 13)"), "{pattern}: {refusal}");
    }
    let glob = json!({ "type": "glob_pattern", "pattern": "*.{pem" });
    ground.sandbox = project_only(&[json!({ "path": glob, "access": "deny" })]);
    let refusal =
        ground.ask("fs/readFile", &project.join("k.pem"), json!({})).expect_err("it is not understood");
    assert!(refusal.message.contains("unclosed alternate group"), "{refusal}");
    ground.end();
}

/// Files that were written to such paths were once lost at once, or were written outside.
#[test]
fn places_that_a_sandbox_has_to_itself_are_not_worked_on() {
    for layers in LAYERS {
        let mut ground = Ground::new("files-own", layers);
        for path in ["/dev/shm/windlass-test", "/run/windlass-test"] {
            let refusal = ground.write(Path::new(path), b"x").expect_err("it would be gone");
            assert!(refusal.message.contains("of its own"), "{refusal}");
            assert!(!Path::new(path).exists());
        }
        // A link that leads to such a path is not at such a path itself.
        let link = ground.project.join("masked.service");
        std::os::unix::fs::symlink("/dev/null", &link).expect("it can be made");
        let refusal = ground.ask("fs/readFile", &link, json!({})).expect_err("it leads there");
        assert!(refusal.message.contains("masked.service` cannot be worked on"), "{refusal}");
        ground.ask("fs/remove", &link, json!({})).expect("a link is removed, not what it leads to");
        assert!(!link.is_symlink());
        ground.end();
    }
}

/// The removal of a hidden file was once reported as done, and the file stayed.
#[test]
fn what_is_hidden_is_not_allowed_rather_than_missing() {
    for layers in LAYERS {
        let mut ground = Ground::new("files-hidden", layers);
        let (folder, project) = (ground.project.join("vault"), ground.project.clone());
        fs::create_dir(&folder).expect("it can be made");
        fs::write(folder.join("key"), "secret").expect("it can be written");
        std::os::unix::fs::symlink("/dev/null", folder.join("link")).expect("it can be made");
        let hidden = json!({ "type": "path", "path": uri(&folder) });
        ground.sandbox = project_only(&[json!({ "path": hidden, "access": "deny" })]);
        ground.sandbox["cwd"] = json!(uri(&project));
        for method in ["fs/remove", "fs/readFile", "fs/getMetadata", "fs/canonicalize"] {
            for name in ["key", "missing", "link"] {
                let refusal = ground.ask(method, &folder.join(name), json!({})).expect_err("it is hidden");
                assert_eq!(refusal.code, -32600, "{method} {name}: {refusal}");
                assert_eq!(refusal.message, "Permission denied (os error 13)", "{method} {name}");
            }
        }
        assert_eq!(fs::read_to_string(folder.join("key")).expect("it is there"), "secret");
        ground.ask("fs/remove", &project.join("missing"), json!({})).expect("what is not there is removed");
        ground.end();
    }
}

/// The program that does the work is at a hidden path, too.
#[test]
fn a_sandbox_may_hide_the_program_itself() {
    let mut ground = Ground::new("files-program", "all");
    let program = Path::new(crate::rig::WINDLASS).parent().expect("it is somewhere");
    let hidden = json!({ "type": "path", "path": uri(program) });
    ground.sandbox = project_only(&[json!({ "path": hidden, "access": "deny" })]);
    ground.sandbox["cwd"] = json!(uri(&ground.project));
    let path = ground.project.join("new");
    ground.write(&path, b"x").expect("it is inside");
    ground.ask("fs/readFile", Path::new(crate::rig::WINDLASS), json!({})).expect_err("it is hidden");
    ground.end();
}
