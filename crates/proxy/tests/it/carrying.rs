//! Bytes through a tunnel: all of them, in order, at the pace of the slower side, with ends that are ends.

use std::net::SocketAddr;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use windlass_proxy::Options;
use windlass_proxy::decision::{HostVerdict, HowEnded, Protocol, ProxyEvent};
use windlass_testkit::bytes::Noise;

use crate::far::echo;
use crate::rig::{Answer, Client, Names, Rig, Roads, within};

/// A tunnel to `allowed.test` by HTTP or SOCKS.
async fn tunnel(rig: &Rig, protocol: Protocol) -> Client {
    let mut client = rig.connect().await;
    match protocol {
        Protocol::Socks5 => assert_eq!(client.socks("allowed.test", 443).await, 0),
        Protocol::Connect | Protocol::Http => client.tunnel("allowed.test:443").await,
    }
    client
}

#[tokio::test]
async fn a_listed_host_is_reached_and_the_bytes_are_counted() {
    for protocol in [Protocol::Connect, Protocol::Socks5] {
        let mut rig = Rig::start(&["allowed.test"], echo().await).await;
        let mut client = tunnel(&rig, protocol).await;
        client.send(b"hello").await;
        assert_eq!(client.read(5).await, b"hello");
        drop(client);
        let decision = rig.decision().await;
        assert_eq!(
            (decision.protocol, decision.host.as_str(), decision.port),
            (protocol, "allowed.test", 443)
        );
        assert_eq!(decision.verdict, HostVerdict::Allowed { entry: "allowed.test".into() });
        let ending = rig.ending().await;
        assert_eq!((ending.connection, ending.sent, ending.received), (decision.connection, 5, 5));
        assert_eq!(ending.how, HowEnded::Finished);
    }
}

#[tokio::test]
async fn listed_loopback_addresses_and_names_are_reached() {
    let server = echo().await;
    let port = server.port();
    let names = Names::default()
        .with("localhost", &[Answer::at(&["127.0.0.1"])])
        .with("db.corp", &[Answer::at(&["127.0.0.1"])]);
    let entries =
        [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("db.corp:{port}+private")];
    for entry in &entries {
        let rig = Rig::with(&[entry], Options::default(), names.clone(), Roads::default()).await;
        let target = entry.trim_end_matches("+private");
        let mut client = rig.connect().await;
        client.tunnel(target).await;
        client.send(b"x").await;
        assert_eq!(client.read(1).await, b"x", "{entry}");
        let (host, _) = target.split_once(':').expect("a port");
        assert_eq!(rig.connect().await.socks(host, port).await, 0, "{entry}");
    }
}

#[tokio::test]
async fn addresses_can_be_asked_for_as_bytes() {
    let server = echo().await;
    let SocketAddr::V4(address) = server else { panic!("an IPv4 address") };
    let rig = Rig::start(&[&server.to_string()], server).await;
    let port = server.port().to_be_bytes();
    let v4 = [&[5, 1, 0, 1][..], &address.ip().octets(), &port].concat();
    let mapped = [&[5, 1, 0, 4][..], &address.ip().to_ipv6_mapped().octets(), &port].concat();
    for request in [v4, mapped] {
        let mut client = rig.connect().await;
        // All at once, and with the first bytes for the far side behind it.
        client.send(&[&[5, 1, 0][..], &request, b"early"].concat()).await;
        assert_eq!(client.read(2 + 10).await[..4], [5, 0, 5, 0]);
        assert_eq!(client.read(5).await, b"early");
    }
}

