//! One connection: handles messages one after the other until either side has gone or the server stops.

use std::time::Duration;

use tokio::io::AsyncRead;

use super::peer::Peer;
use super::websocket::{Came, Frames, Sender, close};
use crate::lines::{Line, Lines};

/// The largest message that is accepted. Input of 32 MiB in one piece, as base64, fits with room to spare.
pub(crate) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// How long the last messages may take to be written once a connection is over.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The reading half of a connection.
pub(crate) type Source = Box<dyn AsyncRead + Send + Unpin>;

/// Handles the messages of one connection, in one dialect.
pub(crate) trait MessageHandler: Send {
    /// Handles one message, which may be any bytes. The server reads nothing else from the connection meanwhile, so
    /// this must wait only where back-pressure is wanted.
    fn take(&mut self, message: &[u8]) -> impl Future<Output = Next> + Send;

    /// A message was longer than [`MESSAGE_LIMIT`] and was skipped.
    fn too_long(&mut self, beginning: &[u8]);

    /// The connection is over: ends everything that must end with it, and returns when it has ended.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Whether the connection continues after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read the next message.
    GoOn,
    /// Close the connection: the dialect allows no further message.
    HangUp,
}

/// The incoming messages of a connection.
pub(crate) enum Inbox {
    /// One per line.
    Lines(Lines<Source>),
    /// One per WebSocket message.
    Frames(Frames<Source>),
}

/// An event of an inbox.
pub(crate) enum Inbound {
    /// A message: any bytes.
    Message(Vec<u8>),
    /// The beginning of a message that is longer than the limit.
    TooLong(Vec<u8>),
    /// An event that the handler does not see, such as a ping.
    Aside,
}

impl Inbox {
    /// Reads messages from lines.
    pub(crate) fn lines(source: Source) -> Self {
        Self::lines_up_to(MESSAGE_LIMIT, source)
    }

    /// The same, for lines of at most this many bytes.
    pub(crate) fn lines_up_to(limit: usize, source: Source) -> Self {
        Self::Lines(Lines::up_to(limit, source))
    }

    /// Reads messages from the WebSocket frames of this other side.
    pub(crate) fn frames_up_to(limit: usize, source: Source, other: (Sender, Peer)) -> Self {
        Self::Frames(Frames::up_to(limit, source, other))
    }

    /// The next message; `None` at the end. Cancel safe: dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Inbound> {
        match self {
            // A read error counts as the end of the input.
            Self::Lines(lines) => Some(match lines.next().await.ok().flatten()? {
                Line::Whole(range) => Inbound::Message(lines.take(&range)),
                Line::TooLong(beginning) => Inbound::TooLong(beginning),
            }),
            Self::Frames(frames) => Some(match frames.next().await? {
                Came::Message => Inbound::Message(frames.take_message()),
                Came::TooLong => Inbound::TooLong(frames.take_message()),
                Came::Aside => Inbound::Aside,
            }),
        }
    }

    /// Waits for the end without taking a message. Reads ahead a little, and no further.
    async fn ended(&mut self) {
        match self {
            Self::Lines(lines) => lines.ended().await,
            Self::Frames(frames) => frames.ended().await,
        }
    }

    /// Reads and discards the rest where the other side would otherwise lose the last messages sent to it.
    async fn forget_the_rest(&mut self) {
        match self {
            Self::Lines(_) => {}
            Self::Frames(frames) => frames.forget_the_rest().await,
        }
    }
}

/// Serves a connection until its end, then closes the handler.
pub(crate) async fn serve<D: MessageHandler>(
    mut dialect: D,
    mut inbox: Inbox,
    peer: Peer,
    stop: impl Future<Output = ()> + Send,
) {
    let messages = async {
        loop {
            tokio::select! {
                biased;
                room = peer.room_for_answers() => if room.is_err() { return },
                // A peer that neither reads nor sends any more will not come back.
                () = inbox.ended() => return,
            }
            let next = match inbox.next().await {
                None => return,
                Some(Inbound::Message(message)) => {
                    let Some(next) = take(&mut dialect, &message, &mut inbox).await else { return };
                    next
                }
                Some(Inbound::TooLong(beginning)) => {
                    dialect.too_long(&beginning);
                    Next::GoOn
                }
                Some(Inbound::Aside) => Next::GoOn,
            };
            if next == Next::HangUp {
                return;
            }
        }
    };
    let code = tokio::select! {
        () = messages => close::NORMAL,
        () = peer.gone() => close::NORMAL,
        () = stop => close::GOING_AWAY,
    };
    dialect.close().await;
    let last_words = async {
        peer.finish(code).await;
        inbox.forget_the_rest().await;
    };
    // timer: a peer that does not take the last messages must not keep the server.
    let _ = tokio::time::timeout(LAST_ANSWERS, last_words).await;
}

