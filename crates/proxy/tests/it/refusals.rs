//! Refused requests: how each protocol reports them, and which events the proxy sends.

use std::net::SocketAddr;

use windlass_proxy::Options;
use windlass_proxy::allow::Unlisted;
use windlass_proxy::decision::{Decision, DenyReason, HostVerdict, HowEnded, Protocol, ProxyEvent};
use windlass_proxy::zone::Zone;

use crate::far::echo;
use crate::rig::{Answer, Names, PUBLIC, Rig, Roads, get};

/// Asks for a target by each protocol and expects the same refusal everywhere: this status, this code, this reason.
async fn check(rig: &mut Rig, target: &str, (status, code): (u16, u8), refusal: &DenyReason) -> String {
    let (host, port) = target.rsplit_once(':').expect("host and port");
    let number = port.parse().expect("a port");
    let connect = rig.exchange(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).await;
    expect(rig, (Protocol::Connect, target), refusal).await;
    let plain = rig.exchange(&get(target, "/")).await;
    expect(rig, (Protocol::Http, target), refusal).await;
    for answer in [&connect, &plain] {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("Connection: close\r\n") && answer.contains(target), "{answer}");
    }
    assert_eq!(rig.connect().await.socks(host.trim_matches(['[', ']']), number).await, code);
    expect(rig, (Protocol::Socks5, target), refusal).await;
    plain
}

async fn expect(rig: &mut Rig, (protocol, target): (Protocol, &str), refusal: &DenyReason) {
    let Decision { protocol: by, host, port, verdict, .. } = rig.decision().await;
    let asked = format!("{host}:{port}");
    assert_eq!((by, asked.replace(['[', ']'], "")), (protocol, target.replace(['[', ']'], "")));
    assert_eq!(verdict, HostVerdict::Refused(refusal.clone()));
}

fn unlisted() -> DenyReason {
    DenyReason::Unlisted(Unlisted::Host)
}

#[tokio::test]
async fn a_host_that_is_not_listed_is_refused_and_not_looked_up() {
    let mut rig = Rig::start(&["allowed.test"], echo().await).await;
    let answer = check(&mut rig, "other.test:443", (403, 2), &unlisted()).await;
    assert!(
        answer.ends_with("To allow it, list `other.test` among the hosts that this command may reach.\n")
    );
    assert_eq!(rig.names.asked(), Vec::<String>::new());
    assert_eq!(rig.roads.taken(), Vec::<SocketAddr>::new());
}

