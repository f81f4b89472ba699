//! A cell from within: the engine on its thread, from the script's first line to the reason of its end.
//!
//! The engine is asked to run, and then to run what became ready, until the script is at its end and nothing it began is
//! under way. It has no modules to load and sees nothing but what the prelude gives it. Its memory is freed before the
//! end is told.

mod calls;
mod desk;
mod fault;
mod meter;
mod picture;
mod rejections;
mod timers;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Function, Module, Object, Promise, Runtime, Value};
use serde_json::json;

use self::calls::{CallNumber, Calls};
use self::desk::Desk;
use self::meter::{Meter, Stop};
use self::rejections::Rejections;
use self::timers::{TimerNumber, Timers};
use crate::cells::Options;
use crate::host::{Host, ToolInfo};
use crate::storage::Storage;
use crate::transcript::{End, Transcript};

/// What a cell's thread is started with.
pub(crate) struct Work {
    pub(crate) source: String,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) options: Options,
    pub(crate) storage: Arc<Storage>,
    pub(crate) transcript: Arc<Transcript>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) messages: Sender<Message>,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) runtime: tokio::runtime::Handle,
}

/// What wakes a cell that waits.
pub(crate) enum Message {
    /// A tool answered.
    Answered(CallNumber, Result<serde_json::Value, String>),
    /// Something is to be looked at, such as the request to stop.
    Wake,
}

/// How a cell ended, and why if not well.
struct Verdict {
    end: End,
    reason: Option<String>,
}

/// The parts of the language a script has. Not among them: clocks finer than a date's, and what observes the collector.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

const PRELUDE: &str = include_str!("engine/prelude.js");

/// How deep calls may nest, in bytes of stack.
const STACK_OF_CALLS: usize = 1 << 20;
/// Less memory than this holds not even what the language brings along.
const LEAST_MEMORY: usize = 2 << 20;

impl Work {
    /// The stack of the thread, most of which is never touched. Beyond what calls may take, it holds the recursion that the
    /// engine does not count, over structures as deep as its memory is large.
    pub(crate) fn stack_bytes(&self) -> usize {
        2 * self.options.memory_limit.max(LEAST_MEMORY) + 16 * STACK_OF_CALLS
    }
}

/// Runs a cell to its end. Never panics: whatever happens is told in the transcript.
pub(crate) fn run(work: Work) {
    let transcript = Arc::clone(&work.transcript);
    let verdict = catch_unwind(AssertUnwindSafe(|| execute(work)));
    let verdict = verdict.unwrap_or_else(|_| Verdict::failed("the engine broke down; nothing more is known"));
    transcript.end(verdict.end, verdict.reason);
}

/// Sets up an engine, lives in it, and frees it.
fn execute(work: Work) -> Verdict {
    let meter = Rc::new(Meter::start(work.options.time_limit, Arc::clone(&work.stop)));
    let rejections = Rejections::default();
    let options = work.options.clone();
    let life = engine(&options, &meter, &rejections).and_then(|(_runtime, context)| {
        context.with(|ctx| {
            let life = Life::begin(&ctx, work, Rc::clone(&meter), rejections.clone());
            let verdict = life.and_then(Life::live);
            rejections.clear();
            verdict.or_else(|_| Ok(Verdict::out_of_memory(&options)))
        })
    });
    let verdict = life.unwrap_or_else(|_: rquickjs::Error| Verdict::out_of_memory(&options));
    verdict.unless_stopped(&meter, &options)
}

fn engine(
    options: &Options,
    meter: &Rc<Meter>,
    rejections: &Rejections,
) -> rquickjs::Result<(Runtime, Context)> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(options.memory_limit.max(LEAST_MEMORY));
    runtime.set_max_stack_size(STACK_OF_CALLS);
    let meter = Rc::clone(meter);
    runtime.set_interrupt_handler(Some(Box::new(move || meter.verdict().is_some())));
    let rejections = rejections.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, is_handled| {
        if is_handled {
            rejections.remove(&ctx, promise);
        } else {
            rejections.add(&ctx, promise, reason);
        }
    })));
    let context = Context::custom::<Language>(&runtime)?;
    Ok((runtime, context))
}

