//! Servers on the far side: one that sends back what it gets, and a small web server that shows what it was asked.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Sends everything back, and the end as well.
pub(crate) async fn echo() -> SocketAddr {
    serve(|mut stream| async move {
        let (mut source, mut sink) = stream.split();
        drop(tokio::io::copy(&mut source, &mut sink).await);
        drop(sink.shutdown().await);
    })
    .await
}

/// Answers every request with its path and body. Sends each request to the channel, up to the last byte that came.
pub(crate) async fn web() -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let (told, requests) = mpsc::unbounded_channel();
    let address = serve(move |stream| {
        let told = told.clone();
        async move { drop(told.send(answer(stream).await)) }
    })
    .await;
    (address, requests)
}

/// Says this when it has read a whole head, and closes.
pub(crate) async fn says(bytes: &'static [u8]) -> SocketAddr {
    serve(move |mut stream| async move {
        read_head(&mut stream).await;
        drop(stream.write_all(bytes).await);
    })
    .await
}

async fn serve<F>(with: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(with(stream));
        }
    });
    address
}

/// Serves one request, and returns everything that came on the connection until the client closed it.
async fn answer(mut stream: TcpStream) -> String {
    let mut request = read_head(&mut stream).await;
    let head = String::from_utf8_lossy(&request).into_owned();
    if head.to_ascii_lowercase().contains("expect: 100-continue") {
        drop(stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await);
    }
    let start = request.len();
    while !is_whole(&head, &request[start..]) {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            break;
        }
    }
    let page = page(&head, &request[start..]);
    // It promises what it does not do: the proxy has to say that the connection will be closed.
    let length = page.len();
    let answer =
        format!("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: {length}\r\n\r\n{page}");
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
    drop(stream.read_to_end(&mut request).await);
    String::from_utf8_lossy(&request).into_owned()
}

/// For Git a repository without a commit of its own; for other clients the request itself.
fn page(head: &str, body: &[u8]) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/repository/info/refs") {
        return format!("{}\trefs/heads/trunk\n", "1".repeat(40));
    }
    format!("path {path} body {}", String::from_utf8_lossy(body))
}

fn is_whole(head: &str, body: &[u8]) -> bool {
    let lower = head.to_ascii_lowercase();
    if lower.contains("transfer-encoding: chunked") {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = lower.split_once("content-length: ").and_then(|(_, rest)| rest.split("\r\n").next());
    length.is_none_or(|length| body.len() >= length.parse().unwrap_or(0))
}

async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    head
}
