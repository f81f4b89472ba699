//! The outgoing messages of one client: written at once if possible, queued while the client is slow, and counted.
//!
//! The sender itself writes most messages, without waking another task. Only the rest that does not fit in the pipe is
//! left to the pump, a task that ends with the outbox.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::AsyncWrite;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// With this many bytes queued the client counts as slow: the server reads no more from it before it has caught up.
/// Requests under way by then are still answered, which is bounded by their limit.
pub(crate) const SLOW: usize = 1024 * 1024;

/// The buffer is freed after a large reply if it grew beyond this.
const KEPT: usize = 1024 * 1024;

/// The queue of outgoing messages to one client.
pub(crate) struct Outbox<W> {
    shared: Arc<Shared<W>>,
    pump: AbortHandle,
}

struct Shared<W> {
    state: Mutex<State<W>>,
    work: Notify,
    level: watch::Sender<Level>,
    /// Whether the client takes nothing any more. Separate from `level`, so that tasks which wait for this are not
    /// woken for every message.
    broken: watch::Sender<bool>,
}

struct State<W> {
    sink: W,
    waiting: Vec<u8>,
    /// The number of queued bytes that are already written.
    done: usize,
    /// Whether the pump writes the queue. The sink wakes only the task that polled it last, so only one may poll.
    pumping: bool,
    accepted: u64,
    written: u64,
    broken: bool,
}

/// How many bytes were accepted and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    accepted: u64,
    written: u64,
    broken: bool,
}

/// An accepted message: the position of its end among all accepted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt(u64);

/// The client takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client does not take what is sent to it any more")]
pub(crate) struct Broken;

impl<W: AsyncWrite + Unpin + Send + 'static> Outbox<W> {
    pub(crate) fn new(sink: W) -> Self {
        let state = State {
            sink,
            waiting: Vec::new(),
            done: 0,
            pumping: false,
            accepted: 0,
            written: 0,
            broken: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Notify::new(),
            level: watch::Sender::new(Level::default()),
            broken: watch::Sender::new(false),
        });
        let pump = tokio::spawn(pump(Arc::clone(&shared))).abort_handle();
        Self { shared, pump }
    }

    /// Queues a message, in this order and never in part.
    pub(crate) fn push(&self, message: &[u8]) -> Receipt {
        self.push_pieces([message])
    }

    /// Queues a message that may be large, without copying it if the queue is empty.
    pub(crate) fn push_whole(&self, message: Vec<u8>) -> Receipt {
        {
            let mut state = self.shared.lock();
            if state.done == state.waiting.len() {
                state.accepted += message.len() as u64;
                (state.waiting, state.done) = (message, 0);
                return self.begin(state);
            }
        }
        self.push(&message)
    }

    /// Queues a message that consists of these pieces, likewise.
    pub(crate) fn push_pieces<const N: usize>(&self, message: [&[u8]; N]) -> Receipt {
        let mut state = self.shared.lock();
        state.forget_written();
        state.accepted += message.iter().map(|piece| piece.len() as u64).sum::<u64>();
        let mut written = state.write_at_once(&message);
        for piece in message {
            let skipped = written.min(piece.len());
            written -= skipped;
            state.waiting.extend_from_slice(&piece[skipped..]);
        }
        self.begin(state)
    }

    /// Writes as much as possible at once, and leaves the rest to the pump.
    fn begin(&self, mut state: MutexGuard<'_, State<W>>) -> Receipt {
        // If the pump is at work already, it will write this too.
        if !state.pumping && state.poll_drain(&mut Context::from_waker(Waker::noop())).is_pending() {
            state.pumping = true;
            self.shared.work.notify_one();
        }
        self.shared.publish(state.level());
        Receipt(state.accepted)
    }

    /// Waits until a message has been written.
    pub(crate) fn written(
        &self,
        receipt: Receipt,
    ) -> impl Future<Output = Result<(), Broken>> + Send + use<W> {
        let mut level = self.shared.level.subscribe();
        async move {
            let settled = level.wait_for(|level| level.broken || level.written >= receipt.0).await;
            if settled.is_ok_and(|level| level.written >= receipt.0) { Ok(()) } else { Err(Broken) }
        }
    }

    /// Waits until the client is not slow. An error if it takes nothing any more.
    pub(crate) async fn room(&self) -> Result<(), Broken> {
        self.room_within(SLOW).await
    }

    /// Waits until at most this many bytes are queued. An error if the client takes nothing any more.
    pub(crate) async fn room_within(&self, most: usize) -> Result<(), Broken> {
        let mut level = self.shared.level.subscribe();
        let fits = |level: &Level| level.accepted - level.written <= most as u64;
        let settled = level.wait_for(|level| level.broken || fits(level)).await;
        if settled.is_ok_and(|level| !level.broken) { Ok(()) } else { Err(Broken) }
    }

    /// Waits until everything is written and then shuts the sink down; later messages are dropped.
    pub(crate) async fn finish(&self) {
        let accepted = self.shared.level.borrow().accepted;
        if self.written(Receipt(accepted)).await.is_err() {
            return;
        }
        let ending = std::future::poll_fn(|cx| {
            let mut state = self.shared.lock();
            if state.pumping {
                // A message was queued in the meantime. The sink is shut down when it is dropped.
                return Poll::Ready(Ok(()));
            }
            state.broken = true;
            Pin::new(&mut state.sink).poll_shutdown(cx)
        });
        // If shutting down fails, the sink has ended anyway.
        let _ = ending.await;
        let level = self.shared.lock().level();
        self.shared.publish(level);
    }

    /// Waits until the client takes nothing any more.
    pub(crate) async fn broken(&self) {
        let mut broken = self.shared.broken.subscribe();
        let _ = broken.wait_for(|broken| *broken).await;
    }
}

