//! Connecting, and the errors of clients that are rejected.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_server::client::{Client, ClientError, ClientOptions, Endpoint};
use windlass_server::gate::{Access, Token};

use super::rig::{Place, in_time};

async fn refused(endpoint: Endpoint, token: Option<Token>) -> ClientError {
    let options = ClientOptions { token, ..ClientOptions::new("test") };
    in_time(Client::connect(endpoint, options)).await.map(|_| ()).expect_err("it does not let us in")
}

#[tokio::test]
async fn a_token_is_shown_to_who_asks_for_it() {
    let token = Token::random().expect("random bytes");
    let place = Place::with_access("client-token", Access::Token(token.clone())).await;
    let endpoint = Endpoint::Unix(place.socket());
    let error = refused(endpoint.clone(), None).await;
    assert!(matches!(error, ClientError::Token { shown: false, .. }), "{error}");
    let error = refused(endpoint.clone(), Some(Token::random().expect("random bytes"))).await;
    assert!(matches!(error, ClientError::Token { shown: true, .. }), "{error}");
    let options = ClientOptions { token: Some(token), ..ClientOptions::new("test") };
    let client = in_time(Client::connect(endpoint, options)).await.expect("the token opens");
    assert_eq!(client.server().platform_os, "linux");
    drop(client);
    place.close().await;
}

#[tokio::test]
async fn whoever_is_no_such_server_is_told_apart() {
    let error = refused(Endpoint::Unix("/no/such/socket".into()), None).await;
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    let error = refused(Endpoint::Program(vec!["/no/such/program".into()]), None).await;
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    let error = refused(Endpoint::Program(vec!["true".into()]), None).await;
    assert!(matches!(error, ClientError::Lost), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let endpoint: Endpoint =
        format!("ws://{}", listener.local_addr().expect("it has one")).parse().expect("one");
    for (answer, is_http) in
        [("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", true), ("what?\r\n\r\n", false)]
    {
        let answering = async {
            let (mut stream, _) = listener.accept().await.expect("somebody comes");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut asked).await.expect("it asks");
            }
            stream.write_all(answer.as_bytes()).await.expect("it is taken");
            // Until the client has disconnected.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        };
        let (error, ()) = tokio::join!(refused(endpoint.clone(), None), answering);
        assert_eq!(matches!(error, ClientError::NoWebSocket { status: 404, .. }), is_http, "{error}");
        assert_eq!(matches!(error, ClientError::Unreachable { .. }), !is_http, "{error}");
    }
}
