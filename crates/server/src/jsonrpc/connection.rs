//! One connection: messages come in one after the other until either side has gone or we are told to stop.

use std::time::Duration;

use tokio::io::AsyncRead;

use super::peer::Peer;
use super::websocket::{Came, Frames, Sender, close};
use crate::lines::{Line, Lines};

/// The largest message that is taken. Input of 32 MiB in one piece, as base64, fits with room to spare.
pub(crate) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// How long what was said last may take to go out once a connection is over.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Where messages are read.
pub(crate) type Source = Box<dyn AsyncRead + Send + Unpin>;

/// What the messages of one connection mean.
pub(crate) trait MessageHandler: Send {
    /// Takes one message, which may be any bytes. Nothing more is read from the connection meanwhile, so this waits only
    /// where that is wanted as back-pressure.
    fn take(&mut self, message: &[u8]) -> impl Future<Output = Next> + Send;

    /// A message was longer than [`MESSAGE_LIMIT`] and was skipped.
    fn too_long(&mut self, beginning: &[u8]);

    /// The connection is over: ends what must end with it, and returns when it has.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// What becomes of the connection after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next message, please.
    GoOn,
    /// The dialect allows no further one.
    HangUp,
}

/// Messages as they come in.
pub(crate) enum Inbox {
    /// One on each line.
    Lines(Lines<Source>),
    /// One in each message of a WebSocket.
    Frames(Frames<Source>),
}

/// What came in.
pub(crate) enum Inbound {
    /// Any bytes.
    Message(Vec<u8>),
    /// More of them than a message may have; the first of them.
    TooLong(Vec<u8>),
    /// Nothing that concerns a dialect.
    Aside,
}

impl Inbox {
    /// The messages on these lines.
    pub(crate) fn lines(source: Source) -> Self {
        Self::lines_up_to(MESSAGE_LIMIT, source)
    }

    /// The same, for lines of at most this many bytes.
    pub(crate) fn lines_up_to(limit: usize, source: Source) -> Self {
        Self::Lines(Lines::up_to(limit, source))
    }

    /// The messages in the frames of this other side.
    pub(crate) fn frames_up_to(limit: usize, source: Source, other: (Sender, Peer)) -> Self {
        Self::Frames(Frames::up_to(limit, source, other))
    }

    /// The next message; none at the end. May be dropped while it waits without losing anything.
    pub(crate) async fn next(&mut self) -> Option<Inbound> {
        match self {
            // Input that cannot be read has ended.
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

    /// Lets the other side finish where it would lose what we said last if we did not.
    async fn forget_the_rest(&mut self) {
        match self {
            Self::Lines(_) => {}
            Self::Frames(frames) => frames.forget_the_rest().await,
        }
    }
}

/// Serves a connection until its end, then lets the dialect clean up.
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
                // One that neither reads nor has anything more to say will not come back.
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
    // timer: one that does not take what was said last must not keep us.
    let _ = tokio::time::timeout(LAST_ANSWERS, last_words).await;
}

/// Has a message taken; none if whoever sent it left before that could be done.
///
/// A client is seen to leave as long as no more than the inbox reads ahead lies before the end. One that sent more while
/// nothing was read is noticed when we write to it, or when the dialect goes on.
async fn take<D: MessageHandler>(dialect: &mut D, message: &[u8], inbox: &mut Inbox) -> Option<Next> {
    let mut taking = std::pin::pin!(dialect.take(message));
    tokio::select! {
        biased;
        next = &mut taking => return Some(next),
        () = inbox.ended() => {}
    }
    // timer: what was said just before the end still counts, but must not wait for something that never comes.
    tokio::time::timeout(LAST_ANSWERS, taking).await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::jsonrpc::peer::{Framing, Stamping};

    /// Notes what it is given, says it back, waits for ever or a moment and hangs up when it is told to.
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
