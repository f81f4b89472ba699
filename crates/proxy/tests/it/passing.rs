//! Plain HTTP requests that are passed on: what the far side gets of them, and what the client gets of the answer.

use windlass_proxy::decision::{HowEnded, Protocol};

use crate::far::{says, web};
use crate::rig::{Rig, get, within};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\npath /page body ";

#[tokio::test]
async fn a_request_is_passed_on_and_its_answer_comes_back() {
    let (server, mut requests) = web().await;
    let mut rig = Rig::start(&["allowed.test"], server).await;
    assert_eq!(rig.exchange(&get("allowed.test", "/page")).await, ANSWER);
    let request = "GET /page HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n";
    assert_eq!(within(requests.recv()).await.as_deref(), Some(request));
    assert_eq!(rig.decision().await.protocol, Protocol::Http);
    let ending = rig.ending().await;
    assert_eq!((ending.sent, ending.received), (request.len() as u64, ANSWER.len() as u64));
    assert_eq!(ending.how, HowEnded::Finished);
}

#[tokio::test]
async fn a_second_request_behind_the_first_does_not_arrive() {
    let (server, mut requests) = web().await;
    let rig = Rig::start(&["allowed.test"], server).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let head = "POST http://allowed.test/page HTTP/1.1\r\nHost: allowed.test\r\n";
    for (body, arrives) in [
        (
            format!("Content-Length: 4\r\n\r\nbody{smuggled}"),
            "Content-Length: 4\r\nConnection: close\r\n\r\nbody",
        ),
        (
            format!("Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n{smuggled}"),
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ),
        (format!("\r\n{smuggled}"), "Connection: close\r\n\r\n"),
    ] {
        let answer = rig.exchange(format!("{head}{body}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let arrived = within(requests.recv()).await.expect("a request");
        assert_eq!(arrived, format!("POST /page HTTP/1.1\r\nHost: allowed.test\r\n{arrives}"));
    }
}

#[tokio::test]
async fn interim_answers_pass_and_the_body_waits_for_them() {
    let (server, _requests) = web().await;
    let rig = Rig::start(&["allowed.test"], server).await;
    let mut client = rig.connect().await;
    let head = "POST http://allowed.test/page HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\n";
    client.send(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"body").await;
    assert!(client.rest().await.ends_with("path /page body body"));
}

/// Checks the client's answer when the far side sends this.
async fn check_answer(said: &'static [u8], expected: &str, how: fn(&HowEnded) -> bool) {
    let mut rig = Rig::start(&["allowed.test"], says(said).await).await;
    let answer = rig.exchange(&get("allowed.test", "/")).await;
    assert!(answer.starts_with(expected), "{answer}");
    rig.decision().await;
    let ending = rig.ending().await;
    assert!(how(&ending.how), "{ending:?}");
}

#[tokio::test]
async fn an_answer_that_is_none_is_replaced_by_one() {
    let broken = |how: &HowEnded| matches!(how, HowEnded::Broken(_));
    check_answer(b"SSH-2.0-x\r\n\r\n", "HTTP/1.1 502 the answer of the far side is no HTTP", broken).await;
    check_answer(b"", "HTTP/1.1 502 ", broken).await;
    check_answer(b"HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 502 ", broken).await;
    check_answer(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 502 ", broken).await;
    let finished = |how: &HowEnded| *how == HowEnded::Finished;
    let old = "HTTP/1.0 200 \u{fffd}\r\nX: \u{fffd}\r\nConnection: close\r\n\r\nuntil the end";
    check_answer(b"HTTP/1.0 200 \xe9\r\nX: \xe9\r\n\r\nuntil the end", old, finished).await;
}

#[tokio::test]
async fn a_body_that_is_malformed_or_breaks_off_ends_the_exchange() {
    let (server, _requests) = web().await;
    let mut rig = Rig::start(&["allowed.test"], server).await;
    let head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
    for body in ["Transfer-Encoding: chunked\r\n\r\nxyz", "Content-Length: 9\r\n\r\nfour"] {
        let mut client = rig.connect().await;
        client.send(format!("{head}{body}").as_bytes()).await;
        tokio::io::AsyncWriteExt::shutdown(&mut client.0).await.expect("half a close");
        assert_eq!(client.rest().await, "");
        rig.decision().await;
        assert!(matches!(rig.ending().await.how, HowEnded::Broken(_)));
    }
}
