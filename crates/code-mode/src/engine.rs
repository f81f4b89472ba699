//! The inside of a cell: the engine on its thread, from the script's first line to the reason of its end.
//!
//! The engine first runs the script, and then the jobs that become ready, until the script has finished and nothing
//! that it began is under way. It loads no modules, and scripts see only what the prelude provides. The engine's memory
//! is freed before the end is reported.

mod calls;
mod desk;
mod fault;
mod life;
mod meter;
mod picture;
mod rejections;
mod timers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use rquickjs::context::intrinsic;
use rquickjs::{Context, Runtime};

pub(crate) use self::calls::{CallNumber, Calls};
use self::life::RunningScript;
use self::meter::{Meter, Stop};
use self::rejections::Rejections;
use crate::cells::Options;
use crate::outside::Outside;
use crate::transcript::End;

/// The parameters of an engine.
pub(crate) struct Work {
    pub(crate) source: String,
    pub(crate) options: Options,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) inbox: Receiver<Message>,
}

pub(crate) use self::desk::{LONGEST_NOTICE, MOST_NOTICES};
pub(crate) use self::picture::check as check_image;

/// A message that wakes a waiting cell.
pub(crate) enum Message {
    /// A tool has answered.
    Answered(CallNumber, Result<serde_json::Value, String>),
    /// Something needs a check, such as the request to stop.
    Wake,
    /// No more messages need to be forwarded: the process in which the script ran is gone.
    Over,
}

/// The end of a cell, with the reason if it failed.
pub(crate) struct CellEnd {
    pub(crate) end: End,
    pub(crate) reason: Option<String>,
}

/// The parts of the language that scripts have. Left out: clocks finer than a date's, everything that observes the
/// garbage collector, and raw memory. Typed arrays are the part of an engine in C whose bugs give a script arbitrary
/// reads and writes, and scripts that call tools only pass text.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::Promise,
);

/// The depth of nested calls, in bytes of stack.
const STACK_OF_CALLS: usize = 1 << 20;
/// With less memory than this not even the language's own objects fit.
const LEAST_MEMORY: usize = 2 << 20;

/// The stack of an engine's thread, most of which is never touched. Beyond the limit for calls it has room for
/// recursion that the engine does not count, over structures as deep as the engine's memory allows.
pub(crate) fn stack_bytes(options: &Options) -> usize {
    2 * options.memory_limit.max(LEAST_MEMORY) + 16 * STACK_OF_CALLS
}

/// Runs a cell to its end. Never panics.
pub(crate) fn run(work: Work, outside: Rc<dyn Outside>) -> CellEnd {
    let verdict = catch_unwind(AssertUnwindSafe(|| execute(work, outside)));
    verdict.unwrap_or_else(|_| CellEnd::failed("the engine broke down; nothing more is known"))
}

/// Creates an engine, runs the script in it, and frees it.
fn execute(work: Work, outside: Rc<dyn Outside>) -> CellEnd {
    let meter = Rc::new(Meter::start(work.options.time_limit, Arc::clone(&work.stop)));
    let rejections = Rejections::default();
    let options = work.options.clone();
    let verdict = engine(&options, &meter, &rejections).and_then(|(runtime, context)| {
        let verdict = RunningScript::begin((&runtime, &context), work, outside, Rc::clone(&meter))
            .map(|life| life.live(&rejections));
        rejections.clear();
        verdict
    });
    let verdict = verdict.unwrap_or_else(|_| CellEnd::out_of_memory(&options));
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

impl CellEnd {
    fn completed() -> Self {
        Self { end: End::Completed, reason: None }
    }

    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self { end: End::Failed, reason: Some(reason.into()) }
    }

    fn out_of_memory(options: &Options) -> Self {
        let bytes = options.memory_limit.max(LEAST_MEMORY);
        Self::failed(format!("the script needs more than its {bytes} bytes of memory"))
    }

    /// If the cell had to stop, that is the reason of its end, however the script reacted to it.
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
