//! The client with a server that the test plays, so that every message comes exactly when it should.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::queue::QUEUE_LIMIT;
use super::*;
use crate::client::shapes::{AbsolutePath, OutputStream};

/// The server's side of a connection.
struct Played {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    sink: WriteHalf<DuplexStream>,
}

impl Played {
    /// A client after the handshake, and its server.
    async fn with_client() -> (Client, Self) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (source, sink) = tokio::io::split(theirs);
        let mut played = Self { lines: BufReader::new(source).lines(), sink };
        let introducing = async {
            let hello = played.asked("initialize").await;
            assert_eq!(hello["params"]["capabilities"]["experimentalApi"], true);
            let result =
                json!({ "userAgent": "p", "codexHome": "/", "platformFamily": "u", "platformOs": "l" });
            played.answer(&hello, result).await;
            assert_eq!(played.next().await["method"], "initialized");
        };
        let client = Client::on_streams(tokio::io::split(ours), ClientOptions::new("test"));
        let (client, ()) = tokio::join!(client, introducing);
        (client.expect("it is introduced"), played)
    }

    async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("it can be read").expect("there is one");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn asked(&mut self, method: &str) -> Value {
        let request = self.next().await;
        assert_eq!(request["method"], method, "{request}");
        request
    }

    async fn say(&mut self, message: Value) {
        self.sink.write_all(format!("{message}\n").as_bytes()).await.expect("it is taken");
    }

    async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({ "id": request["id"], "result": result })).await;
    }

    /// Sends output of a process, as Windlass does.
    async fn prints(&mut self, handle: &Value, (seq, offset): (u64, u64), bytes: &[u8]) {
        let delta = STANDARD.encode(bytes);
        let params = json!({ "processHandle": handle, "stream": "stdout", "deltaBase64": delta, "capReached": false,
            "seq": seq, "offset": offset });
        self.say(json!({ "method": "process/outputDelta", "params": params })).await;
    }

    async fn exits(&mut self, handle: &Value, code: i32) {
        let params = json!({ "processHandle": handle, "exitCode": code, "stdout": "", "stdoutCapReached": false,
            "stderr": "", "stderrCapReached": false, "outputDrainTimedOut": false });
        self.say(json!({ "method": "process/exited", "params": params })).await;
    }

    /// Lets the client start a process, and returns its handle.
    async fn starts(&mut self, client: &Client, result: Value) -> (Process, Output, Value) {
        let starting = client.start(start());
        let answering = async {
            let request = self.asked("process/spawn").await;
            self.answer(&request, result).await;
            request["params"]["processHandle"].clone()
        };
        let (started, handle) = tokio::join!(starting, answering);
        let (process, output) = started.expect("it starts");
        (process, output, handle)
    }
}

fn start() -> Start {
    Start::new(["x"], AbsolutePath::new("/").expect("absolute"))
}

fn bytes(offset: u64, text: &str) -> ClientPiece {
    ClientPiece::Bytes { stream: OutputStream::Stdout, offset, bytes: text.into() }
}

#[tokio::test]
async fn output_that_comes_before_the_answer_is_not_lost() {
    let (client, mut played) = Played::with_client().await;
    let starting = client.start(start());
    let answering = async {
        let request = played.asked("process/spawn").await;
        let handle = &request["params"]["processHandle"];
        played.prints(handle, (1, 0), b"one").await;
        played.answer(&request, json!({ "sessionId": 7, "pid": 8 })).await;
        played.prints(handle, (2, 3), b"two").await;
        played.exits(handle, 3).await;
    };
    let (started, ()) = tokio::join!(starting, answering);
    let (process, mut output) = started.expect("it starts");
    assert_eq!((process.session_id(), process.pid()), (Some(7), Some(8)));
    assert_eq!(process.wait().await.expect("it has ended").code, 3);
    assert_eq!(output.next().await.expect("connected"), Some(bytes(0, "one")));
    assert_eq!(output.next().await.expect("connected"), Some(bytes(3, "two")));
    assert_eq!(output.next().await.expect("connected"), None);
    assert_eq!(output.position(), Some(6));
}

