//! Requests that are not for models, over the same connections.

use bytes::Bytes;
use windlass_llm::{CarrierError, HttpRoute, HttpTransport, Parcel, Proxy, Reply};
use windlass_testkit::model::{Model, say};

use super::relay::{Asked, certificate, encrypted, proxy};

fn parcel(method: &str) -> Parcel {
    Parcel { method: method.to_owned(), headers: Vec::new(), body: Bytes::new() }
}

async fn body(mut reply: Reply) -> String {
    let mut bytes = Vec::new();
    while let Some(piece) = reply.body.next().await {
        bytes.extend_from_slice(&piece.expect("the body comes whole"));
    }
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn a_reply_comes_with_its_head_and_the_connection_is_kept() {
    let model = Model::answering(|_| say("hello"));
    let carrier =
        HttpTransport::new("it", &format!("{}/models", model.base_url()), HttpRoute::default()).unwrap();
    for _ in 0..3 {
        let reply = carrier.send(parcel("GET")).await.unwrap();
        assert_eq!(reply.status, 200);
        let kind = reply.headers.iter().find(|(name, _)| name == "content-type");
        assert_eq!(kind.map(|(_, value)| value.as_str()), Some("application/json"));
        assert!(body(reply).await.contains("scripted"));
    }
    assert_eq!(model.connections(), 1);
}

#[tokio::test]
async fn headers_are_carried_and_a_slash_at_the_end_counts() {
    let model = Model::answering(|_| say("hello"));
    model.require_key("sk-1");
    let to = |path: &str| {
        HttpTransport::new("it", &format!("{}{path}", model.base_url()), HttpRoute::default()).unwrap()
    };
    let mut with_key = parcel("GET");
    with_key.headers = vec![("Authorization".to_owned(), "Bearer sk-1".to_owned())];
    assert_eq!(to("/models").send(parcel("GET")).await.unwrap().status, 401);
    assert_eq!(to("/models").send(with_key.clone()).await.unwrap().status, 200);
    let refused = body(to("/models/").send(with_key.clone()).await.unwrap()).await;
    assert!(refused.contains("nothing answers GET /v1/models/"), "{refused}");
    with_key.headers[0].1 = "a\nb".to_owned();
    let refused = to("/models").send(with_key).await.err();
    assert_eq!(refused, Some(CarrierError::Header { name: "Authorization".to_owned() }));
}

#[tokio::test]
async fn the_way_may_be_encrypted_or_through_a_proxy() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let relay = encrypted(acceptor, model.address()).await;
    let url = format!("https://localhost:{}/v1/models", relay.address.port());
    let trusting = HttpRoute { extra_roots: Some(pem), ..HttpRoute::default() };
    let carrier = HttpTransport::new("it", &url, trusting).unwrap();
    assert_eq!(carrier.send(parcel("GET")).await.unwrap().status, 200);
    let stranger = HttpTransport::new("it", &url, HttpRoute::default()).unwrap().send(parcel("GET")).await;
    let said = stranger.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("invalid peer certificate"), "{said}");

    let asked = Asked::default();
    let through = proxy(&asked, Ok(model.address())).await;
    let way = HttpRoute {
        proxy: Some(Proxy::parse(&through.address.to_string()).unwrap()),
        ..HttpRoute::default()
    };
    let carrier = HttpTransport::new("it", "http://tools.example/v1/models", way).unwrap();
    assert_eq!(carrier.send(parcel("GET")).await.unwrap().status, 200);
    assert_eq!(asked.all(), [("GET http://tools.example/v1/models HTTP/1.1".to_owned(), None)]);
}

#[tokio::test]
async fn nobody_there_is_said_with_the_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let carrier = HttpTransport::new("it", &format!("http://{free}/mcp"), HttpRoute::default()).unwrap();
    let said = carrier.send(parcel("POST")).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.starts_with(&format!("cannot connect to {free}: ")), "{said}");
}
