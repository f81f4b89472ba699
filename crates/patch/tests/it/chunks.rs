//! Locations of chunks, and the lines that they leave alone.

use crate::workspace::{check, check_clear, check_misfit, check_warnings};

#[test]
fn the_first_chunk_needs_no_header() {
    check_clear("one\ntwo\n", "-one\n+uno\n two", "uno\ntwo\n");
    check_clear("one\ntwo\n", " one\n-two\n+due", "one\ndue\n");
}

#[test]
fn chunks_in_the_order_of_the_file_all_apply() {
    check_clear("a\nb\nc\nd\n", "@@\n a\n-b\n+B\n@@\n-d\n+D", "a\nB\nc\nD\n");
}

#[test]
fn a_chunk_that_belongs_above_the_one_before_is_not_found_and_its_place_is_told() {
    check_misfit(
        "a\nb\nc\nd\n",
        "@@\n-d\n+D\n@@\n a\n-b\n+B",
        "Failed to find expected lines in a.txt:\na\nb\nThese lines begin at line 1, above the previous chunk",
    );
}

#[test]
fn of_a_repeated_block_the_first_below_the_cursor_changes_with_a_warning() {
    check("x\ny\nx\ny\n", "@@\n-x\n+X", "X\ny\nx\ny\n");
    check("x\ny\nx\ny\nx\n", "@@\n-y\n+Y\n@@\n-x\n+X", "x\nY\nX\ny\nx\n");
    check_warnings(
        "x\ny\nx\ny\nx\n",
        "@@\n-x\n+X",
        &[
            "a.txt: chunk 1 was applied at line 1, but fits lines 3, 5 as well; if another place was meant, undo this and \
           add an @@ header or more context",
        ],
    );
}

#[test]
fn a_repeated_block_is_no_doubt_when_every_occurrence_has_its_chunk() {
    check_clear("x\ny\nx\n", "@@\n-x\n+X\n@@\n-x\n+X", "X\ny\nX\n");
}

#[test]
fn a_header_leads_to_the_block_below_it() {
    check_clear(
        "def a:\n  return 1\ndef b:\n  return 1\n",
        "@@ def b:\n-  return 1\n+  return 2",
        "def a:\n  return 1\ndef b:\n  return 2\n",
    );
}

#[test]
fn a_header_that_is_not_there_is_an_error() {
    check_misfit(
        "def a:\n  return 1\n",
        "@@ class Z\n-  return 1\n+  return 2",
        "Failed to find context 'class Z' in a.txt",
    );
}

#[test]
fn two_headers_in_a_row_narrow_the_place() {
    let file = "class A:\n  def run:\n    pass\nclass B:\n  def run:\n    pass\n";
    let after = "class A:\n  def run:\n    pass\nclass B:\n  def run:\n    go\n";
    check_clear(file, "@@ class B:\n@@   def run:\n-    pass\n+    go", after);
    check_clear(file, "@@ class B:\n\n@@ def run:\n-    pass\n+    go", after);
}

#[test]
fn a_header_that_occurs_twice_is_taken_first_and_warned_about() {
    let file = "class A:\n  def run:\n    pass\nclass B:\n  def run:\n    pass\n";
    check(
        file,
        "@@ def run:\n-    pass\n+    go",
        "class A:\n  def run:\n    go\nclass B:\n  def run:\n    pass\n",
    );
    check_warnings(
        file,
        "@@ def run:\n-    pass\n+    go",
        &[
            "a.txt: chunk 1 was applied at line 3, but fits line 6 as well; if another place was meant, undo this and add \
           an @@ header or more context",
        ],
    );
}

#[test]
fn a_header_with_other_indentation_still_matches() {
    check_clear("  def b:\n    x\n", "@@ def b:\n-    x\n+    y", "  def b:\n    y\n");
    check_clear("def b:\n    x\n", "@@     def b:\n-    x\n+    y", "def b:\n    y\n");
}

#[test]
fn a_header_may_be_repeated_for_a_second_chunk() {
    check_clear(
        "class A:\n  x\n  y\n  z\n",
        "@@ class A:\n-  x\n+  X\n@@ class A:\n-  z\n+  Z",
        "class A:\n  X\n  y\n  Z\n",
    );
    check_clear(
        "class A:\n  x\n  y\n  y\n",
        "@@ class A:\n-  x\n+  X\n@@ class A:\n-  y\n+  Y",
        "class A:\n  X\n  Y\n  y\n",
    );
}

