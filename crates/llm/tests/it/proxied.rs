//! Requests through a proxy.

use windlass_llm::{Client, Proxy, Remedy, WireKind};
use windlass_testkit::model::{Model, say};

use super::relay::{Asked, certificate, encrypted, proxy};
use super::rig::{LATER, failure, hello, provider, words};

/// `me:pass` as `Basic` credentials.
const CREDENTIALS: &str = "Basic bWU6cGFzcw==";

#[tokio::test]
async fn plain_requests_are_forwarded() {
    let model = Model::answering(|_| say("hello"));
    let asked = Asked::default();
    let relay = proxy(&asked, Ok(model.address())).await;
    let mut provider = provider(&model, WireKind::Responses);
    provider.base_url = "http://models.example:8080/v1".to_owned();
    provider.proxy = Some(Proxy::parse(&format!("http://me:pass@{}", relay.address)).unwrap());
    let client = Client::new(provider).unwrap();
    assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
    let first = "POST http://models.example:8080/v1/responses HTTP/1.1";
    assert_eq!(asked.all(), [(first.to_owned(), Some(CREDENTIALS.to_owned()))]);
    assert_eq!(model.finish()[0].header("host"), Some("models.example:8080"));
}

#[tokio::test]
async fn encrypted_ones_go_through_a_tunnel() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let server = encrypted(acceptor, model.address()).await;
    let asked = Asked::default();
    let relay = proxy(&asked, Ok(server.address)).await;
    let mut provider = provider(&model, WireKind::Chat);
    provider.base_url = "https://localhost/v1".to_owned();
    provider.key = Some(windlass_llm::Key::new("sk-secret"));
    provider.extra_roots = Some(pem);
    provider.proxy = Some(Proxy::parse(&format!("me:pass@{}", relay.address)).unwrap());
    let client = Client::new(provider).unwrap();
    for _ in 0..3 {
        assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
    }
    let first = "CONNECT localhost:443 HTTP/1.1";
    assert_eq!(asked.all(), [(first.to_owned(), Some(CREDENTIALS.to_owned()))], "one tunnel serves them all");
    assert_eq!(model.finish()[0].header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    for (status, remedy) in [(407, Remedy::GiveUp), (403, Remedy::GiveUp), (502, LATER)] {
        let model = Model::answering(|_| say("hello"));
        let relay = proxy(&Asked::default(), Err(status)).await;
        let mut provider = provider(&model, WireKind::Chat);
        provider.base_url = "https://localhost/v1".to_owned();
        provider.proxy = Some(Proxy::parse(&relay.address.to_string()).unwrap());
        let seen = failure(&Client::new(provider).unwrap()).await;
        assert_eq!(seen.remedy, remedy);
        let expected = format!("the proxy {} refuses to connect: {status}", relay.address);
        assert!(seen.message.starts_with(&expected), "{seen}");
    }
}
