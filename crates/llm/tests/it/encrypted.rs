//! Encrypted connections, to a server with a certificate of its own.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa};
use tokio_rustls::TlsAcceptor;
use windlass_llm::{Certificates, Client, Provider, Remedy, WireKind};
use windlass_testkit::Scratch;
use windlass_testkit::model::{Model, say};

use super::relay::{certificate, encrypted, self_signed, signed_by_an_authority};
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

/// Sends a request to a server with such a certificate while those in these files are trusted.
async fn asked(acceptor: TlsAcceptor, host: &str, certificates: Certificates) -> Result<String, String> {
    let model = Model::answering(|_| say("hello"));
    let relay = encrypted(acceptor, model.address()).await;
    let mut provider = provider(relay.address.port(), host);
    provider.certificates = certificates;
    words(&Client::new(provider).unwrap(), &hello()).await.map_err(|failure| failure.message)
}

fn in_file(scratch: &Scratch, pem: &str) -> Certificates {
    let file = scratch.path().join("trusted.pem");
    std::fs::write(&file, pem).unwrap();
    Certificates { file: Some(file), directories: Vec::new() }
}

/// A self-signed certificate, as `openssl req -x509` makes it.
fn authority_of_itself() -> CertificateParams {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

#[tokio::test]
async fn certificates_in_named_files_are_trusted() {
    let scratch = Scratch::new("trusted");
    for (kind, (pem, acceptor)) in [
        ("signs itself", certificate()),
        ("signs itself and calls itself an authority", self_signed(&authority_of_itself())),
        ("is signed by a private authority", signed_by_an_authority()),
    ] {
        let in_file = in_file(&scratch, &pem);
        let answer = asked(acceptor.clone(), "localhost", in_file).await;
        assert_eq!(answer.as_deref(), Ok("hello"), "in a file: {kind}");
        let directory = scratch.path().join(kind);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("any-name.crt"), &pem).unwrap();
        let in_directory = Certificates { file: None, directories: vec![directory] };
        let answer = asked(acceptor, "localhost", in_directory).await;
        assert_eq!(answer.as_deref(), Ok("hello"), "in a directory: {kind}");
    }
}

#[tokio::test]
async fn trust_in_one_certificate_is_trust_in_no_other() {
    let scratch = Scratch::new("distrusted");
    let (pem, acceptor) = self_signed(&authority_of_itself());
    let (_, other) = self_signed(&authority_of_itself());
    let trusted = in_file(&scratch, &pem);
    let rejected = |answer: Result<String, String>| {
        let message = answer.expect_err("it must not be trusted");
        assert!(message.contains("invalid peer certificate"), "{message}");
    };
    rejected(asked(other, "localhost", trusted.clone()).await);
    rejected(asked(acceptor, "127.0.0.1", trusted).await);
    let mut expired = authority_of_itself();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let (pem, acceptor) = self_signed(&expired);
    rejected(asked(acceptor, "localhost", in_file(&scratch, &pem)).await);
}

#[tokio::test]
async fn named_files_without_a_certificate_trust_nothing() {
    let scratch = Scratch::new("none");
    let (_, acceptor) = certificate();
    let missing: PathBuf = scratch.path().join("missing.pem");
    for certificates in [
        Certificates { file: Some(missing.clone()), directories: Vec::new() },
        Certificates { file: None, directories: vec![missing] },
        in_file(&scratch, "no certificate\n"),
    ] {
        let message = asked(acceptor.clone(), "localhost", certificates).await.unwrap_err();
        assert!(message.starts_with("there is no usable certificate in /"), "{message}");
    }
}