#[tokio::test]
async fn a_server_that_counts_nothing_loses_nothing() {
    let (client, mut played) = Played::with_client().await;
    let (process, mut output, handle) = played.starts(&client, json!({})).await;
    let telling = async {
        for _ in 0..3 {
            played.prints(&handle, (0, 0), &[b'x'; QUEUE_LIMIT / 2]).await;
        }
        played.exits(&handle, 0).await;
        played
    };
    let (rest, _played) = tokio::join!(output.rest(), telling);
    assert_eq!(rest.expect("connected").len(), QUEUE_LIMIT / 2 * 3);
    assert!(matches!(process.read(Default::default()).await, Err(ClientError::NoSessions)));
}

#[tokio::test]
async fn who_does_not_take_its_output_holds_up_nobody_and_reads_it_later() {
    let (client, mut played) = Played::with_client().await;
    let (_slow, mut slow_output, slow) = played.starts(&client, json!({ "sessionId": 1, "pid": 1 })).await;
    let (fast, _fast_output, fast_handle) = played.starts(&client, json!({ "sessionId": 2, "pid": 2 })).await;
    let step = QUEUE_LIMIT / 4;
    let all: Vec<u8> = (0..12 * step).map(|place| u8::try_from(place / step).unwrap_or_default()).collect();
    for (place, piece) in all[..8 * step].chunks(step).enumerate() {
        played.prints(&slow, (place as u64 + 1, (place * step) as u64), piece).await;
    }
    played.exits(&fast_handle, 5).await;
    assert_eq!(fast.wait().await.expect("nobody holds it up").code, 5);
    let serving = async {
        // The client asks from where the queue ended, and by then there is more.
        let mut at = 4 * step;
        while at < 12 * step {
            let request = played.asked("session/read").await;
            assert_eq!(request["params"]["sessionId"], 1);
            assert_eq!(request["params"]["span"]["from"], at);
            let to = (at + 2 * step)
                .min(request["params"]["span"]["to"].as_u64().map_or(12 * step, |to| to as usize));
            let chunk = json!({ "offset": at, "stream": "stdout", "atUs": 0, "deltaBase64": STANDARD.encode(&all[at..to]) });
            let result = json!({ "sessionId": 1, "end": 12 * step, "closed": false, "chunks": [chunk], "next": to,
                "truncated": true });
            played.answer(&request, result).await;
            // Output that the client reads and notifications overlap.
            played.prints(&slow, (9, (11 * step) as u64), &all[11 * step..]).await;
            at = to;
            if at >= 11 * step {
                break;
            }
        }
        played.exits(&slow, 0).await;
        played
    };
    let (rest, _played) = tokio::join!(slow_output.rest(), serving);
    assert!(rest.expect("connected") == all, "nothing is missing and nothing comes twice");
}

#[tokio::test]
async fn who_wants_all_of_it_holds_up_the_connection() {
    let (client, mut played) = Played::with_client().await;
    let starting = client.start(Start { slowness: Slowness::HoldUp, ..start() });
    let answering = async {
        let request = played.asked("process/spawn").await;
        played.answer(&request, json!({ "sessionId": 1, "pid": 1 })).await;
        request["params"]["processHandle"].clone()
    };
    let (started, handle) = tokio::join!(starting, answering);
    let (process, mut output) = started.expect("it starts");
    let telling = async {
        for place in 0..9 {
            let offset = place * QUEUE_LIMIT as u64 / 4;
            played.prints(&handle, (place + 1, offset), &vec![b'x'; QUEUE_LIMIT / 4]).await;
        }
        played.exits(&handle, 0).await;
        played
    };
    let mut telling = std::pin::pin!(telling);
    tokio::select! {
        biased;
        _ = &mut telling => panic!("more was taken than fits"),
        // The end stands behind the output in the same order, so the client learns it only when the output is taken.
        () = yields() => {}
    }
    let (rest, _played) = tokio::join!(output.rest(), telling);
    assert_eq!(rest.expect("connected").len(), QUEUE_LIMIT / 4 * 9);
    assert_eq!(process.wait().await.expect("it has ended").code, 0);
}

