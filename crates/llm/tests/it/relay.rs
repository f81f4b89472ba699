//! A relay between a client and a scripted model: a TLS server, or a proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A server of a test; it ends when it is dropped.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A self-signed certificate for `localhost`, as PEM, and an acceptor that uses it.
pub(crate) fn certificate() -> (String, TlsAcceptor) {
    self_signed(&CertificateParams::new(vec!["localhost".to_owned()]).unwrap())
}

/// The same with other parameters.
pub(crate) fn self_signed(params: &CertificateParams) -> (String, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    (made.pem(), acceptor(&made, &key))
}

/// A certificate for `localhost` that a test authority signed: the authority's certificate as PEM, and an acceptor.
pub(crate) fn signed_by_an_authority() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let made = params.signed_by(&key, &authority).unwrap();
    (authority.pem(), acceptor(&made, &key))
}

fn acceptor(certificate: &rcgen::Certificate, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key);
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

/// Decrypts connections, and forwards them to this address.
pub(crate) async fn encrypted(acceptor: TlsAcceptor, to: SocketAddr) -> Relay {
    serving(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                pass(stream, TcpStream::connect(to).await.unwrap()).await;
            }
        }
    })
    .await
}

/// The requests that a proxy received: the first line of each, and the credentials.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<Heard>>>);

type Heard = (String, Option<String>);

impl Asked {
    pub(crate) fn all(&self) -> Vec<Heard> {
        self.0.lock().unwrap().clone()
    }
}

/// A proxy that sends everything to this address, whatever destination was asked for, or refuses with this status.
pub(crate) async fn proxy(asked: &Asked, to: Result<SocketAddr, u16>) -> Relay {
    let asked = asked.clone();
    serving(move |stream| {
        let asked = asked.clone();
        async move { drop(proxied(stream, &asked, to).await) }
    })
    .await
}

async fn proxied(stream: TcpStream, asked: &Asked, to: Result<SocketAddr, u16>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let first = head.lines().next().unwrap_or_default().to_owned();
    let credentials =
        head.lines().find_map(|line| line.strip_prefix("proxy-authorization: ")).map(str::to_owned);
    asked.0.lock().unwrap().push((first.clone(), credentials));
    let to = match to {
        Ok(to) => to,
        Err(status) => {
            return stream
                .write_all(format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n").as_bytes())
                .await;
        }
    };
    let mut onward = TcpStream::connect(to).await?;
    if first.starts_with("CONNECT ") {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    } else {
        onward.write_all(head.as_bytes()).await?;
    }
    pass(stream, onward).await;
    Ok(())
}

pub(crate) async fn serving<F, S>(serve: S) -> Relay
where
    F: Future<Output = ()> + Send + 'static,
    S: Fn(TcpStream) -> F + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut served = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            served.spawn(serve(stream));
        }
    });
    Relay { address, task }
}

pub(crate) async fn pass(mut one: impl AsyncRead + AsyncWrite + Unpin, mut other: TcpStream) {
    let _ = tokio::io::copy_bidirectional(&mut one, &mut other).await;
}