#[test]
fn a_header_may_be_repeated_as_the_first_line_of_its_chunk() {
    check_clear("def a:\n  x\n", "@@ def a:\n def a:\n-  x\n+  y", "def a:\n  y\n");
}

#[test]
fn a_header_may_be_closed_as_in_a_unified_diff() {
    check_clear("def a:\n  x\n", "@@ def a: @@\n-  x\n+  y", "def a:\n  y\n");
}

#[test]
fn blanks_at_the_end_of_the_files_lines_do_not_matter_and_stay() {
    check_clear("one  \ntwo\t\nthree\n", "@@\n one\n two\n-three\n+tres", "one  \ntwo\t\ntres\n");
}

#[test]
fn other_indentation_matches_and_is_kept_where_lines_stay() {
    check_clear("\tif x:\n\t\told()\n", "@@\n if x:\n-    old()\n+    new()", "\tif x:\n    new()\n");
}

#[test]
fn typographic_characters_match_their_plain_ones_and_stay() {
    check_clear(
        "say “hi” – it’s\u{a0}fine\nold\n",
        "@@\n say \"hi\" - it's fine\n-old\n+new",
        "say “hi” – it’s\u{a0}fine\nnew\n",
    );
}

#[test]
fn at_the_end_of_the_file_the_last_of_repeated_blocks_changes() {
    check_clear("x\ny\nx\n", "@@\n-x\n+X\n*** End of File", "x\ny\nX\n");
}

#[test]
fn a_block_that_is_not_last_is_not_found_at_the_end_of_the_file() {
    check_misfit(
        "x\ny\n",
        "@@\n-x\n+X\n*** End of File",
        "Failed to find expected lines in a.txt:\nx\nThese lines begin at line 1, which is not the end of the file",
    );
}

#[test]
fn additions_alone_go_to_the_end() {
    check_clear("one\ntwo\n", "@@\n+three", "one\ntwo\nthree\n");
    check_clear("one\n\n", "+three", "one\n\nthree\n");
    check_clear("one\ntwo", "@@\n+three\n*** End of File", "one\ntwo\nthree\n");
}

#[test]
fn additions_alone_go_to_the_end_even_with_an_empty_line_below_them() {
    // The empty line separates sections; searching for one in the file would put the additions anywhere.
    check_clear("one\n\ntwo\n", "@@\n+three\n\n@@\n-one\n+uno", "uno\n\ntwo\nthree\n");
}

#[test]
fn additions_under_a_header_go_below_it() {
    check_clear("def a:\n  x\ndef b:\n  x\n", "@@ def a:\n+  new", "def a:\n  new\n  x\ndef b:\n  x\n");
    check_clear("a\nb\nc\n", "@@ a\n+A\n@@ c\n+C", "a\nA\nb\nc\nC\n");
}

#[test]
fn additions_under_a_repeated_header_are_warned_about() {
    check_warnings(
        "a\nb\na\n",
        "@@ a\n+A",
        &[
            "a.txt: chunk 1 was applied at line 1, but fits line 3 as well; if another place was meant, undo this and add \
           an @@ header or more context",
        ],
    );
}

#[test]
fn additions_go_back_to_a_header_only_if_it_occurs_once() {
    check_clear("a\nb\nc\n", "@@\n-c\n+C\n@@ a\n+x", "a\nx\nb\nC\n");
    check_misfit(
        "a\nb\na\nc\n",
        "@@\n-c\n+C\n@@ a\n+x",
        "Failed to find context 'a' in a.txt\nIt is line 1, but headers and chunks must be in the order of the file.",
    );
}

#[test]
fn insertions_go_between_their_context_also_before_the_first_line() {
    check_clear("one\nthree\n", "@@\n one\n+two\n three", "one\ntwo\nthree\n");
    check_clear("one\ntwo\n", "@@\n+zero\n one", "zero\none\ntwo\n");
    check_clear("one\ntwo\n", "@@\n two\n+three", "one\ntwo\nthree\n");
}

#[test]
fn removals_alone_may_leave_an_empty_file() {
    check_clear("one\ntwo\nthree\n", "@@\n-two", "one\nthree\n");
    check_clear("one\ntwo\n", "@@\n-one\n-two", "");
    check_clear("one", "@@\n-one", "");
}