/// A script under way.
struct Life<'js> {
    ctx: Ctx<'js>,
    desk: Rc<Desk>,
    inbox: Receiver<Message>,
    source: String,
    options: Options,
    rejections: Rejections,
    settle: Function<'js>,
    fire: Function<'js>,
    explain: Function<'js>,
}

impl<'js> Life<'js> {
    /// Gives the script its surroundings.
    fn begin(ctx: &Ctx<'js>, work: Work, meter: Rc<Meter>, rejections: Rejections) -> rquickjs::Result<Self> {
        let most_calls = work.options.most_pending_calls;
        let calls = Calls::new(Arc::clone(&work.host), work.runtime, work.messages, most_calls);
        let tools = describe(calls.tools());
        let desk = Rc::new(Desk {
            host: work.host,
            meter,
            calls: RefCell::new(calls),
            timers: RefCell::new(Timers::default()),
            storage: work.storage,
            transcript: work.transcript,
            notices: RefCell::new(0),
        });
        let mut how = EvalOptions::default();
        how.filename = Some("prelude.js".to_string());
        let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, how)?;
        let longest_array = work.options.memory_limit.max(LEAST_MEMORY) / BYTES_IN_ELEMENT;
        let made: Object<'js> = prelude.call((desk.natives(ctx)?, tools, longest_array))?;
        let (settle, fire, explain) = (made.get("settle")?, made.get("fire")?, made.get("explain")?);
        let (inbox, source, options) = (work.inbox, work.source, work.options);
        Ok(Self { ctx: ctx.clone(), desk, inbox, source, options, rejections, settle, fire, explain })
    }

    /// Runs the script, and then whatever becomes ready, until there is a verdict.
    fn live(mut self) -> rquickjs::Result<Verdict> {
        let source = std::mem::take(&mut self.source);
        let body = match Module::evaluate(self.ctx.clone(), fault::SCRIPT, source) {
            Ok(body) => body,
            Err(fault) => return Ok(self.failed(&fault)),
        };
        loop {
            self.run_what_is_ready();
            if let Some(verdict) = self.verdict(&body) {
                return Ok(verdict);
            }
            let happened = self.wait();
            if let Err(fault) = self.carry_out(happened) {
                return Ok(self.failed(&fault));
            }
        }
    }

    fn run_what_is_ready(&self) {
        while self.desk.meter.verdict().is_none() && self.ctx.execute_pending_job() {}
    }

    /// Whether it is over, and how.
    fn verdict(&self, body: &Promise<'js>) -> Option<Verdict> {
        if self.desk.meter.verdict().is_some() {
            // The reason is put in its place when the engine is gone.
            return Some(Verdict::completed());
        }
        let is_idle = self.desk.calls.borrow().is_empty() && self.desk.timers.borrow().next().is_none();
        match body.state() {
            PromiseState::Rejected => Some(self.rejected(body)),
            PromiseState::Resolved if is_idle => Some(self.at_the_end()),
            PromiseState::Pending if is_idle => Some(Verdict::failed(NEVER)),
            PromiseState::Resolved | PromiseState::Pending => None,
        }
    }

    /// Waits for an answer, a timer or a request. A wait for timers alone is the script's own time.
    fn wait(&self) -> Option<Message> {
        let due = self.desk.timers.borrow().next();
        let Some(due) = due else { return self.inbox.recv().ok() };
        let began = Instant::now();
        let own_time = self.desk.calls.borrow().is_empty();
        let left = if own_time { self.desk.meter.left() } else { Duration::MAX };
        // timer: the script's own, set by `setTimeout`, or the end of its time.
        let message = self.inbox.recv_timeout(due.saturating_duration_since(began).min(left)).ok();
        if own_time {
            self.desk.meter.charge(began.elapsed());
        }
        message
    }

    fn carry_out(&self, happened: Option<Message>) -> rquickjs::Result<()> {
        if let Some(Message::Answered(number, answer)) = happened {
            self.answer(number, answer)?;
        }
        self.fire_what_is_due()
    }

    /// Hands a tool's answer to the script.
    fn answer(&self, number: CallNumber, answer: Result<serde_json::Value, String>) -> rquickjs::Result<()> {
        self.desk.calls.borrow_mut().finish(number);
        let (succeeded, payload) = match answer {
            Ok(value) => (true, value.to_string()),
            Err(message) => (false, message),
        };
        if self.settle.call::<_, ()>((number.0, succeeded, payload)).is_ok() {
            return Ok(());
        }
        // What was thrown is that the answer has no room; the promise is still there to be told so.
        drop(self.ctx.catch());
        self.settle.call((
            number.0,
            false,
            "the answer of the tool does not fit into the memory of the script",
        ))
    }

    fn fire_what_is_due(&self) -> rquickjs::Result<()> {
        let now = Instant::now();
        let due = || self.desk.timers.borrow_mut().take_due(now);
        while let Some(TimerNumber(number)) = due() {
            self.fire.call::<_, ()>((number,))?;
            self.run_what_is_ready();
        }
        Ok(())
    }

    /// The script ran to its end; but a promise that nobody looked at may have failed.
    fn at_the_end(&self) -> Verdict {
        match self.rejections.first(&self.ctx) {
            None => Verdict::completed(),
            Some(reason) => self.explained(reason),
        }
    }

    fn rejected(&self, body: &Promise<'js>) -> Verdict {
        match body.result::<Value<'js>>() {
            Some(Err(fault)) => self.failed(&fault),
            _ => Verdict::completed(),
        }
    }

    fn failed(&self, fault: &rquickjs::Error) -> Verdict {
        if fault.is_exception() {
            self.explained(self.ctx.catch())
        } else {
            Verdict::failed(fault.to_string())
        }
    }

    /// In words, of which the script itself may have a part: an error's own getters are asked.
    fn explained(&self, thrown: Value<'js>) -> Verdict {
        // The engine throws null where it has no memory left for an error.
        if thrown.is_null() {
            return Verdict::out_of_memory(&self.options);
        }
        match self.explain.call::<_, String>((thrown,)) {
            Ok(words) if words.starts_with(OUT_OF_MEMORY) => Verdict::out_of_memory(&self.options),
            Ok(words) => Verdict::failed(fault::tell(&words)),
            Err(_) => {
                drop(self.ctx.catch());
                Verdict::failed("the script threw something that cannot be shown")
            }
        }
    }
}

