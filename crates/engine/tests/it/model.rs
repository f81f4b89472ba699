//! A randomized model test: thousands of interleaved operations on echoing sessions, against a model that is nothing
//! but the bytes that were accepted. Failures shrink to the shortest sequence that still fails.

use crate::rig::{command, engine, output, sh, tagged, with_stdin};
use proptest::prelude::*;
use windlass_engine::{
    Cause, Cursor, Delivery, Engine, Exit, InputError, Io, JournalPiece, Session, Stdin, Subscription,
    SubscriptionLimits, Terminal, Until,
};
use windlass_output::Offset;
use windlass_sys::pty::Size;
use windlass_testkit::bytes::Noise;
use windlass_testkit::{HANG, survivors};

#[derive(Clone, Debug)]
enum Operation {
    StartOnPipes,
    StartOnTerminal,
    Write { who: usize, size: usize, seed: u64 },
    Read { who: usize, limit: usize },
    Subscribe { who: usize, from: u64, delivery: usize },
    Deliver { who: usize },
    AwaitEcho { who: usize },
    Resize { who: usize, rows: u16 },
    EndInput { who: usize },
    Stop { who: usize },
}

fn operation() -> impl Strategy<Value = Operation> {
    let who = 0..8_usize;
    prop_oneof![
        2 => Just(Operation::StartOnPipes),
        1 => Just(Operation::StartOnTerminal),
        8 => (who.clone(), prop_oneof![0..20_usize, 1000..100_000_usize], any::<u64>())
            .prop_map(|(who, size, seed)| Operation::Write { who, size, seed }),
        5 => (who.clone(), prop_oneof![1..100_usize, 1000..200_000_usize])
            .prop_map(|(who, limit)| Operation::Read { who, limit }),
        2 => (who.clone(), 0..50_000_u64, 1..70_000_usize)
            .prop_map(|(who, from, delivery)| Operation::Subscribe { who, from, delivery }),
        4 => who.clone().prop_map(|who| Operation::Deliver { who }),
        3 => who.clone().prop_map(|who| Operation::AwaitEcho { who }),
        1 => (who.clone(), 1..100_u16).prop_map(|(who, rows)| Operation::Resize { who, rows }),
        1 => who.clone().prop_map(|who| Operation::EndInput { who }),
        1 => who.prop_map(|who| Operation::Stop { who }),
    ]
}

/// A session and everything that may be known about it.
struct Modelled {
    session: Session,
    /// Everything that must come out, in order.
    expected: Vec<u8>,
    cursor: Cursor,
    subscription: Option<(Subscription, usize)>,
    life: Life,
    on_terminal: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Life {
    Open,
    InputEnded,
    Stopped,
}

struct World {
    engine: Engine,
    token: String,
    sessions: Vec<Modelled>,
    /// Left by an earlier sequence that failed.
    zombies: Vec<u32>,
}

impl World {
    async fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::StartOnPipes => self.start(with_stdin(command(["cat"]), Stdin::Open), b"").await,
            Operation::StartOnTerminal => {
                let mut spec = sh("stty raw -echo; printf R; exec cat");
                // Noise echoed back may happen to contain a question to the terminal: an answer would be input of its
                // own.
                let queries = windlass_engine::Queries::PassedOn;
                spec.io = Io::Terminal(Terminal { queries, ..Terminal::default() });
                self.start(spec, b"R").await;
            }
            Operation::Write { who, size, seed } => self.on(who, async |it| it.write(size, seed).await).await,
            Operation::Read { who, limit } => self.on(who, async |it| it.read(limit)).await,
            Operation::Subscribe { who, from, delivery } => {
                self.on(who, async |it| it.subscribe(from, delivery)).await;
            }
            Operation::Deliver { who } => self.on(who, async |it| it.deliver().await).await,
            Operation::AwaitEcho { who } => self.on(who, async |it| it.await_echo().await).await,
            Operation::Resize { who, rows } => self.on(who, async |it| it.resize(rows).await).await,
            Operation::EndInput { who } => self.on(who, async |it| it.end_input().await).await,
            Operation::Stop { who } => self.on(who, async |it| it.stop().await).await,
        }
    }

    async fn start(&mut self, spec: windlass_engine::CommandSpec, greeting: &[u8]) {
        let terminal = matches!(spec.io, Io::Terminal(_));
        let session = self.engine.start(tagged(spec, &self.token)).expect("it starts");
        let cursor = session.cursor(Offset::ZERO);
        let mut it = Modelled {
            session,
            expected: greeting.to_vec(),
            cursor,
            subscription: None,
            life: Life::Open,
            on_terminal: terminal,
        };
        it.await_echo().await;
        self.sessions.push(it);
    }

    async fn on(&mut self, who: usize, work: impl AsyncFnOnce(&mut Modelled)) {
        let count = self.sessions.len();
        if count > 0 {
            work(&mut self.sessions[who % count]).await;
        }
    }

    async fn finish(mut self) {
        for it in &mut self.sessions {
            it.finish().await;
        }
        self.engine.shutdown().await;
        assert_eq!(survivors::bearing(&self.token), Vec::<String>::new());
        assert_eq!(survivors::zombies(), self.zombies);
    }
}