#[test]
fn a_changed_file_gets_the_final_newline_that_it_lacks() {
    check_clear("one\ntwo", "@@\n-one\n+uno", "uno\ntwo\n");
    check_clear("one\ntwo", "@@\n two\n+three", "one\ntwo\nthree\n");
    check_clear("one\r\ntwo", "@@\n-one\n+uno", "uno\r\ntwo\r\n");
}

#[test]
fn line_endings_stay_and_added_lines_end_as_the_first_does() {
    check_clear("one\r\ntwo\r\n", "@@\n one\n-two\n+due\n+tre", "one\r\ndue\r\ntre\r\n");
    check_clear("one\r\ntwo\nthree\r\n", "@@\n one\n two\n+more\n three", "one\r\ntwo\nmore\r\nthree\r\n");
    check_clear("one\ntwo\r\nthree\n", "@@\n one\n two\n-three\n+tres", "one\ntwo\r\ntres\n");
}

#[test]
fn a_patch_with_carriage_returns_is_read_without_them() {
    check_clear("one\ntwo\n", "@@\r\n one\r\n-two\r\n+due\r", "one\ndue\n");
    check_clear("one\r\ntwo\r\n", "@@\r\n one\r\n-two\r\n+due\r", "one\r\ndue\r\n");
}

#[test]
fn a_byte_order_mark_belongs_to_no_line_and_stays() {
    check_clear("\u{feff}one\ntwo\n", "@@\n-one\n+uno", "\u{feff}uno\ntwo\n");
    check_clear("\u{feff}one\n", "@@\n-one", "");
}

#[test]
fn additions_to_an_empty_file_become_its_content() {
    check_clear("", "@@\n+one\n+two", "one\ntwo\n");
}

#[test]
fn an_empty_line_in_a_chunk_is_an_empty_line_that_stays() {
    check_clear("one\n\ntwo\n", "@@\n one\n\n-two\n+due", "one\n\ndue\n");
}

#[test]
fn empty_old_lines_at_the_end_that_the_file_lacks_are_passed_over() {
    check_clear("one\ntwo\n", "@@\n one\n-two\n+due\n ", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n one\n-two\n+due\n\n\n", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n one\n-two\n+due\n\n*** End of File", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n-two\n+due\n-", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n two\n \n+three", "one\ntwo\nthree\n");
}

#[test]
fn the_header_of_a_unified_diff_is_understood() {
    check_clear("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c", "a\nB\nc\n");
    check_clear("f() {\n b\n}\n", "@@ -2,1 +2,1 @@ f() {\n- b\n+ B", "f() {\n B\n}\n");
    check_clear("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B", "a\nB\n");
}

#[test]
fn the_numbers_of_a_unified_diff_choose_among_matches() {
    let file = "x\n1\nx\n2\nx\n3\n";
    check_clear(file, "@@ -3,1 +3,1 @@\n-x\n+X", "x\n1\nX\n2\nx\n3\n");
    check(file, "@@ -6,1 +6,1 @@\n-x\n+X", "x\n1\nx\n2\nX\n3\n");
    check(file, "@@ -900,1 +900,1 @@\n-x\n+X", "x\n1\nx\n2\nX\n3\n");
    check_warnings(
        file,
        "@@ -6,1 +6,1 @@\n-x\n+X",
        &[
            "a.txt: chunk 1 was applied at line 5, but fits lines 1, 3 as well; if another place was meant, undo this and \
           add an @@ header or more context",
        ],
    );
}

#[test]
fn the_line_behind_a_unified_diffs_numbers_may_be_missing() {
    check("a\nb\n", "@@ -2,1 +2,1 @@ fn lost() {\n-b\n+B", "a\nB\n");
    check_warnings(
        "a\nb\n",
        "@@ -2,1 +2,1 @@ fn lost() {\n-b\n+B",
        &["a.txt: chunk 1 was applied although the file has no line 'fn lost() {'"],
    );
}

#[test]
fn the_line_behind_a_unified_diffs_numbers_is_a_hint_too() {
    let file = "fn a() {\n x\n}\nfn b() {\n x\n}\n";
    check_clear(file, "@@ -2,1 +2,1 @@ fn b() {\n- x\n+ y", "fn a() {\n y\n}\nfn b() {\n x\n}\n");
    check_clear(file, "@@ -99,1 +99,1 @@ fn b() {\n- x\n+ y", "fn a() {\n x\n}\nfn b() {\n y\n}\n");
    check_clear("x\nfn a() {\n}\n", "@@ -9,1 +9,1 @@ fn a() {\n-x\n+y", "y\nfn a() {\n}\n");
}

