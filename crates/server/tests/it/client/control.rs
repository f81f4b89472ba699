//! Starting, streaming, writing, resizing, waiting, stopping and reading.

use std::time::Duration;

use windlass_server::client::shapes::{
    CommandExecParams, EndCause, OutputStream, SessionState, SpanChoice, TerminalSize, WaitMet, WaitUntil,
};
use windlass_server::client::{Client, ClientError, ClientOptions, ClientPiece, Io, Output, Slowness, Start};

use super::rig::{Place, in_time};

async fn until_printed(output: &mut Output, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let piece = in_time(output.next()).await.expect("connected");
        let Some(ClientPiece::Bytes { bytes, .. }) = piece else { panic!("{piece:?} after {seen:?}") };
        seen.push_str(&String::from_utf8_lossy(&bytes));
    }
    seen
}

#[tokio::test]
async fn an_engine_in_this_process_is_a_server_like_any_other() {
    let place = Place::open("client-memory").await;
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let server = place.server.clone();
    let serving = async move { server.serve_streams(tokio::io::split(theirs), std::future::pending()).await };
    let serving = tokio::spawn(serving);
    let client =
        Client::on_streams(tokio::io::split(ours), ClientOptions::new("test")).await.expect("a server");
    let exec = CommandExecParams {
        command: vec!["echo".to_owned(), "hello".to_owned()],
        ..CommandExecParams::default()
    };
    assert_eq!(client.exec(&exec).await.expect("it runs").stdout, "hello\n");
    let (process, mut output) =
        client.start(place.sh("echo one; echo two >&2; exit 3")).await.expect("it starts");
    let exit = in_time(process.wait()).await.expect("it ends");
    assert_eq!((exit.code, exit.signal, exit.timed_out), (3, None, false));
    let mut seen = Vec::new();
    while let Some(piece) = output.next().await.expect("connected") {
        let ClientPiece::Bytes { stream, bytes, .. } = piece else { panic!("{piece:?}") };
        seen.push((stream, String::from_utf8_lossy(&bytes).into_owned()));
    }
    seen.sort_by_key(|(stream, _)| *stream == OutputStream::Stderr);
    let expected = [(OutputStream::Stdout, "one\n"), (OutputStream::Stderr, "two\n")];
    assert_eq!(seen, expected.map(|(stream, text)| (stream, text.to_owned())));
    assert_eq!(output.position(), Some(8));
    drop((client, process, output));
    in_time(serving).await.expect("it ends with its client");
    place.close().await;
}

#[tokio::test]
async fn input_goes_in_until_it_is_closed() {
    let place = Place::open("client-input").await;
    let client = place.client().await;
    let (process, mut output) =
        client.start(Start { io: Io::Pipes, ..place.sh("cat; echo end") }).await.expect("it starts");
    // More than all queues on the way hold.
    let sent: Vec<u8> = (0..5_000_000).map(|place: u32| place.to_le_bytes()[place as usize % 4]).collect();
    let writing = async {
        process.write(&sent).await.expect("it reads");
        process.close_stdin().await.expect("it can be closed");
    };
    let (rest, ()) = in_time(async { tokio::join!(output.rest(), writing) }).await;
    assert!(rest.expect("connected") == [&sent[..], b"end\n"].concat());
    assert!(matches!(process.write(b"more").await, Err(ClientError::Refused(_))));
    let receipt = process.wait().await.expect("it has ended").receipt.clone().expect("a receipt");
    assert_eq!((receipt.cause, receipt.stdout_bytes), (EndCause::Itself, 5_000_004));
    place.close().await;
}

#[tokio::test]
async fn a_terminal_has_a_size_and_can_be_typed_at() {
    let place = Place::open("client-terminal").await;
    let client = place.client().await;
    let io = Io::Terminal(TerminalSize { rows: 30, cols: 90 });
    let script = "stty size; read line; echo got $line; trap 'stty size; exit 4' WINCH; echo set; \
                  while :; do sleep 0.02; done";
    let (process, mut output) = client.start(Start { io, ..place.sh(script) }).await.expect("it starts");
    until_printed(&mut output, "30 90\r\n").await;
    process.write(b"words\n").await.expect("it reads");
    until_printed(&mut output, "got words\r\nset\r\n").await;
    process.resize(TerminalSize { rows: 40, cols: 100 }).await.expect("it has a size");
    until_printed(&mut output, "40 100\r\n").await;
    assert_eq!(in_time(process.wait()).await.expect("it ends").code, 4);
    place.close().await;
}

