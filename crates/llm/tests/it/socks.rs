//! Requests through a SOCKS 5 proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_llm::{Client, Key, ProbeFinding, Provider, Proxy, Remedy, StepKind, WireKind};
use windlass_testkit::model::{Model, say};

use super::relay::{Relay, certificate, encrypted, pass, serving};
use super::rig::{LATER, failure, hello, words};

/// A proxy of a test: it accepts clients with the login, and connects all of them to one address or refuses with a
/// code.
#[derive(Clone)]
struct Socks {
    login: Option<&'static str>,
    to: Result<SocketAddr, u8>,
    /// The destinations that clients asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Socks {
    fn to(to: Result<SocketAddr, u8>) -> Self {
        Self { login: None, to, asked: Arc::default() }
    }

    async fn start(&self) -> Relay {
        let socks = self.clone();
        serving(move |stream| {
            let socks = socks.clone();
            async move { drop(socks.serve(stream).await) }
        })
        .await
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let [5, count] = take(&mut stream).await? else { return Ok(()) };
        let mut methods = vec![0; count.into()];
        stream.read_exact(&mut methods).await?;
        let method = if self.login.is_some() { 2 } else { 0 };
        if !methods.contains(&method) {
            return stream.write_all(&[5, 0xff]).await;
        }
        stream.write_all(&[5, method]).await?;
        if let Some(login) = self.login {
            let [1] = take(&mut stream).await? else { return Ok(()) };
            let (user, password) = (counted(&mut stream).await?, counted(&mut stream).await?);
            let fits = format!("{user}:{password}") == login;
            stream.write_all(&[1, u8::from(!fits)]).await?;
            if !fits {
                return Ok(());
            }
        }
        let [5, 1, 0, kind] = take(&mut stream).await? else { return Ok(()) };
        let host = match kind {
            1 => std::net::Ipv4Addr::from(take::<4>(&mut stream).await?).to_string(),
            4 => std::net::Ipv6Addr::from(take::<16>(&mut stream).await?).to_string(),
            _ => format!("name {}", counted(&mut stream).await?),
        };
        let port = u16::from_be_bytes(take(&mut stream).await?);
        self.asked.lock().unwrap().push(format!("{host} {port}"));
        match self.to {
            Err(code) => stream.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]).await,
            Ok(to) => {
                let onward = TcpStream::connect(to).await?;
                // A domain name as the bound address is unusual, but allowed.
                stream.write_all(&[5, 0, 0, 3, 2, b'm', b'e', 0, 1]).await?;
                pass(stream, onward).await;
                Ok(())
            }
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn take<const LENGTH: usize>(stream: &mut TcpStream) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn counted(stream: &mut TcpStream) -> io::Result<String> {
    let [length] = take(stream).await?;
    let mut bytes = vec![0; length.into()];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn provider(base_url: &str, proxy: &str) -> Provider {
    let mut provider = Provider::at("it", base_url, WireKind::Responses);
    provider.proxy = Some(Proxy::parse(proxy).unwrap());
    provider
}

#[tokio::test]
async fn plain_and_encrypted_providers_are_reached() {
    let model = Model::answering(|_| say("hello"));
    let (pem, acceptor) = certificate();
    let server = encrypted(acceptor, model.address()).await;
    for (scheme, to) in [("http", model.address()), ("https", server.address)] {
        let socks = Socks::to(Ok(to));
        let relay = socks.start().await;
        let mut provider = provider(
            &format!("{scheme}://localhost:{}/v1", to.port()),
            &format!("socks5h://{}", relay.address),
        );
        provider.extra_roots = Some(pem.clone());
        let client = Client::new(provider).unwrap();
        for _ in 0..3 {
            assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"), "{scheme}");
        }
        assert_eq!(
            socks.asked(),
            [format!("name localhost {}", to.port())],
            "one connection serves them all"
        );
    }
    let seen = model
        .finish()
        .iter()
        .all(|request| request.header("host").is_some_and(|host| host.starts_with("localhost:")));
    assert!(seen, "the provider is asked as if there were no proxy");
}

#[tokio::test]
async fn the_letter_h_says_which_side_looks_names_up() {
    let model = Model::answering(|_| say("hello"));
    let port = model.address().port();
    for (scheme, host, expected) in [
        ("socks5", "localhost", format!("127.0.0.1 {port}")),
        ("socks5h", "localhost", format!("name localhost {port}")),
        // This machine cannot resolve the name, and must not try.
        ("socks5h", "models.invalid", format!("name models.invalid {port}")),
        ("socks5h", "127.0.0.1", format!("127.0.0.1 {port}")),
        ("socks5", "[::1]", format!("::1 {port}")),
    ] {
        let socks = Socks::to(Ok(model.address()));
        let relay = socks.start().await;
        let provider =
            provider(&format!("http://{host}:{port}/v1"), &format!("{scheme}://{}", relay.address));
        let client = Client::new(provider).unwrap();
        assert_eq!(words(&client, &hello()).await.as_deref(), Ok("hello"), "{scheme} {host}");
        assert_eq!(socks.asked(), [expected], "{scheme} {host}");
    }
    let socks = Socks::to(Ok(model.address()));
    let relay = socks.start().await;
    let lost = provider("http://models.invalid/v1", &format!("socks5://{}", relay.address));
    let seen = failure(&Client::new(lost).unwrap()).await;
    assert!(seen.message.contains("models.invalid was not found"), "{seen}");
    assert!(socks.asked().is_empty());
}

#[tokio::test]
async fn the_password_goes_to_the_proxy_and_nowhere_else() {
    let model = Model::answering(|_| say("hello"));
    let socks = Socks { login: Some("me:p@ss"), ..Socks::to(Ok(model.address())) };
    let relay = socks.start().await;
    let ask = async |login: &str| {
        let proxy = format!("socks5h://{login}{}", relay.address);
        words(&Client::new(provider("http://models.invalid/v1", &proxy)).unwrap(), &hello()).await
    };
    assert_eq!(ask("me:p%40ss@").await.as_deref(), Ok("hello"));
    for (login, reason) in [
        ("", "wants a user name and a password, and got none"),
        ("me:secret-word@", "refuses the user name and the password"),
        ("me:@", "cannot be given this user name or password: each has 1 to 255 bytes"),
    ] {
        let seen = ask(login).await.unwrap_err();
        assert_eq!(seen.message, format!("the proxy {} {reason}", relay.address));
        assert_eq!(seen.remedy, Remedy::GiveUp);
    }
    let requests = model.finish();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_proxy_that_does_not_connect_says_why() {
    for (code, reason, remedy) in [
        (2, "its rules do not allow it", Remedy::GiveUp),
        (4, "host unreachable", LATER),
        (5, "connection refused", LATER),
        (8, "address type not supported", Remedy::GiveUp),
        (200, "error 200", Remedy::GiveUp),
    ] {
        let relay = Socks::to(Err(code)).start().await;
        let provider = provider("http://localhost/v1", &format!("socks5h://{}", relay.address));
        let seen = failure(&Client::new(provider).unwrap()).await;
        assert_eq!(seen.message, format!("the proxy {} refuses to connect: {reason}", relay.address));
        assert_eq!(seen.remedy, remedy, "{code}");
    }
    // An HTTP proxy configured as a SOCKS proxy.
    let http = serving(async |mut stream: TcpStream| {
        drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
        drop(stream.read(&mut [0; 64]).await);
    });
    let relay = http.await;
    let provider = provider("http://localhost/v1", &format!("socks5h://{}", relay.address));
    let seen = failure(&Client::new(provider).unwrap()).await;
    assert_eq!(seen.message, format!("the proxy {} does not speak SOCKS 5", relay.address));
}

#[tokio::test]
async fn a_probe_tells_of_the_tunnel() {
    let model = Model::answering(|_| say("hello"));
    let relay = Socks::to(Ok(model.address())).start().await;
    let mut provider = provider("http://models.invalid/v1", &format!("socks5h://{}", relay.address));
    provider.key = Some(Key::new("sk-1"));
    let probe = Client::new(provider).unwrap().probe().await;
    let tunnel = probe.steps.iter().find(|step| step.kind == StepKind::Tunnel).expect("it is a step");
    assert_eq!(tunnel.found, Ok(ProbeFinding::Passed));
}
