//! Everything is bounded, and no input makes the crate panic or take long.

use std::fs::File;

use proptest::prelude::*;
use windlass_patch::{MAX_FILE, MAX_PATCH, Patch, fuzzing};

use crate::workspace::{Workspace, check_misfit};

/// Pieces of patches and files, so that random texts get further than their first line.
const PIECES: [&str; 30] = [
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Add File: a\n",
    "*** Delete File: a\n",
    "*** Update File: a\n",
    "*** Move to: b\n",
    "*** End of File\n",
    "@@\n",
    "@@ x\n",
    "@@ -1,2 +1,2 @@\n",
    "@@ -3 +3 @@ x\n",
    "+x\n",
    "-x\n",
    " x\n",
    "x\n",
    "+y\n",
    "-y\n",
    " y\n",
    "y\n",
    "\n",
    " \n",
    "\r\n",
    "\0",
    "```\n",
    "apply_patch <<'EOF'\n",
    "EOF\n",
    "cd a && ",
    "“x”\n",
    "\u{feff}",
    "'",
];

proptest! {
    #[test]
    fn any_bytes_are_read_and_applied(data in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzzing::patch_any(&data);
    }

    #[test]
    fn any_pieces_are_read_and_applied(
        file in prop::collection::vec(prop::sample::select(&["x\n", "y\n", "\n", "x\r\n", " x\n"][..]), 0..12),
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30),
    ) {
        let text = format!("{}\0*** Begin Patch\n*** Update File: a\n{}*** End Patch", file.concat(), pieces.concat());
        fuzzing::patch_any(text.as_bytes());
        fuzzing::patch_any(pieces.concat().as_bytes());
    }
}

#[test]
fn a_patch_that_is_too_long_is_refused() {
    let text = "x".repeat(MAX_PATCH + 1);
    let error = Patch::parse(&text).expect_err("it is too long").to_string();
    assert_eq!(
        error,
        format!("patch rejected: it has {} bytes, and {MAX_PATCH} are the most", MAX_PATCH + 1)
    );
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    let workspace = Workspace::with(&[]);
    let file = File::create(workspace.path("a.txt")).expect("a file can be made");
    file.set_len(MAX_FILE + 1).expect("it can be made long");
    let error = workspace.apply("*** Update File: a.txt\n@@\n-x\n+y").expect_err("it is too long");
    let message =
        format!("Failed to read file to update a.txt: it has more than {MAX_FILE} bytes, which are the most");
    assert_eq!(error, message);
}

#[test]
fn repetitions_without_end_are_searched_in_linear_time() {
    // Comparing all lines at every place would take ten thousand million steps.
    let file = "a\n".repeat(200_000);
    let chunk = format!("@@\n{} b\n-b\n", " a\n".repeat(50_000));
    check_misfit(&file, &chunk, "Failed to find expected lines in a.txt");
}

#[test]
fn chunks_without_end_in_a_long_file_are_refused() {
    let file = "a\n".repeat(400_000);
    check_misfit(&file, &"@@\n-a\n".repeat(501), "too many chunks for a file as long as a.txt");
}
