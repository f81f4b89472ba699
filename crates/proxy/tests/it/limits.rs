//! Misbehaving clients, and the limits that hold for all of them together.

use std::time::Duration;

use windlass_proxy::Options;
use windlass_proxy::decision::{HowEnded, ProxyEvent};
use windlass_testkit::bytes::Noise;

use crate::far::{echo, web};
use crate::rig::{Answer, Names, PUBLIC, Rig, Roads, get, within};

/// Short enough for a test, long enough that on a busy machine nothing is late that is not meant to be.
const SOON: Duration = Duration::from_secs(1);

async fn rig(options: Options) -> Rig {
    let names = Names::default().with("allowed.test", &[Answer::at(&[PUBLIC])]);
    Rig::with(&["allowed.test"], options, names, Roads::default().with(PUBLIC, echo().await)).await
}

async fn turned_away(rig: &mut Rig) -> String {
    match rig.next().await {
        ProxyEvent::TurnedAway { why, .. } => why,
        other => panic!("{other:?} is not turned away"),
    }
}

#[tokio::test]
async fn a_client_that_never_finishes_its_request_is_sent_away() {
    let mut rig = rig(Options { head_time: SOON, ..Options::default() }).await;
    let answer = rig.exchange(b"CONNECT allowed.test:443 HTTP/1.1\r\nX: ").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(turned_away(&mut rig).await, "the request did not come to its end in time");
    for said in [&b"\x05"[..], b"\x05\x01\0\x05\x01", b""] {
        rig.exchange(said).await;
        assert_eq!(turned_away(&mut rig).await, "the request did not come to its end in time");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let mut rig = rig(Options { head_bytes: 1000, head_fields: 10, ..Options::default() }).await;
    let long = format!("CONNECT allowed.test:443 HTTP/1.1\r\nX: {}", "x".repeat(2000));
    assert!(rig.exchange(long.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    assert_eq!(turned_away(&mut rig).await, "the head is longer than 1000 bytes");
    let many = format!("CONNECT allowed.test:443 HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(11));
    assert!(rig.exchange(many.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    assert_eq!(turned_away(&mut rig).await, "the head has more than 10 fields");
}

#[tokio::test]
async fn a_tunnel_on_which_nothing_moves_is_closed() {
    let mut rig = rig(Options { idle_time: SOON, ..Options::default() }).await;
    let mut client = rig.connect().await;
    client.tunnel("allowed.test:443").await;
    client.send(b"x").await;
    assert_eq!(client.rest().await, "x");
    rig.decision().await;
    assert_eq!(rig.ending().await.how, HowEnded::Idle);
}

#[tokio::test]
async fn what_a_client_does_not_read_stays_with_the_far_side() {
    /// Far more than the buffers of the system and of the proxy hold together.
    const FLOOD: usize = 256 * 1024 * 1024;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let names = Names::default().with("allowed.test", &[Answer::at(&[PUBLIC])]);
    let roads = Roads::default().with(PUBLIC, listener.local_addr().expect("an address"));
    let options = Options { idle_time: SOON, ..Options::default() };
    let mut rig = Rig::with(&["allowed.test"], options, names, roads).await;
    let mut client = rig.connect().await;
    client.tunnel("allowed.test:443").await;
    let (mut far, _) = within(listener.accept()).await.expect("the proxy connects");
    let block = vec![0; 64 * 1024];
    let mut taken = 0;
    // Ends when the connection was idle for too long, because the client stopped reading.
    while within(tokio::io::AsyncWriteExt::write_all(&mut far, &block)).await.is_ok() {
        taken += block.len();
        assert!(taken < FLOOD, "all of it went into something that nobody reads");
    }
    rig.decision().await;
    let ending = rig.ending().await;
    assert_eq!(ending.how, HowEnded::Idle);
    assert!(ending.received <= taken as u64 + block.len() as u64);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_their_turn() {
    let mut rig = rig(Options { connections: 2, ..Options::default() }).await;
    let (mut first, mut second) = (rig.connect().await, rig.connect().await);
    first.tunnel("allowed.test:443").await;
    second.tunnel("allowed.test:443").await;
    let mut third = rig.connect().await;
    third.send(b"CONNECT allowed.test:443 HTTP/1.1\r\n\r\n").await;
    // A round trip through the full proxy: the third has not been let in before, nor after.
    first.send(b"x").await;
    assert_eq!(first.read(1).await, b"x");
    drop(first);
    assert!(third.head().await.starts_with("HTTP/1.1 200 "));
    let decided = [rig.decision().await.connection, rig.decision().await.connection];
    let ended = rig.ending().await.connection;
    assert!(decided.contains(&ended), "one of the first two ended");
    assert!(!decided.contains(&rig.decision().await.connection), "before the third was let in");
}

#[tokio::test]
async fn an_address_that_does_not_answer_does_not_hold_up_the_next() {
    use std::net::SocketAddr;
    use tokio::net::TcpStream;
    use windlass_proxy::resolve::{Connector, Later};

    /// Only one of two addresses answers.
    struct Half(SocketAddr);
    impl Connector for Half {
        fn connect(&self, address: SocketAddr) -> Later<'_, std::io::Result<TcpStream>> {
            Box::pin(async move {
                match address.ip().to_string().as_str() {
                    "1.1.1.1" => std::future::pending().await,
                    _ => TcpStream::connect(self.0).await,
                }
            })
        }
    }

    let (server, _requests) = web().await;
    let names = Names::default().with("half.test", &[Answer::at(&["1.1.1.1", "1.0.0.1"])]);
    let allow = windlass_proxy::AllowList::parse(["half.test"]).expect("a list");
    let options = Options { connect_time: SOON, ..Options::default() };
    let proxy =
        windlass_proxy::Proxy::new(allow, options, names, |_: ProxyEvent| {}).with_connector(Half(server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let client = async {
        let mut client = crate::rig::Client(TcpStream::connect(address).await.expect("the proxy listens"));
        client.send(&get("half.test", "/")).await;
        assert!(client.rest().await.starts_with("HTTP/1.1 200 OK\r\n"));
    };
    within(proxy.serve(listener, client)).await;
}

/// Pieces that random bytes alone would hardly ever form.
const WORDS: &[&[u8]] = &[
    b"CONNECT allowed.test:443 HTTP/1.1\r\n",
    b"POST http://allowed.test/ HTTP/1.1\r\n",
    b"Host: allowed.test\r\n",
    b"Content-Length: 5\r\n",
    b"\r\n",
    b"\x05\x01\0",
    b"\x05\x01\0\x03\x0callowed.test\x01\xbb",
    b"\x04\x01",
];

#[tokio::test]
async fn no_bytes_hang_the_proxy() {
    let rig = rig(Options::default()).await;
    let mut noise = Noise::new(5);
    for _ in 0..300 {
        let mut bytes = Vec::new();
        for _ in 0..1 + noise.word() % 6 {
            let choice = usize::try_from(noise.word() % (2 * WORDS.len() as u64)).expect("a small number");
            let mut random = [0; 5];
            noise.fill(&mut random);
            bytes.extend_from_slice(WORDS.get(choice).copied().unwrap_or(&random));
        }
        let mut client = rig.connect().await;
        client.send(&bytes).await;
        // It may have been broken off already.
        drop(tokio::io::AsyncWriteExt::shutdown(&mut client.0).await);
        let mut answer = Vec::new();
        drop(within(tokio::io::AsyncReadExt::read_to_end(&mut client.0, &mut answer)).await);
    }
    let mut client = rig.connect().await;
    client.tunnel("allowed.test:443").await;
    rig.stop().await;
}
