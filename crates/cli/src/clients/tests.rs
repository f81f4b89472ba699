//! Properties of edits for arbitrary texts: an edit succeeds completely or fails, a second one changes nothing, and it
//! can be undone.

use clap::ValueEnum;
use proptest::prelude::*;

use super::*;

/// Fragments of all three formats, so that some texts are nearly valid.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\n",
    "\r\n",
    "\n  ",
    "\n    ",
    "\t",
    " ",
    "// c\n",
    "/* c */",
    "# c\n",
    "\"mcpServers\": {",
    "\"servers\": {",
    "\"context_servers\": {",
    "\"a\": {}",
    "\"windlass\": {",
    "\"command\": \"x\"",
    "[mcp_servers]\n",
    "[mcp_servers.windlass]\n",
    "[mcp_servers.a]\n",
    "[[t]]\n",
    "mcp_servers.b.c = 1\n",
    "command = 'x'\n",
    "a = [1,\n2]\n",
    "'''\n[x]\n'''\n",
    "extensions:\n",
    "extensions: {}\n",
    "  windlass:\n",
    "    cmd: x\n",
    "    args:\n",
    "    - mcp\n",
    "  a:\n",
    "    b: |\n      # text\n",
    "- i\n",
    "k: v\n",
    "---\n",
    "é",
    "\\",
    "\u{feff}",
    "1",
    "null",
];

/// Valid beginnings, so that the parsers get further into the text.
const WHOLE: &[&str] = &[
    "",
    "{}",
    "{\n  // c\n  \"mcpServers\": {\n    \"a\": {}, // c\n  },\n}\n",
    "{\"servers\": {\"windlass\": {\"command\": \"x\", \"env\": {}}}}",
    "a = 1\n[mcp_servers.windlass]\nurl = 'x'\n[mcp_servers.windlass.env]\nA = 'b'\n# c\n[z]\n",
    "extensions:\n  a:\n    b: 1\n  windlass:\n    cmd: y\n\n  # c\n  z:\n    b: 2\nk: v\n",
];

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..24);
    (prop::sample::select(WHOLE), pieces).prop_map(|(whole, pieces)| whole.to_owned() + &pieces.concat())
}

/// Whether everything in a text occurs in the other one, in the same order; commas and blanks may differ.
fn is_within(text: &str, other: &str) -> bool {
    let says =
        |text: &str| text.replace("extensions: {}", "extensions:").replace([',', ' ', '\n', '\r', '\t'], "");
    let mut rest = says(other).chars().collect::<Vec<_>>().into_iter();
    says(text).chars().all(|wanted| rest.any(|found| found == wanted))
}

proptest! {
    #[test]
    fn an_edit_is_whole_repeatable_and_can_be_undone(text in texts()) {
        let server = Server { command: "w \"x\"".to_owned(), arguments: vec!["mcp".to_owned(), "- y: #".to_owned()] };
        for client in McpClient::value_variants() {
            let target = Target { client: *client, path: PathBuf::new() };
            let Ok(with) = target.with_server(&text, &server) else { continue };
            prop_assert_eq!(target.with_server(&with, &server), Ok(with.clone()), "{:?} {:?}", client, text);
            prop_assert_eq!(target.has_server(&with), Ok(true), "{:?} {:?}", client, text);
            if target.has_server(&text) == Ok(false) {
                prop_assert!(is_within(&text, &with), "{:?} {:?} {:?}", client, text, with);
            }
            let without = target.without_server(&with);
            prop_assert!(without.is_ok(), "{:?} {:?} {:?}", client, text, without);
            let without = without.unwrap_or_default();
            prop_assert_eq!(target.has_server(&without), Ok(false), "{:?} {:?}", client, text);
        }
    }
}
