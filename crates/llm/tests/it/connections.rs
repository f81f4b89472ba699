//! Connections are kept while they are good, and closed when their response is dropped.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use windlass_llm::{Client, Provider, ResponseEvent, WireKind};
use windlass_testkit::model::{Gate, Model, Reply, always, say};

use super::rig::{BOTH, ask, client, failure, hello, words};

#[tokio::test]
async fn one_connection_serves_many_questions() {
    for wire in BOTH {
        let model = Model::answering(|_| say("hello"));
        let client = client(&model, wire);
        for _ in 0..20 {
            assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
        }
        assert_eq!(model.connections(), 1, "{wire:?}");
        model.finish();
    }
}

/// Agents work in tasks, and tasks move between threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_asked_from_tasks() {
    let model = Model::answering(|_| say("hello"));
    let client = client(&model, WireKind::Chat);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let client = client.clone();
        tasks.spawn(async move { words(&client, &hello()).await });
    }
    for words in tasks.join_all().await {
        assert_eq!(words.as_deref(), Ok("hello"));
    }
    assert_eq!(model.finish().len(), 8);
}

#[tokio::test]
async fn questions_at_the_same_time_have_connections_of_their_own() {
    let gate = Gate::closed();
    let held = gate.clone();
    let model = Model::answering(move |_| say("hello").stalled_after_events(1, &held));
    let client = client(&model, WireKind::Responses);
    let mut first = client.send(&hello()).await.unwrap();
    let mut second = client.send(&hello()).await.unwrap();
    assert_eq!(second.next().await, Ok(Some(ResponseEvent::Started)));
    gate.open();
    for answer in [&mut first, &mut second] {
        super::rig::read(answer).await.unwrap_or_else(|failure| panic!("{failure}"));
    }
    assert_eq!(model.connections(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn leaving_an_answer_closes_its_connection() {
    for events in [0, 2] {
        let model = Model::playing(vec![
            always(say("never").stalled_after_events(events, &Gate::closed())),
            always(say("hello")),
        ]);
        let client = client(&model, WireKind::Responses);
        let answer = client.send(&hello()).await.unwrap();
        drop(answer);
        assert_eq!(model.wait_for_departures(1), [1]);
        assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
        model.finish();
    }
}

#[tokio::test]
async fn an_answer_is_complete_when_it_says_so_even_if_its_stream_goes_on() {
    // All six events come, but the stream is kept open.
    let endless = || always(say("hello").stalled_after_events(6, &Gate::closed()));
    let model = Model::playing(vec![endless(), endless()]);
    let client = client(&model, WireKind::Responses);
    for _ in 0..2 {
        assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
    }
    assert_eq!(model.connections(), 2, "a connection that is still in use is not used again");
    model.finish();
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let gate = Gate::closed();
    let model = Model::playing(vec![always(say("hello").stalled_after_events(2, &gate))]);
    let mut answer = client(&model, WireKind::Responses).send(&hello()).await.unwrap();
    assert_eq!(answer.next().await, Ok(Some(ResponseEvent::Started)));
    let waited = tokio::select! {
        biased;
        event = answer.next() => Some(event),
        () = std::future::ready(()) => None,
    };
    assert_eq!(waited, None);
    gate.open();
    let events = super::rig::read(&mut answer).await.unwrap();
    assert_eq!(super::rig::items(&events).len(), 1);
}

#[tokio::test]
async fn a_refusal_or_a_broken_answer_spoils_no_later_one() {
    let model = Model::playing(vec![
        always(say("one")),
        always(Reply::refusal(500, "oops")),
        always(say("two")),
        always(say("half").cut_after_events(2)),
        always(say("three")),
    ]);
    let client = client(&model, WireKind::Responses);
    assert_eq!(words(&client, &hello()).await.as_deref(), Ok("one"));
    failure(&client).await;
    assert_eq!(words(&client, &hello()).await.as_deref(), Ok("two"));
    failure(&client).await;
    assert_eq!(words(&client, &hello()).await.as_deref(), Ok("three"));
    model.finish();
}

/// A provider may close a connection that is idle at any time, even while the next request is on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kept_connection_that_was_closed_is_replaced() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        // Each connection answers one request, says that it stays open, and is closed at the next request.
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(windlass_testkit::HANG)).unwrap();
            read_request(&mut stream);
            let event = "data: {\"type\":\"response.completed\"}\n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{event}", event.len()).unwrap();
            let _ = stream.read(&mut [0; 1]);
        }
    });
    let provider = Provider::at("it", format!("http://{address}/v1"), WireKind::Responses);
    let client = Client::new(provider).unwrap();
    for _ in 0..3 {
        let events = ask(&client, &hello()).await.unwrap();
        assert!(matches!(events.as_slice(), [ResponseEvent::Completed(_)]), "{events:?}");
    }
    drop(client);
    server.join().unwrap();
}

fn read_request(stream: &mut impl Read) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"]}") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
}
