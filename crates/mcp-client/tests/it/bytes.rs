//! Any bytes from a server: it is up or down in the end, and nothing else happens.

use proptest::prelude::*;
use windlass_mcp_client::Standing;
use windlass_testkit::Scratch;

use crate::rig::{Rig, python};

/// Lines that lead a little further into the protocol, and bytes that do not.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let handshake =
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}"#;
    let listing =
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},7,{"name":"a"}],"nextCursor":"x"}}"#;
    let known = [
        handshake,
        listing,
        r#"{"id":1,"error":[]}"#,
        r#"{"id":2,"method":"ping"}"#,
        "[[",
        "{}",
        "\"",
        "null",
    ];
    let line = prop_oneof![
        proptest::sample::select(known.to_vec()).prop_map(|line| [line.as_bytes(), b"\n"].concat()),
        proptest::collection::vec(any::<u8>(), 0..60),
        Just(b"\n".to_vec()),
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

/// The state of a server that prints these bytes and exits.
fn check(bytes: &[u8]) -> Standing {
    let scratch = Scratch::new("bytes");
    let file = scratch.path().join("output");
    std::fs::write(&file, bytes).expect("a file");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let path = file.to_str().expect("a plain path");
        let rig = Rig::start("bytes", vec![python("peer", "cat", &[path])]);
        let standing = rig.ready().await.standing;
        rig.end().await;
        standing
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_leave_a_server_up_or_down(bytes in output()) {
        match check(&bytes) {
            Standing::Up(_) => {}
            Standing::Down { reason } => prop_assert!(!reason.is_empty()),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