#[tokio::test]
async fn another_port_of_a_listed_host_is_refused() {
    let mut rig = Rig::start(&["allowed.test"], echo().await).await;
    let refusal = DenyReason::Unlisted(Unlisted::Port { entry: "allowed.test".into() });
    let answer = check(&mut rig, "allowed.test:22", (403, 2), &refusal).await;
    assert!(answer.contains("list `allowed.test:22`"), "{answer}");
    assert_eq!(rig.names.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn addresses_are_refused_unless_they_are_listed() {
    let server = echo().await;
    let mut rig = Rig::start(&["allowed.test", "localhost:*"], server).await;
    check(&mut rig, &server.to_string(), (403, 2), &unlisted()).await;
    check(&mut rig, "[::1]:443", (403, 2), &unlisted()).await;
    check(&mut rig, "169.254.169.254:80", (403, 2), &unlisted()).await;
    check(&mut rig, "1.1.1.1:443", (403, 2), &unlisted()).await;
    assert_eq!(rig.roads.taken(), Vec::<SocketAddr>::new());
}

#[tokio::test]
async fn a_listed_name_that_leads_inside_is_refused() {
    let inside = [
        ("127.0.0.1", Zone::Loopback, "127.0.0.1"),
        ("10.1.2.3", Zone::Private, "10.1.2.3"),
        ("169.254.169.254", Zone::Metadata, "169.254.169.254"),
        ("100.64.0.1", Zone::Shared, "100.64.0.1"),
        ("::1", Zone::Loopback, "::1"),
        ("fd00::1", Zone::UniqueLocal, "fd00::1"),
        ("fe80::1", Zone::LinkLocal, "fe80::1"),
        ("::ffff:10.0.0.1", Zone::Private, "10.0.0.1"),
        ("64:ff9b::7f00:1", Zone::Loopback, "64:ff9b::7f00:1"),
        ("0.0.0.0", Zone::Unspecified, "0.0.0.0"),
    ];
    for (address, zone, shown) in inside {
        let names = Names::default().with("sly.test", &[Answer::at(&[address])]);
        let mut rig = Rig::with(&["sly.test"], Options::default(), names, Roads::default()).await;
        let shown = shown.parse().expect("an address");
        let refusal =
            DenyReason::Unlisted(Unlisted::Inward { entry: "sly.test".into(), address: shown, zone });
        check(&mut rig, "sly.test:80", (403, 2), &refusal).await;
        assert_eq!(rig.roads.taken(), Vec::<SocketAddr>::new(), "{address}");
    }
}

#[tokio::test]
async fn names_that_cannot_be_looked_up_are_told_apart_from_those_that_may_not() {
    let names = Names::default().with("empty.test", &[Answer::at(&[])]).with("slow.test", &[Answer::Silence]);
    let options = Options { lookup_time: std::time::Duration::from_millis(50), ..Options::default() };
    let mut rig = Rig::with(&["*.test"], options, names, Roads::default()).await;
    check(&mut rig, "empty.test:80", (502, 4), &DenyReason::NoAddress).await;
    check(&mut rig, "nobody.test:80", (502, 4), &DenyReason::LookupFailed("no such name".into())).await;
    check(&mut rig, "slow.test:80", (504, 4), &DenyReason::LookupTimedOut).await;
}

#[tokio::test]
async fn a_name_that_answers_differently_the_second_time_gains_nothing() {
    let server = echo().await;
    let names = Names::default().with("turncoat.test", &[Answer::at(&[PUBLIC]), Answer::at(&["127.0.0.1"])]);
    let roads = Roads::default().with(PUBLIC, server);
    let mut rig = Rig::with(&["turncoat.test:*"], Options::default(), names, roads).await;
    let target = format!("turncoat.test:{}", server.port());
    let mut client = rig.connect().await;
    client.tunnel(&target).await;
    let public = SocketAddr::new(PUBLIC.parse().expect("an address"), server.port());
    assert_eq!(rig.names.asked().len(), 1, "the name is looked up once");
    assert_eq!(rig.roads.taken(), [public], "and what was judged is connected to");
    assert_eq!(rig.decision().await.address, Some(public.ip()));
    let second = rig.exchange(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(second.starts_with("HTTP/1.1 403 "), "{second}");
    assert_eq!(rig.roads.taken(), [public], "the second answer leads nowhere");
}

#[tokio::test]
async fn of_several_addresses_those_that_may_be_reached_are_tried_in_order() {
    let server = echo().await;
    let names = Names::default().with("many.test", &[Answer::at(&["10.0.0.1", "1.1.1.1", PUBLIC, "::1"])]);
    let roads = Roads::default().with(PUBLIC, server);
    let mut rig = Rig::with(&["many.test"], Options::default(), names, roads).await;
    rig.connect().await.tunnel("many.test:443").await;
    let asked: Vec<String> = rig.roads.taken().iter().map(ToString::to_string).collect();
    assert_eq!(asked, ["1.1.1.1:443", "93.184.216.34:443"]);
    assert_eq!(rig.decision().await.address, Some("1.1.1.1".parse().expect("an address")));
    assert_eq!(
        rig.ending().await.address.map(|address| address.to_string()).as_deref(),
        Some("93.184.216.34:443")
    );
}

#[tokio::test]
async fn a_host_that_is_allowed_and_does_not_answer_is_said_to_be_so() {
    let names = Names::default().with("down.test", &[Answer::at(&["1.1.1.1"])]);
    let mut rig = Rig::with(&["down.test"], Options::default(), names, Roads::default()).await;
    let answer = rig.exchange(&get("down.test", "/")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("is allowed, and cannot be reached"),
        "{answer}"
    );
    assert_eq!(rig.decision().await.verdict, HostVerdict::Allowed { entry: "down.test".into() });
    assert!(matches!(rig.ending().await.how, HowEnded::Unreachable(_)));
    assert_eq!(rig.connect().await.socks("down.test", 443).await, 5);
}

/// Checks a client that is turned away before its request was understood: it sends these bytes and gets this answer.
async fn check_turned_away(said: &[u8], answered: &[u8], why: &str) {
    let mut rig = Rig::start(&["allowed.test"], echo().await).await;
    let mut client = rig.connect().await;
    client.send(said).await;
    let mut answer = Vec::new();
    crate::rig::within(tokio::io::AsyncReadExt::read_to_end(&mut client.0, &mut answer))
        .await
        .expect("an end");
    assert!(answer.starts_with(answered), "{said:?}: {:?}", String::from_utf8_lossy(&answer));
    let ProxyEvent::TurnedAway { why: told, .. } = rig.next().await else {
        panic!("{said:?} is turned away")
    };
    assert!(told.contains(why), "{told}");
}

#[tokio::test]
async fn other_protocols_and_bad_requests_are_turned_away() {
    check_turned_away(b"\x16\x03\x01\x02\0", b"", "neither of HTTP nor of SOCKS").await;
    check_turned_away(b"\x04\x01\0\x50\x7f\0\0\x01\0", b"\0\x5b", "SOCKS 4").await;
    check_turned_away(b"\x05\x01\x02", b"\x05\xff", "proving who it is").await;
    check_turned_away(b"\x05\x01\0\x05\x02\0\x01", b"\x05\0\x05\x07", "something else than a connection")
        .await;
    check_turned_away(b"\x05\x01\0\x05\x01\0\x07", b"\x05\0\x05\x08", "unknown type").await;
    check_turned_away(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ", "not one for a proxy").await;
    check_turned_away(b"GET / HTTP/1.1\n\n", b"HTTP/1.1 400 ", "CR LF").await;
    check_turned_away(b"PRI * HTTP/2.0\r\n\r\nSM", b"HTTP/1.1 505 ", "version").await;
    let other = b"GET http://allowed.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n";
    check_turned_away(other, b"HTTP/1.1 400 ", "Host").await;
    let https = b"GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
    check_turned_away(https, b"HTTP/1.1 501 ", "CONNECT").await;
    check_turned_away(b"CONNECT 2130706433:80 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ", "invalid IP address")
        .await;
}
