//! Links that a process puts in its project, and what later requests on the same connection can write through them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_testkit::{Scratch, base64};

use super::{Exec, project_only};

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Permissions that let these places be written, each as it is sent on the wire.
fn writing(places: &[Value]) -> Value {
    let root = json!({ "path": { "type": "special", "value": { "kind": "root" } }, "access": "read" });
    let places = places.iter().map(|place| json!({ "path": place, "access": "write" }));
    let entries: Vec<Value> = std::iter::once(root).chain(places).collect();
    let files = json!({ "type": "restricted", "entries": entries });
    json!({ "permissions": { "type": "managed", "file_system": files, "network": "restricted" } })
}

struct LinkedProject {
    exec: Exec,
    project: PathBuf,
    outside: Scratch,
}

impl LinkedProject {
    /// A project in which a process has replaced the directory `d` by a link to a place outside.
    fn new(layers: &str) -> Self {
        let exec = Exec::start_with(&format!("links-{layers}"), &["--sandbox-layers", layers]);
        let project = exec.home.path().join("project");
        fs::create_dir_all(project.join("d")).expect("it can be made");
        let outside = Scratch::below(Path::new("/var/tmp"), "exec-behind-a-link");
        let mut linked = Self { exec, project, outside };
        let script = format!("rmdir d && ln -s '{}' d && echo linked", linked.outside.path().display());
        let mut sandbox = project_only(&[]);
        sandbox["cwd"] = json!(uri(&linked.project));
        assert!(linked.run("linking", &script, &sandbox).expect("it starts").contains("linked"));
        linked
    }

    /// The output of a script, or the reason why it was not started.
    fn run(&mut self, name: &str, script: &str, sandbox: &Value) -> Result<String, String> {
        let mut params = self.exec.params(name, &["/bin/sh", "-c", script]);
        params["cwd"] = json!(uri(&self.project));
        params["sandbox"] = sandbox.clone();
        let started = self.exec.wire.request("process/start", &params).expect("it answers");
        started.map_err(|refusal| refusal.to_string())?;
        Ok(self.exec.printed(name, ("", 0)))
    }

    /// The requests that name the place behind the link as one to write in.
    fn requests(&self) -> [Value; 5] {
        let link = self.project.join("d");
        let special = |value: Value| json!({ "type": "special", "value": value });
        let below = special(json!({ "kind": "project_roots", "subpath": "d" }));
        let mut subpath = writing(&[below]);
        subpath["cwd"] = json!(uri(&self.project));
        let path = writing(&[json!({ "type": "path", "path": uri(&link) })]);
        let mut roots = project_only(&[]);
        roots["workspaceRoots"] = json!([uri(&link)]);
        let mut directory = project_only(&[]);
        directory["cwd"] = json!(uri(&link));
        let mut both = project_only(&[json!({
            "path": special(json!({ "kind": "project_roots", "subpath": "d" })), "access": "write",
        })]);
        both["cwd"] = json!(uri(&self.project));
        [subpath, path, roots, directory, both]
    }
}

#[test]
fn a_place_behind_a_link_of_a_process_is_not_writable_however_it_is_named() {
    for layers in ["all", "landlock"] {
        let mut linked = LinkedProject::new(layers);
        let target = linked.outside.path().join("direct");
        fs::write(linked.project.join("d/direct"), "").expect("the link leads outside");
        fs::remove_file(target).expect("it was made there");
        for (number, sandbox) in linked.requests().into_iter().enumerate() {
            let script = format!("echo x > '{}/d/process'; echo ran", linked.project.display());
            let outcome = linked.run(&format!("process-{number}"), &script, &sandbox);
            assert_eq!(linked.outside.names(), Vec::<String>::new(), "{layers}: {sandbox}");
            if let Err(refusal) = outcome {
                let named = linked.outside.path().display().to_string();
                assert!(refusal.contains("an earlier command can have made"), "{refusal}");
                assert!(refusal.contains(&named), "{refusal}");
            }
            let file = uri(&linked.project.join("d/file"));
            let params = json!({ "path": file, "dataBase64": base64::encode(b"x"), "sandbox": sandbox });
            let written = linked.exec.wire.request("fs/writeFile", &params).expect("it answers");
            written.expect_err("it lies behind the link");
            assert_eq!(linked.outside.names(), Vec::<String>::new(), "{layers}: {sandbox}");
        }
        linked.exec.end();
    }
}

#[test]
fn a_link_that_was_named_before_any_process_ran_and_a_link_inside_of_the_project_stay_usable() {
    let mut exec = Exec::start("links-kept");
    let project = exec.home.path().join("project");
    fs::create_dir_all(project.join("real")).expect("it can be made");
    std::os::unix::fs::symlink(&project, exec.home.path().join("alias")).expect("it can be made");
    std::os::unix::fs::symlink("real", project.join("inner")).expect("it can be made");
    for (number, place) in ["alias", "project", "project/inner", "alias/inner"].into_iter().enumerate() {
        let name = format!("p{number}");
        let place = exec.home.path().join(place);
        let mut params = exec.params(&name, &["/bin/sh", "-c", &format!("echo x > {name} && echo wrote")]);
        params["cwd"] = json!(uri(&place));
        params["sandbox"] = project_only(&[]);
        exec.begin(&params);
        assert_eq!(exec.printed(&name, ("", 0)), "wrote\n", "{}", place.display());
    }
    exec.end();
}
