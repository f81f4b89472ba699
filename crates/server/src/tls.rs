//! Encryption (TLS) for servers that other machines can reach, and for the clients of such servers.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use windlass_tls::Verifier;

use crate::jsonrpc::connection::Source;
use crate::jsonrpc::peer::Sink;
use crate::jsonrpc::ws_upgrade::{Stream, Unread};

/// A server's certificate and its key, ready for use.
#[derive(Clone)]
pub struct ServerTls {
    acceptor: TlsAcceptor,
}

/// Why a server cannot encrypt.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(rustls::pki_types::pem::Error),
    /// The file has no certificate.
    #[error("there is no certificate (`BEGIN CERTIFICATE`)")]
    NoCertificate,
    /// The key cannot be read.
    #[error("the private key cannot be read: {0}")]
    Key(rustls::pki_types::pem::Error),
    /// They do not belong together, or are of an unsupported kind.
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(rustls::Error),
}

impl ServerTls {
    /// Reads a chain of certificates, the server's own first, and its private key, both as PEM.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read, or they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(TlsError::Certificate)?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Unusable)?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Performs the handshake with a client. `None` if it fails. Takes as long as the client does: the caller gives up
    /// pending connections.
    pub(crate) async fn accept<S: Stream>(&self, stream: S) -> Option<TlsStream<S>> {
        self.acceptor.accept(stream).await.ok().map(TlsStream::from)
    }
}

/// Omits the key.
impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

/// Connects encrypted to the server of this name. The server must show a certificate for it that one of the given
/// authorities (PEM) signed or, if none are given, one that this machine trusts.
pub(crate) async fn connect(
    stream: TcpStream,
    host: &str,
    authorities: Option<&str>,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let verifier = Arc::new(verifier(authorities)?);
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map(TlsStream::from)
}

/// The reason why a certificate is not trusted, if the error is about that.
pub(crate) fn distrust(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    match error {
        error if !windlass_tls::is_distrust(error) => None,
        error if windlass_tls::is_own_authority(error) => {
            Some("it signs itself (CA:TRUE), and was not named as trusted".to_owned())
        }
        error if *error == unknown => Some("it is signed by no authority that is trusted here".to_owned()),
        error => Some(error.to_string()),
    }
}

fn verifier(authorities: Option<&str>) -> io::Result<Verifier> {
    let mut roots = RootCertStore::empty();
    let trusted = match authorities {
        Some(authorities) => {
            let named: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(authorities.as_bytes()).collect();
            let named = named.map_err(io::Error::other)?;
            for certificate in &named {
                roots.add(certificate.clone()).map_err(io::Error::other)?;
            }
            named
        }
        // The machine's authorities, or those in `SSL_CERT_FILE`.
        None => {
            let machine = rustls_native_certs::load_native_certs().certs;
            // Ignores certificates that cannot be parsed.
            let _ = roots.add_parsable_certificates(machine.iter().cloned());
            machine
        }
    };
    if roots.is_empty() {
        return Err(io::Error::other("no certificate authority is known to judge the server by"));
    }
    Verifier::new(roots, trusted, provider()).map_err(io::Error::other)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl<S: Stream> Stream for TlsStream<S> {
    fn halves(self) -> (Source, Sink) {
        let (source, sink) = tokio::io::split(self);
        (Box::new(source), Box::new(EncryptedSink(sink)))
    }

    fn unread(&self) -> Unread {
        self.get_ref().0.unread()
    }

    fn local_address(&self) -> Option<IpAddr> {
        self.get_ref().0.local_address()
    }
}

/// The writing half. Written bytes may stay in the TLS buffer until a flush. The outbox flushes only streams without
/// vectored writes, so this one reports that it has none.
struct EncryptedSink<S>(WriteHalf<TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedSink<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