/// Writes the queue as the client takes it.
async fn pump<W: AsyncWrite + Unpin>(shared: Arc<Shared<W>>) {
    loop {
        shared.work.notified().await;
        std::future::poll_fn(|cx| {
            let mut state = shared.lock();
            let drained = state.poll_drain(cx);
            state.pumping = drained.is_pending();
            shared.publish(state.level());
            drained
        })
        .await;
    }
}

impl<W> Shared<W> {
    /// Publishes how far the client has got.
    fn publish(&self, level: Level) {
        self.level.send_replace(level);
        if level.broken {
            self.broken.send_replace(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: AsyncWrite + Unpin> State<W> {
    /// Writes as much of a message as possible without copying it, if the queue is empty. An error shows up again when
    /// the rest is written.
    fn write_at_once<const N: usize>(&mut self, message: &[&[u8]; N]) -> usize {
        if self.pumping || self.broken || !self.waiting.is_empty() || !self.sink.is_write_vectored() {
            return 0;
        }
        let pieces = message.map(IoSlice::new);
        let mut unheard = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.sink).poll_write_vectored(&mut unheard, &pieces) {
            Poll::Ready(Ok(count)) => {
                self.written += count as u64;
                count
            }
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        }
    }

    /// Writes until the queue is empty or the pipe is full. A client that takes no more loses the rest.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.done < self.waiting.len() && !self.broken {
            match ready!(Pin::new(&mut self.sink).poll_write(cx, &self.waiting[self.done..])) {
                Ok(0) | Err(_) => self.broken = true,
                Ok(count) => {
                    self.done += count;
                    self.written += count as u64;
                }
            }
        }
        if !self.broken {
            self.broken = ready!(Pin::new(&mut self.sink).poll_flush(cx)).is_err();
        }
        self.waiting.clear();
        self.done = 0;
        if self.waiting.capacity() > KEPT {
            self.waiting = Vec::new();
        }
        Poll::Ready(())
    }

    /// Frees written bytes even though the queue is not empty: with a client that is always a little behind it never
    /// is.
    fn forget_written(&mut self) {
        if self.done > KEPT {
            self.waiting.drain(..self.done);
            self.done = 0;
        }
    }

    fn level(&self) -> Level {
        Level { accepted: self.accepted, written: self.written, broken: self.broken }
    }
}

impl<W> Drop for Outbox<W> {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_fits_is_written_before_push_returns() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let outbox = Outbox::new(ours);
        let receipt = outbox.push(b"hello\n");
        assert_eq!(outbox.shared.level.borrow().written, 6);
        outbox.written(receipt).await.expect("it is written");
        let mut seen = [0; 6];
        theirs.read_exact(&mut seen).await.expect("it can be read");
        assert_eq!(&seen, b"hello\n");
    }

