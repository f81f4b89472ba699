//! Complaints about unusable arguments, and lenient reading of the others.

use windlass_files::{grep_files, list_dir, read_file, view_image};

use crate::place::Place;

fn check(tool: &str, arguments: &str, expected: &str) {
    assert_eq!(Place::new("arguments").refusal(tool, arguments), expected, "{tool} {arguments}");
}

#[test]
fn a_refusal_names_the_argument_and_what_to_give() {
    check("read_file", "{}", "file_path: is missing, and nothing can be done without it");
    check("read_file", r#"{"file_path":7}"#, "file_path: got 7, but it must be a string");
    check("read_file", r#"{"file_path":"a\u0000b"}"#, "file_path: a path cannot contain a NUL character");
    check("read_file", r#"{"file_path":"a","offset":0}"#, "offset: counting begins at 1, so give 1 or more");
    check(
        "read_file",
        r#"{"file_path":"a","limit":-3}"#,
        "limit: got -3, but it must be a whole number that is not negative",
    );
    check(
        "read_file",
        r#"{"file_path":"a","mode":"slices"}"#,
        "mode: got \"slices\", but it must be one of slice, indentation",
    );
    check(
        "read_file",
        r#"{"file_path":"a","indentation":[]}"#,
        "indentation: got [], but it must be an object",
    );
    check(
        "read_file",
        r#"{"file_path":"a","indentation":{"include_header":"maybe"}}"#,
        "indentation.include_header: got \"maybe\", but it must be true or false",
    );
    check("list_dir", r#"{"dir_path":"a","depth":0}"#, "depth: counting begins at 1, so give 1 or more");
    check("grep_files", r#"{"path":"."}"#, "pattern: is missing, and nothing can be done without it");
    check(
        "grep_files",
        r#"{"pattern":"a","include":{}}"#,
        "include: got {}, but it must be a string or a list of strings",
    );
    check("view_image", r#"{"detail":"low"}"#, "path: is missing, and nothing can be done without it");
}

#[test]
fn defaults_are_those_of_the_schema() {
    let read = read_file::Arguments::from_json(r#"{"file_path":"a"}"#).unwrap();
    assert_eq!((read.offset, read.limit, read.mode), (1, 2000, read_file::Mode::Slice));
    assert_eq!((read.indentation.max_levels, read.indentation.include_header), (0, true));
    let list = list_dir::Arguments::from_json("").unwrap();
    assert_eq!((list.dir_path.to_str(), list.offset, list.limit, list.depth), (Some("."), 1, 25, 2));
    let grep = grep_files::Arguments::from_json(r#"{"pattern":"a","limit":99999}"#).unwrap();
    assert_eq!((grep.limit, grep.output), (2000, grep_files::Output::Files));
    let view = view_image::Arguments::from_json(r#"{"path":"a","detail":null}"#).unwrap();
    assert_eq!(view.detail, view_image::Detail::Auto);
}

#[test]
fn numbers_may_come_as_text_and_paths_under_the_other_name() {
    let read = read_file::Arguments::from_json(r#"{"path":"a","offset":"3","limit":4.0}"#).unwrap();
    assert_eq!((read.file_path.to_str(), read.offset, read.limit), (Some("a"), 3, 4));
    assert_eq!(read.remarks, [""; 0]);
}

#[test]
fn what_is_not_an_object_is_refused() {
    for text in ["[]", "{", "7", "\"a\""] {
        let refusal = read_file::Arguments::from_json(text).unwrap_err().to_string();
        assert!(refusal.starts_with("the arguments must be a JSON object: "), "{refusal}");
    }
}

#[test]
fn unknown_arguments_are_ignored_and_named() {
    let place = Place::with("unknown", &[("a", "x\n")]);
    let text = place.text("read_file", r#"{"file_path":"a","lines":3,"indentation":{"levels":1}}"#);
    assert_eq!(
        text,
        "Absolute path: HERE/a\nL1: x\n\
         Note: argument `lines` is not known and was ignored\n\
         Note: argument `indentation.levels` is not known and was ignored"
    );
}