/// Has a message handled; `None` if the client left before that was done.
///
/// The server notices that a client left as long as no more than the read-ahead lies before the end. If the client sent
/// more while the server was not reading, the server notices when it writes to the client, or when the handler
/// continues.
async fn take<D: MessageHandler>(dialect: &mut D, message: &[u8], inbox: &mut Inbox) -> Option<Next> {
    let mut taking = std::pin::pin!(dialect.take(message));
    tokio::select! {
        biased;
        next = &mut taking => return Some(next),
        () = inbox.ended() => {}
    }
    // timer: a message just before the end still counts, but must not wait for ever.
    tokio::time::timeout(LAST_ANSWERS, taking).await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::jsonrpc::peer::{Framing, Stamping};

    /// Records messages and echoes them; on request it waits for ever or for a moment, or hangs up.
    struct Echo {
        peer: Peer,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Echo {
        fn note(&self, what: &str) {
            self.seen.lock().expect("nobody panicked").push(what.to_owned());
        }
    }

    impl MessageHandler for Echo {
        async fn take(&mut self, message: &[u8]) -> Next {
            let text = String::from_utf8_lossy(message).into_owned();
            self.note(&text);
            self.peer.push(message);
            match text.as_str() {
                "wait" => std::future::pending().await,
                "think" => tokio::task::yield_now().await,
                _ => {}
            }
            if text == "bye" { Next::HangUp } else { Next::GoOn }
        }

        fn too_long(&mut self, _: &[u8]) {
            self.note("too long");
        }

        async fn close(self) {
            self.note("closed");
        }
    }

    async fn check(sent: &[u8], expected: &[&str]) {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (source, sink) = tokio::io::split(ours);
        let peer = Peer::new(Box::new(sink), Framing::Lines, Stamping::Plain);
        let seen = Arc::default();
        let dialect = Echo { peer: peer.clone(), seen: Arc::clone(&seen) };
        theirs.write_all(sent).await.expect("it fits");
        theirs.shutdown().await.expect("it can be closed");
        serve(dialect, Inbox::lines(Box::new(source)), peer, std::future::pending()).await;
        assert_eq!(*seen.lock().expect("nobody panicked"), expected);
        let mut said = String::new();
        theirs.read_to_string(&mut said).await.expect("it can be read");
        let echoed: Vec<&str> = said.lines().collect();
        assert_eq!(echoed, expected[..expected.len() - 1]);
    }

    #[tokio::test]
    async fn messages_are_taken_in_order_until_the_end() {
        check(b"a\nb\nc", &["a", "b", "c", "closed"]).await;
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_noticed_while_its_message_is_being_taken() {
        check(b"a\nwait\nb\n", &["a", "wait", "closed"]).await;
    }

    #[tokio::test]
    async fn what_was_said_just_before_the_end_is_still_taken() {
        check(b"a\nthink\nb\n", &["a", "think", "b", "closed"]).await;
    }

    #[tokio::test]
    async fn a_dialect_may_hang_up() {
        check(b"a\nbye\nc\n", &["a", "bye", "closed"]).await;
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_has_gone() {
        let (source, _theirs) = tokio::io::duplex(1024);
        let (sink, reader) = tokio::io::duplex(4);
        let peer = Peer::new(Box::new(sink), Framing::Lines, Stamping::Plain);
        let seen = Arc::default();
        let dialect = Echo { peer: peer.clone(), seen: Arc::clone(&seen) };
        peer.push(b"more than fits");
        drop(reader);
        serve(dialect, Inbox::lines(Box::new(source)), peer, std::future::pending()).await;
        assert_eq!(*seen.lock().expect("nobody panicked"), ["closed"]);
    }
}