#[test]
fn numbers_alone_place_additions_with_a_warning() {
    check("a\nb\nc\n", "@@ -1,0 +2,1 @@\n+x", "a\nx\nb\nc\n");
    check("a\nb\nc\n", "@@ -0,0 +1,1 @@\n+x", "x\na\nb\nc\n");
    check_clear("a\nb\nc\n", "@@ -3,0 +4,1 @@\n+x", "a\nb\nc\nx\n");
    check_warnings(
        "a\nb\nc\n",
        "@@ -1,0 +2,1 @@\n+x",
        &[
            "a.txt: chunk 1 has no context, so its lines were put before line 2, as its numbers say; check that",
        ],
    );
}

#[test]
fn chunks_may_share_lines_that_stay() {
    check_clear("a\nb\nc\nd\ne\n", "@@\n a\n-b\n+B\n c\n@@\n c\n-d\n+D\n e", "a\nB\nc\nD\ne\n");
    check_clear("a\nb\nc\n", "@@\n-a\n+A\n b\n@@\n-b\n+B", "A\nB\nc\n");
    check_clear("a\nb\n", "@@\n+x\n b\n@@\n b\n+y", "a\nx\nb\ny\n");
}

#[test]
fn a_place_among_shared_lines_that_was_not_taken_is_warned_about() {
    check("a\n}\nb\n}\n", "@@\n-a\n+A\n }\n@@\n }\n+x", "A\n}\nb\n}\nx\n");
    check_warnings(
        "a\n}\nb\n}\n",
        "@@\n-a\n+A\n }\n@@\n }\n+x",
        &[
            "a.txt: chunk 2 was applied at line 4, but fits line 2 as well; if another place was meant, undo this and add \
           an @@ header or more context",
        ],
    );
}

#[test]
fn chunks_may_not_share_lines_that_change() {
    check_misfit(
        "a\nb\nc\n",
        "@@\n a\n-b\n+B\n@@\n-b\n+X\n c",
        "Failed to find expected lines in a.txt:\nb\nc",
    );
}

#[test]
fn additions_for_the_end_come_after_those_behind_the_last_line() {
    check_clear("a\n", "@@\n+end\n@@\n a\n+b", "a\nb\nend\n");
}

#[test]
fn a_blank_line_at_the_end_of_both_sides_that_the_file_lacks_is_not_added() {
    check_clear("one\ntwo\n", "@@\n one\n-two\n-\n+due\n+", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n-two\n+due\n-\n+", "one\ndue\n");
    check_clear("one\ntwo\n", "@@\n one\n-two\n+due\n", "one\ndue\n");
    // A blank line that only the new side has is intended.
    check_clear("one\ntwo\n", "@@\n one\n-two\n+due\n+", "one\ndue\n\n");
    check_clear("one\ntwo\n", "@@\n one\n-two\n-\n+due\n+\n+", "one\ndue\n\n");
    check_clear("one\ntwo\n\n", "@@\n one\n-two\n-\n+due\n+", "one\ndue\n\n");
}

#[test]
fn every_line_of_a_file_with_mixed_endings_is_found_and_every_other_ending_stays() {
    let mixed = "one\r\ntwo\rthree\nfour\r\n";
    check_clear(mixed, "@@\n-three\n+tre", "one\r\ntwo\rtre\nfour\r\n");
    check_clear(mixed, "@@\n-two\n+due", "one\r\ndue\rthree\nfour\r\n");
    check_clear(mixed, "@@\n two\n three\n-four\n+quattro", "one\r\ntwo\rthree\nquattro\r\n");
    check_clear(mixed, "@@\n-three\n+tre\n+e mezzo", "one\r\ntwo\rtre\ne mezzo\nfour\r\n");
    check_clear(mixed, "@@\n-two\n-three\n+due\n+tre", "one\r\ndue\rtre\nfour\r\n");
    check_clear("one\rtwo\rthree\r", "@@\n-two\n+due", "one\rdue\rthree\r");
    check_clear("one\r\ntwo\nthree\r\n", "@@\n-two\n+due", "one\r\ndue\nthree\r\n");
}

#[test]
fn a_carriage_return_within_a_line_ends_no_line_where_the_patch_fits_without() {
    check_clear("a\rb\nc\n", "@@\n-c\n+d", "a\rb\nd\n");
    check_clear("a\rb\nc\n", "@@\n-a\rb\n+x", "x\nc\n");
}