    #[tokio::test]
    async fn messages_keep_their_order_when_the_client_is_slow() {
        let (ours, mut theirs) = tokio::io::duplex(7);
        let outbox = Outbox::new(ours);
        let messages: Vec<String> = (0..200).map(|number| format!("message {number}\n")).collect();
        let receipts: Vec<_> = messages.iter().map(|message| outbox.push(message.as_bytes())).collect();
        let all = messages.concat();
        let mut seen = vec![0; all.len()];
        theirs.read_exact(&mut seen).await.expect("it can be read");
        assert_eq!(String::from_utf8_lossy(&seen), all);
        outbox.written(receipts[receipts.len() - 1]).await.expect("all is written");
    }

    /// Accepts vectored writes, as a pipe does.
    struct Gathering(tokio::io::DuplexStream);

    impl AsyncWrite for Gathering {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.get_mut().0).poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            pieces: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.get_mut().0)
                .poll_write(cx, &pieces.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<u8>>())
        }
    }

    #[tokio::test]
    async fn pieces_and_whole_messages_keep_their_order_however_much_fits_at_once() {
        for room in [1, 5, 8, 13, 64] {
            let (ours, mut theirs) = tokio::io::duplex(room);
            let outbox = Outbox::new(Gathering(ours));
            let mut all = Vec::new();
            for number in 0..50 {
                let (text, rest) = (format!("message {number}"), b"\n".as_slice());
                all.extend([text.as_bytes(), rest].concat());
                outbox.push_pieces([text.as_bytes(), rest]);
                all.extend(b"whole\n");
                outbox.push_whole(b"whole\n".to_vec());
            }
            let mut seen = vec![0; all.len()];
            theirs.read_exact(&mut seen).await.expect("it can be read");
            assert_eq!(String::from_utf8_lossy(&seen), String::from_utf8_lossy(&all), "{room}");
            let level = *outbox.shared.level.borrow();
            assert_eq!((level.accepted, level.written), (all.len() as u64, all.len() as u64));
        }
    }

    #[tokio::test]
    async fn there_is_no_room_while_the_client_is_behind() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let outbox = Outbox::new(ours);
        outbox.push(&vec![b'x'; SLOW + 17]);
        let mut room = std::pin::pin!(outbox.room());
        assert!(std::future::poll_fn(|cx| Poll::Ready(room.as_mut().poll(cx))).await.is_pending());
        let mut seen = vec![0; 17];
        theirs.read_exact(&mut seen).await.expect("it can be read");
        room.await.expect("the client reads again");
    }

    #[tokio::test]
    async fn a_client_that_is_always_a_little_behind_fills_no_memory() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let outbox = Outbox::new(ours);
        let message = vec![b'x'; 64 * 1024];
        outbox.push(&message);
        let mut seen = vec![0; message.len()];
        for _ in 0..64 {
            outbox.push(&message);
            theirs.read_exact(&mut seen).await.expect("it can be read");
        }
        let held = outbox.shared.lock().waiting.capacity();
        assert!(held <= 4 * KEPT, "{held}");
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every connection waits for its client to disconnect. That wait was woken for each message to the client, replies
    /// and output alike.
    #[tokio::test]
    async fn whoever_waits_for_the_client_to_go_is_not_woken_by_messages() {
        let (ours, theirs) = tokio::io::duplex(64);
        let outbox = Outbox::new(ours);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut broken = std::pin::pin!(outbox.broken());
        assert!(broken.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        outbox.push(b"hello\n");
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        drop(theirs);
        outbox.push(b"hello\n");
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        broken.await;
    }

    #[tokio::test]
    async fn a_client_that_is_gone_keeps_nobody_waiting() {
        let (ours, theirs) = tokio::io::duplex(4);
        let outbox = Outbox::new(ours);
        let receipt = outbox.push(b"more than fits");
        drop(theirs);
        assert_eq!(outbox.written(receipt).await, Err(Broken));
        assert_eq!(outbox.room().await, Err(Broken));
        outbox.broken().await;
        assert_eq!(outbox.written(outbox.push(b"again")).await, Err(Broken));
    }
}
