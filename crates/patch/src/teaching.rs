//! The descriptions of the patch format for models: the grammar for tools with free text, and texts for all. The
//! grammar is stricter than the parser: it teaches the plain form.

/// The format as a Lark grammar, for tools that take free text.
pub fn grammar() -> &'static str {
    GRAMMAR
}

/// The description of a tool that takes the patch as free text.
pub fn description() -> &'static str {
    DESCRIPTION
}

/// The description of a tool that takes the patch in the string `input`.
pub fn function_description() -> &'static str {
    FUNCTION_DESCRIPTION
}

const GRAMMAR: &str = r#"start: begin section+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?

section: add_file | delete_file | update_file
add_file: "*** Add File: " path LF added_line*
delete_file: "*** Delete File: " path LF
update_file: "*** Update File: " path LF move_to? chunk+
move_to: "*** Move to: " path LF

chunk: chunk_header+ chunk_line+ end_of_file?
chunk_header: "@@" LF | "@@ " REST LF
chunk_line: context_line | removed_line | added_line
context_line: " " REST? LF
removed_line: "-" REST? LF
added_line: "+" REST? LF
end_of_file: "*** End of File" LF

path: REST
REST: /[^\r\n]+/

%import common.LF
"#;

const DESCRIPTION: &str = "Creates, edits, moves and deletes files by a patch. Send the patch itself as plain text: no JSON, \
no markdown fence. It is applied whole or not at all, and an error shows the lines of the file that come closest.";

const FUNCTION_DESCRIPTION: &str = r#"Creates, edits, moves and deletes files by a patch, which is given whole in `input`. It is applied as a whole or not at all.

A patch stands between `*** Begin Patch` and `*** End Patch` and has one section for each file:
- `*** Add File: PATH`, then the whole content, every line with `+` before it. Missing directories are created.
- `*** Delete File: PATH`, and nothing below.
- `*** Update File: PATH`, perhaps `*** Move to: NEW PATH`, then chunks.

A chunk begins with `@@`. Every line in it has one character before it: a blank if it stays, `-` if it goes, `+` if it comes. Copy the lines that stay and go exactly from the file, and give about three that stay above and below each change. Where those lines occur more than once, write a line from above them, such as the function's first, behind the `@@`; two such headers in a row narrow it further. Chunks come in the order of the file. A chunk that ends with `*** End of File` fits only at the end.

Paths are relative to the working directory.

*** Begin Patch
*** Update File: src/greet.py
@@ def greet(name):
     name = name.strip()
-    print("Hi " + name)
+    print(f"Hello, {name}!")
     return name
*** Add File: docs/greet.md
+# Greeting
+
+Says hello.
*** Delete File: src/old_greet.py
*** End Patch"#;
