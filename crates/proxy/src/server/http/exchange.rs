//! Forwards one request and brings its answer back. Exactly the request's body is sent: bytes that a client sends after
//! it are not for the far side, which may serve other hosts than the one that was judged.

use std::pin::pin;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::limits;
use crate::decision::HowEnded;
use crate::server::account::{Direction, Traffic};
use crate::server::client_connection::ClientConnection;
use crate::server::tunnel::{BUFFER, pump, write};
use crate::wire::head::{BadHead, EndOfHead, HeadLimits};
use crate::wire::refusal::ErrorReply;
use crate::wire::request::{AnswerBody, Passed};
use crate::wire::response::{AnswerKind, ResponseHead};

/// The most interim answers before the final one.
const INTERIM_LIMIT: usize = 16;

/// Carries out an exchange. It is over when the answer is.
pub(super) async fn exchange(
    visit: &mut ClientConnection,
    passed: Passed,
    mut far: TcpStream,
    traffic: &Traffic,
) -> HowEnded {
    let limits = limits(visit);
    let idle = visit.shared.options.idle_time;
    let early = std::mem::take(&mut visit.unread);
    let (client_in, client_out) = visit.client.split();
    let (far_in, far_out) = far.split();
    let wanted = passed.answer;
    let request = Sending { passed, client: client_in, far: far_out, traffic };
    let answer = Bringing { far: far_in, client: client_out, limits, traffic, wanted };
    tokio::select! {
        over = both(request.send(early), answer.bring()) => match over {
            Ok(()) => HowEnded::Finished,
            Err(why) => HowEnded::Broken(why),
        },
        () = traffic.ceased(idle) => HowEnded::Idle,
    }
}

/// The exchange is over when the answer is; the end of the request does not end it, unless the request is malformed.
async fn both(
    request: impl Future<Output = Result<(), String>>,
    answer: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let mut answer = pin!(answer);
    tokio::select! {
        sent = request => match sent {
            Ok(()) => answer.await,
            Err(why) => Err(why),
        },
        over = &mut answer => over,
    }
}

/// The request, on its way from the client to the far side.
struct Sending<'a> {
    passed: Passed,
    client: ReadHalf<'a>,
    far: WriteHalf<'a>,
    traffic: &'a Traffic,
}

impl Sending<'_> {
    /// Sends head and body, and shuts the direction down if the client does. A far side that takes no more may have
    /// answered already, so the answer decides how the exchange ends.
    async fn send(mut self, early: Vec<u8>) -> Result<(), String> {
        let note = (self.traffic, Direction::Out);
        if write(&mut self.far, &self.passed.head, note).await.is_err() {
            return Ok(());
        }
        let mut buffer = early;
        while !self.passed.body.is_over() {
            if buffer.is_empty() {
                buffer.resize(BUFFER, 0);
                let read = self.client.read(&mut buffer).await.map_err(|error| error.to_string())?;
                buffer.truncate(read);
                if read == 0 {
                    return Err("the client went away in the middle of its request".to_owned());
                }
            }
            let taken = self.passed.body.take(&buffer).map_err(|bad| bad.to_string())?;
            if write(&mut self.far, &buffer[..taken], note).await.is_err() {
                return Ok(());
            }
            buffer.drain(..taken);
        }
        if buffer.is_empty() && matches!(self.client.read(&mut [0]).await, Ok(0)) {
            // A far side that has closed already knows.
            let _ = self.far.shutdown().await;
        }
        Ok(())
    }
}

/// The answer, on its way from the far side to the client.
struct Bringing<'a> {
    far: ReadHalf<'a>,
    client: WriteHalf<'a>,
    limits: HeadLimits,
    traffic: &'a Traffic,
    wanted: AnswerBody,
}

impl Bringing<'_> {
    /// Forwards the heads, and then everything until the far side closes.
    async fn bring(mut self) -> Result<(), String> {
        let note = (self.traffic, Direction::In);
        let mut unread = Vec::new();
        for _ in 0..=INTERIM_LIMIT {
            let answer = match self.head(&mut unread).await {
                Ok(answer) => answer,
                Err(bad) => return self.apologise(bad).await,
            };
            write(&mut self.client, &answer.head, note).await.map_err(|error| error.to_string())?;
            if answer.kind == AnswerKind::Final {
                write(&mut self.client, &unread, note).await.map_err(|error| error.to_string())?;
                drop(unread);
                return pump(&mut self.far, &mut self.client, note).await.map_err(|error| error.to_string());
            }
        }
        Err("the far side has more to say before its answer than anybody wants to hear".to_owned())
    }

    async fn head(&mut self, unread: &mut Vec<u8>) -> Result<ResponseHead, BadHead> {
        let mut end = EndOfHead::default();
        let length = loop {
            if let Some(length) = end.find(unread, self.limits)? {
                break length;
            }
            unread.reserve(BUFFER);
            match self.far.read_buf(unread).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Err(BadHead::FirstLine),
            }
        };
        let answer = ResponseHead::parse(&unread[..length], self.limits)?;
        unread.drain(..length);
        Ok(answer)
    }

    async fn apologise(mut self, bad: BadHead) -> Result<(), String> {
        let reply = ErrorReply::bad_answer(bad).message(self.wanted);
        self.client.write_all(&reply).await.map_err(|error| error.to_string())?;
        Err(format!("the answer of the far side is no HTTP: {bad}"))
    }
}
