//! Texts that are read as a patch, and texts that are rejected.

use windlass_patch::Patch;

use crate::workspace::{Workspace, check_misfit, check_refused, patch};

const ADD: &str = "*** Add File: a.txt\n+one";

/// Expects that the text is read like the plain patch.
fn check_same(text: &str) {
    let plain = Patch::parse(&patch(ADD)).expect("it is a patch");
    assert_eq!(Patch::parse(text), Ok(plain), "{text}");
}

fn check_error(text: &str, message: &str) {
    let error = Patch::parse(text).expect_err("it is no patch").to_string();
    assert_eq!(error, message, "{text}");
}

const NO_BEGIN: &str = "invalid patch: The first line of the patch must be '*** Begin Patch'";
const NO_END: &str = "invalid patch: The last line of the patch must be '*** End Patch'";

#[test]
fn blanks_around_markers_do_not_matter() {
    check_same("\n\n  *** Begin Patch  \n  *** Add File:  a.txt \n+one\n *** End Patch \n\n");
    check_same("\u{feff}*** Begin Patch\r\n*** Add File: a.txt\r\n+one\r\n*** End Patch\r\n");
    check_same("*** Begin Patch\n\n*** Add File:a.txt\n+one\n\n*** End Patch");
}

#[test]
fn a_here_document_around_the_patch_is_taken_off() {
    let inner = patch(ADD);
    check_same(&format!("<<'EOF'\n{inner}EOF\n"));
    check_same(&format!("<<EOF\n{inner}EOF"));
    check_same(&format!("<<\"PATCH\"\n{inner}PATCH\n"));
    check_same(&format!("apply_patch <<'EOF'\n{inner}EOF\n"));
}

#[test]
fn a_markdown_fence_around_the_patch_is_taken_off() {
    let inner = patch(ADD);
    check_same(&format!("```\n{inner}```"));
    check_same(&format!("```diff\n{inner}```\n"));
    check_same(&format!("~~~\n{inner}\n~~~\n"));
    check_same(&format!("```sh\napply_patch <<'EOF'\n{inner}EOF\n```\n"));
}

#[test]
fn text_around_one_patch_is_passed_over_with_a_warning() {
    let workspace = Workspace::with(&[]);
    let text = format!("Here is the change:\n\n{}\nDone.", patch(ADD));
    let plan = Patch::parse(&text).expect("it is a patch").verify(&workspace.directory()).expect("it fits");
    let warnings: Vec<String> = plan.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["text around the patch was ignored (2 lines before it, 2 after it)"]);
    plan.apply().expect("it applies");
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn a_missing_marker_is_an_error() {
    check_error("", NO_BEGIN);
    check_error("*** Add File: a.txt\n+one\n*** End Patch", NO_BEGIN);
    check_error("*** Begin Patch\n*** Add File: a.txt\n+one", NO_END);
    check_error("*** End Patch\n*** Begin Patch", NO_END);
    check_error("```\n*** Begin Patch\n*** Add File: a.txt\n+one\n```", NO_END);
}

#[test]
fn text_around_several_patches_is_an_error() {
    check_error(&format!("One:\n{0}Two:\n{0}", patch(ADD)), NO_BEGIN);
    check_error(&format!("{}Remember:\n*** End Patch\nBye", patch(ADD)), NO_END);
}

#[test]
fn markers_within_a_files_lines_are_its_lines() {
    let workspace = Workspace::with(&[("a.md", "*** Begin Patch\nold\n*** End Patch\n")]);
    let sections = "*** Update File: a.md\n@@\n *** Begin Patch\n-old\n+new\n *** End Patch";
    workspace.apply(sections).expect("it applies");
    assert_eq!(workspace.read("a.md"), "*** Begin Patch\nnew\n*** End Patch\n");
}

#[test]
fn a_line_without_prefix_inside_a_chunk_is_an_error() {
    check_misfit(
        "one\ntwo\n",
        "@@\n one\ntwo\n-three",
        "invalid hunk at line 5, Expected update hunk to start with a @@ context marker, got: 'two'",
    );
}

#[test]
fn a_line_without_prefix_that_begins_a_chunk_is_an_error() {
    check_misfit("one\n", "@@\none", "invalid hunk at line 4, Unexpected line found in update hunk: 'one'.");
}

#[test]
fn a_header_with_nothing_below_it_is_an_error() {
    check_misfit("one\n", "@@ one", "invalid hunk at line 3, Update hunk does not contain any lines");
    check_misfit("one\n", "@@\n*** End of File", "Update hunk does not contain any lines");
}

#[test]
fn an_unknown_header_is_answered_with_the_known_ones() {
    check_refused(
        &[("a.txt", "one\n")],
        "*** Rename File: a.txt",
        "invalid hunk at line 2, '*** Rename File: a.txt' is not a valid hunk header. Valid hunk headers: '*** Add File: \
         {path}', '*** Delete File: {path}', '*** Update File: {path}'",
    );
    check_refused(&[], "*** Add File:\n+one", "'*** Add File:' is not a valid hunk header");
}
