//! A client that speaks SOCKS 5: greeting, request, and then bytes both ways.

use std::io;

use tokio::io::AsyncWriteExt;

use super::client_connection::{ClientConnection, Reached, Silence};
use super::tunnel::carry;
use crate::decision::{DenyReason, Protocol};
use crate::wire::request::ParsedTarget;
use crate::wire::socks::{BadSocks, Reply, WELCOME, greeting, request};

/// The reason why a request is refused.
enum Trouble {
    Silence(Silence),
    Bad(BadSocks),
}

/// Serves a client whose first byte said SOCKS 5.
pub(crate) async fn serve(mut visit: ClientConnection) {
    match open(&mut visit).await {
        Ok(asked) => tunnel(visit, &asked).await,
        Err(Trouble::Silence(silence)) => visit.fell_silent(&silence),
        Err(Trouble::Bad(bad)) => visit.turn_away(&bad.answer(), &bad.to_string()).await,
    }
}

async fn open(visit: &mut ClientConnection) -> Result<ParsedTarget, Trouble> {
    let greeted = loop {
        match greeting(&visit.unread).map_err(Trouble::Bad)? {
            Some(length) => break length,
            None => visit.more().await.map_err(Trouble::Silence)?,
        }
    };
    visit.unread.drain(..greeted);
    visit.client.write_all(&WELCOME).await.map_err(|_| Trouble::Silence(Silence::Gone))?;
    loop {
        if let Some((asked, length)) = request(&visit.unread).map_err(Trouble::Bad)? {
            visit.unread.drain(..length);
            return Ok(asked);
        }
        visit.more().await.map_err(Trouble::Silence)?;
    }
}

async fn tunnel(mut visit: ClientConnection, asked: &ParsedTarget) {
    let way = match visit.decide(Protocol::Socks5, asked).await {
        Ok(way) => way,
        Err(refusal) => return visit.dismiss(&refused(&refusal).message()).await,
    };
    match visit.reach(&way).await {
        Err(error) => visit.dismiss(&unreachable(&error).message()).await,
        Ok(Reached { mut far, account }) => {
            // The proxy's own answer is not counted as carried. If the client has gone, the tunnel notices it at once.
            let _ = visit.client.write_all(&Reply::Done.message()).await;
            let idle = visit.shared.options.idle_time;
            let how = carry((&mut visit.client, &visit.unread), &mut far, &account.traffic, idle).await;
            account.close(how);
        }
    }
}

fn refused(refusal: &DenyReason) -> Reply {
    match refusal {
        DenyReason::Unlisted(_) => Reply::NotAllowed,
        DenyReason::NoAddress | DenyReason::LookupFailed(_) | DenyReason::LookupTimedOut => {
            Reply::HostUnreachable
        }
    }
}

fn unreachable(error: &io::Error) -> Reply {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Reply::ConnectionRefused,
        _ => Reply::HostUnreachable,
    }
}
