//! The tools, called as a protocol would call them.
#![forbid(unsafe_code)]

#[test]
fn a_tool_that_does_not_exist_is_named() {
    let error = windlass_tools::UnknownTool("exec".to_owned());
    assert_eq!(error.to_string(), "there is no tool `exec`");
}
