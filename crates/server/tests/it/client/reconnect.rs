//! Resuming after a connection was lost: processes go on, and no byte comes twice or never.

use std::time::Duration;

use windlass_server::client::{
    Client, ClientError, ClientOptions, ClientPiece, ComingBack, Io, Output, Start,
};

use super::rig::{Place, Road, in_time};

fn patient() -> ClientOptions {
    ClientOptions {
        grace: Some(Duration::from_secs(60)),
        coming_back: ComingBack::WhenAsked,
        ..ClientOptions::new("test")
    }
}

/// A client that reconnects by itself.
fn faithful() -> ClientOptions {
    ClientOptions { coming_back: ComingBack::ByItself, ..patient() }
}

/// Takes output up to its end, reconnecting whenever the connection was cut; `after_each` may cut it after each piece.
async fn all_of(client: &Client, output: &mut Output, mut after_each: impl AsyncFnMut(u64)) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match in_time(output.next()).await {
            Ok(None) => return all,
            Ok(Some(ClientPiece::Bytes { offset, bytes, .. })) => {
                assert_eq!(offset, all.len() as u64, "nothing is missing and nothing comes twice");
                all.extend(bytes);
                after_each(all.len() as u64).await;
            }
            Ok(Some(dropped)) => panic!("{dropped:?}"),
            Err(ClientError::Lost) => in_time(client.reconnect()).await.expect("the server waits for us"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn output_goes_on_at_the_byte_where_it_stopped() {
    let place = Place::open("client-cut").await;
    let road = Road::to(&place).await;
    let client = Client::connect(road.endpoint.clone(), patient()).await.expect("it listens");
    let script = "seq 200000; read _; seq 200000; exit 6";
    let (process, mut output) =
        client.start(Start { io: Io::Pipes, ..place.sh(script) }).await.expect("it starts");
    let once: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let (mut cuts, half) = (0, once.len() as u64);
    let all = all_of(&client, &mut output, async |taken| {
        // In the first half, and again in the silence after it.
        if (cuts == 0 && taken > half / 3) || (cuts == 1 && taken == half) {
            cuts += 1;
            road.cut().await;
        }
        if cuts == 2 && taken == half {
            cuts += 1;
            in_time(process.wait()).await.expect_err("the connection is lost");
            in_time(client.reconnect()).await.expect("the server waits for us");
            process.write(b"\n").await.expect("its handle is good again");
        }
    })
    .await;
    assert_eq!(cuts, 3);
    assert!(all == [once.as_bytes(), once.as_bytes()].concat());
    assert_eq!(in_time(process.wait()).await.expect("it has ended").code, 6);
    drop((client, process, output));
    place.close().await;
}

#[tokio::test]
async fn what_ended_meanwhile_is_told_afterwards() {
    let place = Place::open("client-meanwhile").await;
    let road = Road::to(&place).await;
    let client = Client::connect(road.endpoint.clone(), patient()).await.expect("it listens");
    let (process, mut output) = client
        .start(Start { io: Io::Pipes, ..place.sh("read _; seq 1000; exit 6") })
        .await
        .expect("it starts");
    process.write(b"\n").await.expect("it reads");
    road.cut().await;
    // Part or all of it may have arrived before the cut.
    let expected: String = (1..=1000).map(|number| format!("{number}\n")).collect();
    let all = all_of(&client, &mut output, async |_| {}).await;
    assert_eq!(String::from_utf8_lossy(&all), expected);
    assert_eq!(in_time(process.wait()).await.expect("it has ended").code, 6);
    drop((client, process, output));
    place.close().await;
}

#[tokio::test]
async fn another_client_takes_over_with_the_token() {
    let place = Place::open("client-adopt").await;
    let road = Road::to(&place).await;
    let first = Client::connect(road.endpoint.clone(), patient()).await.expect("it listens");
    let (_process, mut output) = first
        .start(Start { io: Io::Pipes, ..place.sh("echo one; read _; echo two; exit 6") })
        .await
        .expect("it starts");
    let one = in_time(output.next()).await.expect("connected").expect("a line");
    assert!(matches!(one, ClientPiece::Bytes { bytes, .. } if bytes == b"one\n"));
    let (token, position) = (first.resume_token(), output.position().expect("it is counted"));
    assert!(token.is_some());
    road.cut().await;
    let options = ClientOptions { resume: token, ..patient() };
    let second = Client::connect(road.endpoint.clone(), options).await.expect("the server waits for it");
    let listed = second.sessions().await.expect("it keeps sessions");
    let (process, mut output) = second.adopt(&listed[0], position).await.expect("it is there");
    process.write(b"\n").await.expect("it reads");
    assert_eq!(in_time(output.rest()).await.expect("connected"), b"two\n");
    assert_eq!(in_time(process.wait()).await.expect("it has ended").code, 6);
    let again = Client::connect(
        road.endpoint.clone(),
        ClientOptions { resume: Some("made up".to_owned()), ..patient() },
    );
    let error = in_time(again).await.map(|_| ()).expect_err("nobody has that token");
    assert!(matches!(error, ClientError::NotResumed | ClientError::Refused(_)), "{error}");
    drop((first, second, process, output));
    place.close().await;
}

#[tokio::test]
async fn who_did_not_ask_for_it_cannot_come_back() {
    let place = Place::open("client-final").await;
    let road = Road::to(&place).await;
    let client =
        Client::connect(road.endpoint.clone(), ClientOptions::new("test")).await.expect("it listens");
    let (process, output) = client.start(place.sh("exec sleep 1000")).await.expect("it starts");
    road.cut().await;
    assert!(matches!(in_time(process.wait()).await, Err(ClientError::Lost)));
    assert!(matches!(in_time(client.reconnect()).await, Err(ClientError::NotResumed)));
    drop((client, process, output));
    place.close().await;
}

#[tokio::test]
async fn a_client_that_comes_back_by_itself_is_not_noticed_to_have_been_away() {
    let place = Place::open("client-faithful").await;
    let road = Road::to(&place).await;
    let client = Client::connect(road.endpoint.clone(), faithful()).await.expect("it listens");
    let script = "while read line; do seq 100000; echo $line; done; exit 6";
    let (process, mut output) =
        client.start(Start { io: Io::Pipes, ..place.sh(script) }).await.expect("it starts");
    let once: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    for round in 0..6_u64 {
        // A request that was under way at the cut may or may not have been carried out; here none is under way.
        let word = format!("round {round}\n");
        process.write(word.as_bytes()).await.expect("the server hears it");
        let mut seen = Vec::new();
        while seen.len() < once.len() + word.len() {
            let piece = in_time(output.next()).await.expect("it comes back").expect("there is more");
            let ClientPiece::Bytes { bytes, .. } = piece else { panic!("{piece:?}") };
            let before = seen.len();
            seen.extend(bytes);
            let third = once.len() / 3;
            if before < third && seen.len() >= third {
                road.cut().await;
            }
        }
        assert!(seen == [once.as_bytes(), word.as_bytes()].concat(), "round {round}");
    }
    process.close_stdin().await.expect("the server hears it");
    assert_eq!(in_time(output.rest()).await.expect("connected"), b"");
    assert_eq!(in_time(process.wait()).await.expect("it has ended").code, 6);
    place.close().await;
}

#[tokio::test]
async fn a_client_that_is_closed_leaves_nothing_for_later() {
    let place = Place::open("client-closed").await;
    let client = Client::connect(windlass_server::client::Endpoint::Unix(place.socket()), faithful()).await;
    let client = client.expect("it listens");
    let (process, output) = client.start(place.sh("exec sleep 1000")).await.expect("it starts");
    client.clone().close().await.expect("connected");
    let exit = in_time(process.wait()).await.expect("it ends");
    assert_eq!(exit.signal, Some(15));
    drop((client, process, output));
    place.close().await;
}

#[tokio::test]
async fn who_cannot_come_back_is_told_so_at_last() {
    let place = Place::open("client-given-up").await;
    let options = ClientOptions { grace: Some(Duration::from_millis(300)), ..faithful() };
    let client = Client::connect(windlass_server::client::Endpoint::Unix(place.socket()), options).await;
    let client = client.expect("it listens");
    let (process, mut output) = client.start(place.sh("exec sleep 1000")).await.expect("it starts");
    place.close().await;
    // A server that stops sends the ends of its processes, if there is time.
    let _ = in_time(process.wait()).await;
    let _ = in_time(output.next()).await;
    assert!(matches!(in_time(client.sessions()).await, Err(ClientError::Lost)));
}
