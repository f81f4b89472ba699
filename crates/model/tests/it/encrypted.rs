//! Encrypted connections, to a server with a certificate of its own.

use windlass_model::{Client, Provider, Remedy, WireKind};
use windlass_testkit::model::{Model, say};

use super::relay::{certificate, encrypted};
use super::rig::{failure, hello, words};

#[tokio::test]
async fn an_encrypted_connection_is_made_and_kept() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let relay = encrypted(acceptor, model.address()).await;
    let mut provider = provider(relay.address.port(), "localhost");
    provider.extra_roots = Some(pem);
    let client = Client::new(provider).unwrap();
    for _ in 0..3 {
        assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"));
    }
    assert_eq!(model.connections(), 1);
}

fn provider(port: u16, host: &str) -> Provider {
    Provider::at("it", format!("https://{host}:{port}/v1"), WireKind::Responses)
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_named_and_hears_nothing() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let relay = encrypted(acceptor, model.address()).await;
    let port = relay.address.port();
    let stranger = failure(&Client::new(provider(port, "localhost")).unwrap()).await;
    assert_eq!(stranger.remedy, Remedy::GiveUp);
    let expected = format!("no encrypted connection to localhost:{port}: invalid peer certificate");
    assert!(stranger.message.starts_with(&expected), "{stranger}");

    let mut other_name = provider(port, "127.0.0.1");
    other_name.extra_roots = Some(pem);
    let stranger = failure(&Client::new(other_name).unwrap()).await;
    assert!(stranger.message.contains(&format!("127.0.0.1:{port}: invalid peer certificate")), "{stranger}");
    assert!(model.finish().is_empty());
}

#[tokio::test]
async fn a_server_that_does_not_encrypt_is_told_apart() {
    let model = Model::answering(|_| say("hello"));
    let client = Client::new(provider(model.address().port(), "localhost")).unwrap();
    let seen = failure(&client).await;
    let expected = format!("no encrypted connection to localhost:{}: ", model.address().port());
    assert!(seen.message.starts_with(&expected), "{seen}");
    assert_eq!(seen.remedy, super::rig::LATER);
}

#[tokio::test]
async fn extra_certificates_must_be_good() {
    let mut provider = provider(1, "localhost");
    provider.extra_roots = Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned());
    let model = Model::answering(|_| say("hello"));
    provider.base_url = format!("https://{}/v1", model.address());
    let seen = failure(&Client::new(provider).unwrap()).await;
    assert!(seen.message.contains("an extra certificate is no good"), "{seen}");
}