const BYTES_IN_ELEMENT: usize = 16;
const OUT_OF_MEMORY: &str = "InternalError: out of memory";
const NEVER: &str = "the script awaits something that can never happen: no call and no timer is under way";

impl Verdict {
    fn completed() -> Self {
        Self { end: End::Completed, reason: None }
    }

    fn failed(reason: impl Into<String>) -> Self {
        Self { end: End::Failed, reason: Some(reason.into()) }
    }

    fn out_of_memory(options: &Options) -> Self {
        let bytes = options.memory_limit.max(LEAST_MEMORY);
        Self::failed(format!("the script needs more than its {bytes} bytes of memory"))
    }

    /// Where the cell had to stop, that is what happened, whatever the script made of it.
    fn unless_stopped(self, meter: &Meter, options: &Options) -> Self {
        let (seconds, bytes) = (options.time_limit.as_secs_f64(), options.most_output);
        match meter.stopped() {
            None => self,
            Some(Stop::Exit) => Self::completed(),
            Some(Stop::Terminated) => Self { end: End::Terminated, reason: None },
            Some(Stop::OutOfTime) => Self::failed(format!(
                "the script took more than its {seconds} seconds, not counting the time it waited for tools"
            )),
            Some(Stop::TooMuchOutput) => Self::failed(format!(
                "the script said more than {bytes} bytes before anybody could read them"
            )),
        }
    }
}

/// The tools for the prelude, as JSON: parameters are null for a tool that takes free text.
fn describe(tools: &[ToolInfo]) -> String {
    let tools = tools.iter().map(
        |tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}),
    );
    serde_json::Value::Array(tools.collect()).to_string()
}
