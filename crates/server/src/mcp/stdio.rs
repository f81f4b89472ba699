//! One client on the program's own input and output, served until it disconnects or the server stops.

use std::io;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::service::serve_server_with_ct;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::mcp::wire::Wire;
use crate::pipe::Pipe;

/// How long a client may take to read the last replies. Most give a server two seconds to exit.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Serves the client on standard input and output. Returns when it has closed its side, when it takes no more output,
/// or when `stop` is done; requests under way are cancelled by then. `over` is called as soon as the client waits for
/// no replies any more: a client that does not read the last of them must not delay what has to end.
///
/// # Errors
///
/// When standard input or output is closed or unusable.
pub async fn serve_stdio<H: ServerHandler>(
    handler: H,
    stop: impl Future<Output = ()> + Send,
    over: impl FnOnce() + Send,
) -> io::Result<()> {
    serve(handler, (Pipe::input()?, Pipe::output()?), (stop, over)).await;
    Ok(())
}

/// Serves one client on any pair of streams, otherwise like [`serve_stdio`].
pub async fn serve_pipes<H, R, W>(handler: H, pipes: (R, W), stop: impl Future<Output = ()> + Send)
where
    H: ServerHandler,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve(handler, pipes, (stop, || {})).await;
}

async fn serve<H, R, W>(
    handler: H,
    (input, output): (R, W),
    (stop, tell): (impl Future<Output = ()> + Send, impl FnOnce() + Send),
) where
    H: ServerHandler,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let over = CancellationToken::new();
    let wire = Wire::new(input, output, over.clone());
    let serving = async {
        // A client that disconnects before its first message is not an error.
        if let Ok(running) = serve_server_with_ct(handler, wire, over.clone()).await {
            let _ = running.waiting().await;
        }
    };
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => return,
        () = stop => over.cancel(),
        () = over.cancelled() => {}
    }
    tell();
    // timer: a client that reads nothing any more would keep the server for ever.
    let _ = tokio::time::timeout(LAST_WRITES, serving).await;
}