#[tokio::test]
async fn a_client_may_talk_as_slowly_as_one_byte_at_a_time() {
    let rig = Rig::start(&["allowed.test"], echo().await).await;
    let mut client = rig.connect().await;
    client.0.set_nodelay(true).expect("a socket");
    for byte in b"CONNECT allowed.test:443 HTTP/1.1\r\nUser-Agent: slow\r\n\r\n" {
        client.send(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
    let mut client = rig.connect().await;
    for byte in [5, 2, 2, 0] {
        client.send(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.read(2).await, [5, 0]);
}

const FLOOD: usize = 100 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_come_back_as_they_went() {
    for protocol in [Protocol::Connect, Protocol::Socks5] {
        let mut rig = Rig::start(&["allowed.test"], echo().await).await;
        let (source, sink) = tunnel(&rig, protocol).await.0.into_split();
        let flood = tokio::spawn(flood(sink));
        let returned = within(digest(source)).await;
        assert_eq!(returned, within(flood).await.expect("the flood is sent"));
        rig.decision().await;
        let ending = rig.ending().await;
        assert_eq!((ending.sent, ending.received), (FLOOD as u64, FLOOD as u64));
        assert_eq!(ending.how, HowEnded::Finished);
    }
}

/// Sends everything, says that it was all, and returns what it was.
async fn flood(mut sink: OwnedWriteHalf) -> Vec<u8> {
    let mut block = vec![0; 64 * 1024];
    Noise::new(3).fill(&mut block);
    let mut digest = Sha256::new();
    for number in 0..FLOOD / block.len() {
        block[..8].copy_from_slice(&number.to_le_bytes());
        digest.update(&block);
        sink.write_all(&block).await.expect("the tunnel takes it");
    }
    sink.shutdown().await.expect("the tunnel takes the end");
    digest.finalize().to_vec()
}

async fn digest(mut source: OwnedReadHalf) -> Vec<u8> {
    let mut block = vec![0; 64 * 1024];
    let mut digest = Sha256::new();
    loop {
        match source.read(&mut block).await.expect("the tunnel gives") {
            0 => return digest.finalize().to_vec(),
            read => digest.update(&block[..read]),
        }
    }
}

#[tokio::test]
async fn the_end_of_one_direction_is_passed_on_while_the_other_goes_on() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut rig = Rig::start(&["allowed.test"], listener.local_addr().expect("an address")).await;
    let mut client = tunnel(&rig, Protocol::Connect).await;
    let (mut far, _) = within(listener.accept()).await.expect("the proxy connects");
    client.send(b"question").await;
    client.0.shutdown().await.expect("half a close");
    let mut question = String::new();
    within(far.read_to_string(&mut question)).await.expect("the end is passed on");
    assert_eq!(question, "question");
    // Only now does the far side begin to talk.
    within(far.write_all(b"answer")).await.expect("the other direction goes on");
    drop(far);
    assert_eq!(client.rest().await, "answer");
    // And the other way round.
    let mut client = tunnel(&rig, Protocol::Connect).await;
    let (mut far, _) = within(listener.accept()).await.expect("the proxy connects");
    far.shutdown().await.expect("half a close");
    assert_eq!(client.rest().await, "");
    client.send(b"late").await;
    drop(client);
    let mut late = String::new();
    within(far.read_to_string(&mut late)).await.expect("the other direction goes on");
    assert_eq!(late, "late");
    drop(far);
    for (sent, received) in [(8, 6), (4, 0)] {
        rig.decision().await;
        let ending = rig.ending().await;
        assert_eq!((ending.sent, ending.received, ending.how), (sent, received, HowEnded::Finished));
    }
}

#[tokio::test]
async fn when_the_proxy_ends_so_do_its_connections() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut rig = Rig::start(&["allowed.test"], listener.local_addr().expect("an address")).await;
    let mut client = tunnel(&rig, Protocol::Socks5).await;
    let (mut far, _) = within(listener.accept()).await.expect("the proxy connects");
    client.send(b"12345").await;
    let mut got = [0; 5];
    within(far.read_exact(&mut got)).await.expect("bytes arrive");
    let half_a_request = rig.connect().await;
    rig.decision().await;
    let address = rig.address;
    let told = rig.stop().await;
    let [ProxyEvent::Ended(ending)] = &told[..] else { panic!("one connection ended: {told:?}") };
    assert_eq!((ending.sent, ending.received, &ending.how), (5, 0, &HowEnded::Stopped));
    // A connection that is ended with bytes on the way is broken off instead of closed: both are an end.
    assert!(matches!(within(client.0.read(&mut [0; 9])).await, Ok(0) | Err(_)));
    assert!(matches!(within(far.read(&mut [0; 9])).await, Ok(0) | Err(_)));
    let mut half_a_request = half_a_request.0;
    assert!(matches!(within(half_a_request.read(&mut [0; 9])).await, Ok(0) | Err(_)));
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