/// Lets all other tasks run until they have nothing left to do.
async fn yields() {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropping_an_output_lets_it_go_by() {
    let (client, mut played) = Played::with_client().await;
    let (process, output, handle) = played.starts(&client, json!({})).await;
    drop(output);
    for _ in 0..9 {
        played.prints(&handle, (0, 0), &vec![b'x'; QUEUE_LIMIT / 4]).await;
    }
    played.exits(&handle, 1).await;
    assert_eq!(process.wait().await.expect("it has ended").code, 1);
}

#[tokio::test]
async fn a_connection_that_is_lost_keeps_nobody_waiting() {
    let (client, mut played) = Played::with_client().await;
    let (process, mut output, _) = played.starts(&client, json!({ "sessionId": 1, "pid": 1 })).await;
    let asking = client.sessions();
    let going = async {
        played.asked("session/list").await;
        drop(played);
    };
    let (asked, ()) = tokio::join!(asking, going);
    assert!(matches!(asked, Err(ClientError::Lost)));
    assert!(matches!(process.wait().await, Err(ClientError::Lost)));
    assert!(matches!(output.next().await, Err(ClientError::Lost)));
    assert!(matches!(client.sessions().await, Err(ClientError::Lost)));
    assert!(matches!(client.reconnect().await, Err(ClientError::Lost)));
}

#[tokio::test]
async fn refusals_nonsense_and_noise_are_told_apart() {
    let (client, mut played) = Played::with_client().await;
    let playing = async {
        let request = played.asked("session/list").await;
        let error = json!({ "code": -32600, "message": "no" });
        played.say(json!({ "id": request["id"], "error": error })).await;
        let request = played.asked("session/list").await;
        for noise in [json!([]), json!(7), json!({ "id": "a", "result": {} }), json!({ "method": "x" })] {
            played.say(noise).await;
        }
        played.say(json!({ "id": 1, "method": "ask", "params": {} })).await;
        assert_eq!(played.next().await["error"]["code"], -32601, "it can be asked nothing");
        played.answer(&request, json!({ "sessions": 7 })).await;
    };
    let asking = async {
        let refused = client.sessions().await;
        assert!(matches!(refused, Err(ClientError::Refused(refusal)) if refusal.message == "no"));
        assert!(matches!(client.sessions().await, Err(ClientError::Nonsense { .. })));
    };
    tokio::join!(playing, asking);
}

#[tokio::test]
async fn who_follows_a_session_no_more_says_so() {
    let (client, mut played) = Played::with_client().await;
    let following = client.subscribe(9, 4);
    let answering = async {
        let request = played.asked("session/subscribe").await;
        assert_eq!((&request["params"]["sessionId"], &request["params"]["from"]), (&json!(9), &json!(4)));
        played.answer(&request, json!({ "sessionId": 9, "from": 4 })).await;
        let params =
            json!({ "sessionId": 9, "stream": "stderr", "offset": 4, "deltaBase64": STANDARD.encode("x") });
        played.say(json!({ "method": "session/output", "params": params })).await;
    };
    let (output, ()) = tokio::join!(following, answering);
    let mut output = output.expect("it is known");
    let piece = ClientPiece::Bytes { stream: OutputStream::Stderr, offset: 4, bytes: b"x".to_vec() };
    assert_eq!(output.next().await.expect("connected"), Some(piece));
    drop(output);
    assert_eq!(played.asked("session/unsubscribe").await["params"]["sessionId"], 9);
}

#[tokio::test]
async fn who_gives_up_a_start_holds_up_nobody() {
    let (client, mut played) = Played::with_client().await;
    let starting = client.start(Start { slowness: Slowness::HoldUp, ..start() });
    let request = tokio::select! {
        _ = starting => panic!("it was not answered"),
        request = played.asked("process/spawn") => request,
    };
    played.answer(&request, json!({ "sessionId": 1, "pid": 1 })).await;
    for place in 0..9 {
        let offset = place * QUEUE_LIMIT as u64 / 4;
        played
            .prints(&request["params"]["processHandle"], (place + 1, offset), &vec![b'x'; QUEUE_LIMIT / 4])
            .await;
    }
    let asking = client.sessions();
    let answering = async {
        let request = played.asked("session/list").await;
        played.answer(&request, json!({ "sessions": [] })).await;
    };
    let (listed, ()) = tokio::join!(asking, answering);
    assert_eq!(listed.expect("nothing stands in the way"), []);
}