#[tokio::test]
async fn it_can_be_waited_for_signalled_stopped_and_read_again() {
    let place = Place::open("client-control").await;
    let client = place.client().await;
    let script = "trap 'echo heard' INT; echo ready; while :; do sleep 0.02; done";
    let (process, mut output) = client.start(place.sh(script)).await.expect("it starts");
    let until = WaitUntil { pattern: Some("^ready$".to_owned()), ..WaitUntil::default() };
    let met = in_time(process.wait_until(until, None)).await.expect("it comes");
    assert_eq!((met.met, met.matched.expect("a match").text.as_str()), (WaitMet::Pattern, "ready"));
    process.signal("INT").await.expect("it can be signalled");
    until_printed(&mut output, "ready\nheard\n").await;
    let listed = client.sessions().await.expect("it keeps sessions");
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].state, Some(listed[0].session_id)), (SessionState::Running, process.session_id()));
    let exit = in_time(process.stop()).await.expect("it ends");
    assert_eq!(exit.receipt.as_ref().expect("a receipt").cause, EndCause::Stopped);
    assert_eq!(in_time(process.stop()).await.expect("it has ended"), exit, "once more is not too much");
    let read = process.read(SpanChoice { from: 6, to: Some(11) }).await.expect("it is kept");
    assert_eq!((read.chunks[0].offset, read.chunks[0].delta_base64.as_str()), (6, "aGVhcmQ="));
    assert!(matches!(process.signal("NOSUCH").await, Err(ClientError::Refused(_))));
    let timeout = Some(Duration::from_millis(1));
    let (process, _) = client.start(Start { timeout, ..place.sh("sleep 1000") }).await.expect("it starts");
    let exit = in_time(process.wait()).await.expect("it ends");
    assert_eq!((exit.code, exit.timed_out), (124, true));
    let missing = Start::new(["/no/such/program"], place.sh("").directory);
    let refused = client.start(missing).await.map(|_| ()).expect_err("it cannot be started");
    assert!(refused.to_string().contains("No such file or directory"), "{refused}");
    place.close().await;
}

#[tokio::test]
async fn a_session_can_be_followed_from_any_byte_on() {
    let place = Place::open("client-subscribe").await;
    let client = place.client().await;
    let (process, output) = client.start(place.sh("seq 100000; echo end")).await.expect("it starts");
    drop(output);
    in_time(process.wait()).await.expect("it ends");
    let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect::<String>() + "end\n";
    let session = process.session_id().expect("it has a session");
    let mut follower = client.subscribe(session, 500_000).await.expect("it is kept");
    let rest = in_time(follower.rest()).await.expect("connected");
    assert_eq!(String::from_utf8_lossy(&rest), expected[500_000..]);
    assert!(matches!(client.subscribe(session + 77, 0).await, Err(ClientError::Refused(_))));
    place.close().await;
}

#[tokio::test]
async fn who_does_not_take_its_output_holds_up_nobody_and_loses_nothing() {
    let place = Place::open("client-slow").await;
    let client = place.client().await;
    let (slow, mut slow_output) = client.start(place.sh("seq 6000000")).await.expect("it starts");
    let (other, mut other_output) = client.start(place.sh("seq 300000; exit 5")).await.expect("it starts");
    let others = in_time(other_output.rest()).await.expect("connected");
    assert_eq!(others.len(), (1..=300_000).map(|number: u32| number.to_string().len() + 1).sum::<usize>());
    assert_eq!(in_time(other.wait()).await.expect("it ends").code, 5);
    // It ends although its output is not read.
    assert_eq!(in_time(slow.wait()).await.expect("it ends").code, 0);
    let mut expected = 1_u32;
    let mut line = Vec::new();
    while let Some(piece) = in_time(slow_output.next()).await.expect("connected") {
        let ClientPiece::Bytes { bytes, .. } = piece else { panic!("{piece:?}") };
        for byte in bytes {
            if byte == b'\n' {
                assert_eq!(String::from_utf8_lossy(&line), expected.to_string());
                expected += 1;
                line.clear();
            } else {
                line.push(byte);
            }
        }
    }
    assert_eq!(expected, 6_000_001);
    place.close().await;
}

#[tokio::test]
async fn who_wants_every_byte_of_an_endless_stream_slows_the_process_down() {
    let place = Place::open("client-pace").await;
    let client = place.client().await;
    let slowness = Slowness::HoldUp;
    let (process, mut output) = client.start(Start { slowness, ..place.sh("yes") }).await.expect("it starts");
    let mut taken = 0;
    while taken < 64 << 20 {
        let piece = in_time(output.next()).await.expect("connected").expect("it is endless");
        let ClientPiece::Bytes { offset, bytes, .. } = piece else { panic!("{piece:?}") };
        assert_eq!(offset, taken, "nothing is missing");
        taken += bytes.len() as u64;
    }
    drop(output);
    in_time(process.stop()).await.expect("it ends");
    place.close().await;
}

#[tokio::test]
async fn processes_end_with_the_last_of_their_client() {
    let place = Place::open("client-gone").await;
    let client = place.client().await;
    let (process, mut output) = client.start(place.sh("echo up; exec sleep 1000")).await.expect("it starts");
    until_printed(&mut output, "up\n").await;
    drop((client, process));
    assert_eq!(place.survivors().len(), 1, "somebody still listens");
    drop(output);
    place.close().await;
}
