//! Shell scripts that only apply a patch, and scripts that do more.

use windlass_patch::Heredoc;

use crate::workspace::{Workspace, patch};

const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+it costs $5 `now` \\n\n*** End Patch\n";
const PLAIN: &str = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n";

fn check(script: &str, directory: Option<&str>, patch: &str) {
    let expected = Heredoc { directory: directory.map(str::to_owned), patch: patch.to_owned() };
    assert_eq!(Heredoc::find(script), Some(expected), "{script}");
}

fn check_other(script: &str) {
    assert_eq!(Heredoc::find(script), None, "{script}");
}

#[test]
fn a_here_document_alone_is_found() {
    check(&format!("apply_patch <<'EOF'\n{PATCH}EOF"), None, PATCH);
    check(&format!("\n  apply_patch<<'EOF'\n{PATCH}EOF\n\n"), None, PATCH);
    check(&format!("apply_patch << \"PATCH_END\"  \n{PATCH}PATCH_END\n"), None, PATCH);
    check(&format!("applypatch <<'EOF'\n{PATCH}EOF"), None, PATCH);
}

#[test]
fn a_directory_may_come_first() {
    let document = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
    check(&format!("cd sub/dir && {document}"), Some("sub/dir"), PATCH);
    check(&format!("cd 'my dir' && {document}"), Some("my dir"), PATCH);
    check(&format!("cd \"my dir\"&&{document}"), Some("my dir"), PATCH);
    check(&format!("cd my\\ dir &&\n{document}"), Some("my dir"), PATCH);
    check(&format!("cd /tmp/\"a b\"/c && {document}"), Some("/tmp/a b/c"), PATCH);
}

#[test]
fn a_patch_as_the_only_argument_is_found() {
    check(&format!("apply_patch '{PLAIN}'"), None, PLAIN);
    check(&format!("apply_patch \"{PLAIN}\""), None, PLAIN);
    check(
        "apply_patch \"*** Begin Patch\n+a \\\"b\\\" \\\\ \\$x \\`y\\` \\n\"",
        None,
        "*** Begin Patch\n+a \"b\" \\ $x `y` \\n",
    );
    check("apply_patch '*** Begin Patch\n+it'\\''s'", None, "*** Begin Patch\n+it's");
    check(&format!("cd d && apply_patch '{PLAIN}'"), Some("d"), PLAIN);
}

#[test]
fn a_delimiter_without_quotes_is_taken_when_the_shell_would_change_nothing() {
    check(&format!("apply_patch <<EOF\n{PLAIN}EOF"), None, PLAIN);
    check_other(&format!("apply_patch <<EOF\n{PATCH}EOF"));
}

#[test]
fn anything_else_in_the_script_is_for_the_shell() {
    let document = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
    for script in [
        String::new(),
        "apply_patch".to_owned(),
        "apply_patch --help".to_owned(),
        "apply_patch < change.patch".to_owned(),
        "apply_patch change.patch".to_owned(),
        format!("{document}ls"),
        format!("ls\n{document}"),
        format!("ls && {document}"),
        format!("cd a; {document}"),
        format!("cd a || {document}"),
        format!("cd a & {document}"),
        format!("cd a b && {document}"),
        format!("cd && {document}"),
        format!("cd '' && {document}"),
        format!("cd - && {document}"),
        format!("cd -P a && {document}"),
        format!("cd ~/a && {document}"),
        format!("cd $HOME && {document}"),
        format!("cd \"$HOME\" && {document}"),
        format!("cd $(pwd) && {document}"),
        format!("cd a* && {document}"),
        format!("cd {{a,b}} && {document}"),
        format!("cda && {document}"),
        format!("cd a && cd b && {document}"),
        format!("X=1 {document}"),
        format!("sudo {document}"),
        format!("apply_patch <<'EOF' && ls\n{PATCH}EOF\n"),
        format!("apply_patch <<'EOF' | tee log\n{PATCH}EOF\n"),
        format!("apply_patch <<'EOF' > log\n{PATCH}EOF\n"),
        format!("apply_patch <<-'EOF'\n{PATCH}EOF\n"),
        format!("apply_patch <<<'{PLAIN}'"),
        format!("apply_patch <<'EOF'\n{PATCH}"),
        format!("apply_patch <<'EOF'\n{PATCH} EOF\n"),
        format!("apply_patch <<'EOF\"\n{PATCH}EOF\n"),
        format!("apply_patch <<''\n{PATCH}\n"),
        format!("apply_patch -v <<'EOF'\n{PATCH}EOF\n"),
        format!("apply_patches <<'EOF'\n{PATCH}EOF\n"),
        format!("apply_patch '{PLAIN}' b"),
        format!("apply_patch '{PLAIN}'; ls"),
        format!("apply_patch '{PLAIN}' &"),
        format!("apply_patch '{PLAIN}"),
        format!("apply_patch $'{PLAIN}'"),
        format!("apply_patch'{PLAIN}'"),
        format!("apply_patch \"{PATCH}\""),
        format!("cat <<'EOF' | apply_patch\n{PATCH}EOF\n"),
        format!("# comment\n{document}"),
    ] {
        check_other(&script);
    }
}

#[test]
fn a_patch_from_a_script_is_applied_in_the_scripts_directory() {
    let workspace = Workspace::with(&[("sub/a.txt", "one\n")]);
    let text = patch("*** Update File: a.txt\n@@\n-one\n+uno");
    let found = Heredoc::find(&format!("cd sub && apply_patch <<'EOF'\n{text}EOF\n")).expect("it is a patch");
    let base = workspace.path(&found.directory.expect("it goes to a directory"));
    let patch = windlass_patch::Patch::parse(&found.patch).expect("it is a patch");
    patch.verify(&windlass_patch::Directory::at(base)).expect("it fits").apply().expect("it applies");
    assert_eq!(workspace.read("sub/a.txt"), "uno\n");
}
