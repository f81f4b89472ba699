//! Mounts that exist before a command: a read-only mount prevents no command from starting, wherever it is.

use super::stage::{Owner, Stage};
use super::workspaces::Scene;

const LAYERS: [&str; 2] = ["all", "landlock"];

/// Mounts a read-only file system at a directory and runs a command there as the stage's owner. Without namespaces root
/// stays in the mount namespace of the test, so both kinds of users see the same mount.
fn a_command_works_beside_a_read_only_mount(name: &str, owner: Owner, mounted: &str) {
    if !rustix::process::geteuid().is_root() {
        println!("untried: only root can mount something there to begin with");
        return;
    }
    let stage = Stage::new(name, owner);
    let scene = Scene { stage: &stage, directory: stage.directory(&["shapes"]) };
    let windlass = stage.windlass();
    let user = if owner == Owner::Nobody { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    for layers in LAYERS {
        let script = format!(
            "mkdir -p {mounted}; mount -t tmpfs none {mounted}; echo kept > {mounted}/file; mount -o remount,ro {mounted}; \
             exec {user} '{windlass}' run --sandbox workspace-write --sandbox-layers {layers} -- \
             sh -c 'cat {mounted}/file; echo x > {mounted}/new; echo x > beside && echo written'"
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "sh", "-ec", &script]).current_dir(&scene.directory);
        let output = command.envs(stage.environment().iter().cloned()).output().expect("unshare starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "kept\nwritten\n", "{layers}, {mounted}: {output:?}");
        scene.plainly("rm beside");
    }
}

/// The name of a directory in /tmp that no other test uses; removed with the test.
struct InTmp(std::path::PathBuf);

impl InTmp {
    fn new(name: &str) -> Self {
        let path = std::path::Path::new("/tmp").join(windlass_testkit::survivors::token(name));
        std::fs::create_dir(&path).expect("the name is free");
        Self(path)
    }
}

impl Drop for InTmp {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_read_only_mount_in_the_workspace_keeps_no_command_from_starting() {
    a_command_works_beside_a_read_only_mount("mounted", Owner::Myself, "mounted");
}

#[test]
fn a_read_only_mount_in_the_workspace_keeps_no_command_of_an_ordinary_user_from_starting() {
    a_command_works_beside_a_read_only_mount("mounted-user", Owner::ordinary(), "mounted");
}

#[test]
fn a_read_only_mount_in_the_temporary_directory_keeps_no_command_from_starting() {
    for (name, owner) in [("mounted-tmp", Owner::Myself), ("mounted-tmp-user", Owner::ordinary())] {
        let place = InTmp::new(name);
        a_command_works_beside_a_read_only_mount(name, owner, place.0.to_str().expect("a path is text"));
    }
}
