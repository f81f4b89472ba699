//! A client that speaks HTTP: `CONNECT` for bytes both ways, or one request that is passed on.
//!
//! A connection carries one request. The answer says so, and the client's next request comes on a connection of its
//! own, to be judged again.

mod exchange;

use tokio::io::AsyncWriteExt;

use self::exchange::exchange;
use super::client_connection::{ClientConnection, Reached, Silence};
use super::tunnel::carry;
use crate::decision::Protocol;
use crate::wire::head::{EndOfHead, HeadLimits};
use crate::wire::refusal::ErrorReply;
use crate::wire::request::{AnswerBody, BadRequest, ParsedTarget, Passed, Request};

/// The answer that the tunnel is open. There is no body, so the next byte is the far side's.
const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// The reason why a request is refused.
enum Trouble {
    Silence(Silence),
    Bad(BadRequest),
}

/// Serves a client whose first byte could be that of a method.
pub(crate) async fn serve(mut visit: ClientConnection) {
    match read(&mut visit).await {
        Ok(Request::Tunnel(asked)) => tunnel(visit, &asked).await,
        Ok(Request::Pass(passed)) => pass(visit, *passed).await,
        Err(Trouble::Silence(silence)) => {
            visit.fell_silent(&silence);
            if let Silence::Late = silence {
                visit.dismiss(&ErrorReply::too_slow().message(AnswerBody::Shown)).await;
            }
        }
        Err(Trouble::Bad(bad)) => {
            let answer = ErrorReply::bad_request(bad).message(AnswerBody::Shown);
            visit.turn_away(&answer, &bad.to_string()).await;
        }
    }
}

/// Reads the head. The bytes after it stay unread.
async fn read(visit: &mut ClientConnection) -> Result<Request, Trouble> {
    let limits = limits(visit);
    let mut end = EndOfHead::default();
    let length = loop {
        match end.find(&visit.unread, limits).map_err(|bad| Trouble::Bad(bad.into()))? {
            Some(length) => break length,
            None => visit.more().await.map_err(Trouble::Silence)?,
        }
    };
    let request = Request::parse(&visit.unread[..length], limits).map_err(Trouble::Bad)?;
    visit.unread.drain(..length);
    Ok(request)
}

fn limits(visit: &ClientConnection) -> HeadLimits {
    HeadLimits { bytes: visit.shared.options.head_bytes, fields: visit.shared.options.head_fields }
}

async fn tunnel(mut visit: ClientConnection, asked: &ParsedTarget) {
    match reach(&visit, Protocol::Connect, asked).await {
        Err(reply) => visit.dismiss(&reply.message(AnswerBody::Shown)).await,
        Ok(Reached { mut far, account }) => {
            // The proxy's own answer is not counted as carried. If the client has gone, the tunnel notices it at once.
            let _ = visit.client.write_all(OPEN).await;
            let idle = visit.shared.options.idle_time;
            let how = carry((&mut visit.client, &visit.unread), &mut far, &account.traffic, idle).await;
            account.close(how);
        }
    }
}

async fn pass(mut visit: ClientConnection, passed: Passed) {
    match reach(&visit, Protocol::Http, &passed.asked).await {
        Err(reply) => visit.dismiss(&reply.message(passed.answer)).await,
        Ok(Reached { far, account }) => {
            let how = exchange(&mut visit, passed, far, &account.traffic).await;
            account.close(how);
            visit.dismiss(&[]).await;
        }
    }
}

async fn reach(
    visit: &ClientConnection,
    protocol: Protocol,
    asked: &ParsedTarget,
) -> Result<Reached, ErrorReply> {
    let way = visit.decide(protocol, asked).await;
    let way = way.map_err(|refusal| ErrorReply::refused(&asked.target, &refusal))?;
    visit.reach(&way).await.map_err(|error| ErrorReply::unreachable(&asked.target, &error.to_string()))
}