impl Modelled {
    async fn write(&mut self, size: usize, seed: u64) {
        let mut bytes = vec![0; size];
        Noise::new(seed).fill(&mut bytes);
        let answer = self.session.write(bytes.clone()).await;
        match self.life {
            Life::Open => self.expected.extend(&bytes[..answer.expect("open input takes bytes")]),
            Life::InputEnded => assert!(matches!(answer, Err(InputError::Closed | InputError::Gone))),
            Life::Stopped => assert_eq!(answer, Err(InputError::Gone)),
        }
    }

    fn read(&mut self, limit: usize) {
        for piece in self.cursor.read(limit).pieces {
            self.check(&piece);
        }
    }

    /// The bytes of a piece are those of the model at its offsets.
    fn check(&self, piece: &JournalPiece) {
        let JournalPiece::Bytes { span, bytes, .. } = piece else {
            panic!("nothing may be missing, but {piece:?}")
        };
        let (from, to) = (span.from().get() as usize, span.to().get() as usize);
        assert!(self.expected.get(from..to) == Some(bytes), "{span:?} is not what was written");
    }

    fn subscribe(&mut self, from: u64, delivery: usize) {
        let from = from.min(self.session.journal().end().get());
        let limits = SubscriptionLimits { delivery, ..SubscriptionLimits::default() };
        self.subscription = Some((self.session.subscribe(Offset::new(from), limits), from as usize));
    }

    /// One delivery, if one can come.
    async fn deliver(&mut self) {
        let end = self.session.journal().end().get() as usize;
        let Some((mut subscription, at)) = self.subscription.take() else { return };
        if at < end || self.life == Life::Stopped {
            let next = tokio::time::timeout(HANG, subscription.next()).await.expect("a delivery comes");
            let at = match next {
                Some(Delivery::Piece(piece)) => {
                    self.check(&piece);
                    assert_eq!(piece.span().from().get() as usize, at, "without a hole");
                    piece.span().to().get() as usize
                }
                Some(Delivery::Exited(_) | Delivery::Closed { .. }) | None => at,
                Some(other) => panic!("{other:?}"),
            };
            self.subscription = Some((subscription, at));
        } else {
            self.subscription = Some((subscription, at));
        }
    }

    async fn await_echo(&mut self) {
        if self.life == Life::Open {
            let until = Until { reached: Some(Offset::new(self.expected.len() as u64)), ..Until::default() };
            tokio::time::timeout(HANG, self.session.wait(&until)).await.expect("everything is echoed");
            self.check_output(&output(&self.session, |_| true));
        }
    }

    fn check_output(&self, printed: &[u8]) {
        let differs = printed.iter().zip(&self.expected).position(|(printed, expected)| printed != expected);
        let lengths = (printed.len(), self.expected.len());
        assert!(
            differs.is_none() && lengths.0 == lengths.1,
            "printed and expected {lengths:?} bytes, first difference at {differs:?}, terminal: {}",
            self.on_terminal
        );
    }

    async fn resize(&mut self, rows: u16) {
        let answer = self.session.resize(Size { rows, cols: 80 }).await;
        assert_eq!(answer.is_ok(), self.on_terminal && self.life != Life::Stopped);
    }

    async fn end_input(&mut self) {
        let answer = self.session.end_input().await;
        match (self.life, self.on_terminal) {
            (Life::Open, false) => {
                assert_eq!(answer, Ok(()));
                self.life = Life::InputEnded;
            }
            (Life::Open, true) => assert_eq!(answer, Err(InputError::NotInLineMode)),
            _ => assert!(answer.is_err()),
        }
    }

    async fn stop(&mut self) {
        let end = tokio::time::timeout(HANG, self.session.stop()).await.expect("the stop is answered");
        assert_eq!(end.remaining, []);
        let receipt = self.session.receipt().expect("a stop is answered after the receipt");
        match self.life {
            Life::Open => assert_eq!((receipt.exit, receipt.cause), (Exit::Signal(15), Cause::Stopped)),
            // It may have ended by itself meanwhile.
            Life::InputEnded | Life::Stopped => {}
        }
        self.life = Life::Stopped;
        let printed = output(&self.session, |_| true);
        assert!(self.expected.starts_with(&printed), "what came out is what went in, as far as it came");
    }

    async fn finish(&mut self) {
        if self.life == Life::InputEnded {
            let receipt = tokio::time::timeout(HANG, self.session.exited())
                .await
                .expect("cat ends with its input")
                .unwrap();
            assert_eq!(receipt.exit, Exit::Code(0));
            self.check_output(&output(&self.session, |_| true));
            assert_eq!(receipt.bytes.total() as usize, self.expected.len());
        } else {
            self.await_echo().await;
            self.stop().await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sessions_behave_like_the_bytes_that_went_into_them(operations in prop::collection::vec(operation(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (token, zombies) = (survivors::token("model"), survivors::zombies());
            let mut world = World { engine: engine(), token, sessions: Vec::new(), zombies };
            for operation in operations {
                world.apply(operation).await;
            }
            world.finish().await;
        });
    }
}
