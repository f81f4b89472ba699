//! Runs a script: ready jobs, then a wait, and again, until the cell ends.
//!
//! The engine is entered for each step and left before a wait. References to its values that are kept in between are
//! released before the engine is freed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Promise, Runtime, Type, Value};
use serde_json::json;

use crate::cells::Options;
use crate::engine::calls::CallNumber;
use crate::engine::desk::HostBridge;
use crate::engine::meter::Meter;
use crate::engine::rejections::Rejections;
use crate::engine::timers::{TimerNumber, Timers};
use crate::engine::{CellEnd, LEAST_MEMORY, Message, Work, fault};
use crate::host::ToolInfo;
use crate::outside::Outside;

const GUARDS: &str = include_str!("guards.js");
const PRELUDE: &str = include_str!("prelude.js");

const BYTES_IN_ELEMENT: usize = 16;
const OUT_OF_MEMORY: &str = "InternalError: out of memory";
const TOO_LARGE: &str = "the answer of the tool does not fit into the memory of the script";

/// A running script.
pub(crate) struct RunningScript<'a> {
    runtime: &'a Runtime,
    context: &'a Context,
    desk: Rc<HostBridge>,
    inbox: Receiver<Message>,
    source: String,
    options: Options,
    settle: Persistent<Function<'static>>,
    fire: Persistent<Function<'static>>,
    explain: Persistent<Function<'static>>,
}

type Body = Persistent<Promise<'static>>;

impl<'a> RunningScript<'a> {
    /// Runs the prelude in the engine.
    pub(crate) fn begin(
        (runtime, context): (&'a Runtime, &'a Context),
        work: Work,
        outside: Rc<dyn Outside>,
        meter: Rc<Meter>,
    ) -> rquickjs::Result<Self> {
        let (source, options) = (work.source, work.options);
        let desk = Rc::new(HostBridge {
            outside,
            meter,
            under_way: RefCell::new(BTreeSet::new()),
            timers: RefCell::new(Timers::default()),
            notices: RefCell::new(0),
        });
        let [settle, fire, explain] = context.with(|ctx| surround(&ctx, &desk, &options))?;
        Ok(Self { runtime, context, desk, inbox: work.inbox, source, options, settle, fire, explain })
    }

    /// Runs the script, and then whatever becomes ready, until the cell ends.
    pub(crate) fn live(&self, rejections: &Rejections) -> CellEnd {
        match self.run_to_the_end(rejections) {
            Ok(verdict) | Err(verdict) => verdict,
        }
    }

    /// The same; `Err` is an end that came from within a step.
    fn run_to_the_end(&self, rejections: &Rejections) -> Result<CellEnd, CellEnd> {
        let body = self.start()?;
        loop {
            self.run_what_is_ready()?;
            if let Some(verdict) = self.verdict(&body, rejections) {
                return Ok(verdict);
            }
            if let Some(Message::Answered(number, answer)) = self.wait() {
                self.answer(number, answer)?;
            }
            self.fire_what_is_due()?;
        }
    }

    fn start(&self) -> Result<Body, CellEnd> {
        self.enter(|ctx| {
            let body = Module::evaluate(ctx.clone(), fault::SCRIPT, self.source.as_str())?;
            Ok(Persistent::save(ctx, body))
        })
    }

    /// Runs the jobs of promises that are ready. Promises catch what is thrown there, except an error in a microtask,
    /// and errors for which there was no memory to catch them.
    fn run_what_is_ready(&self) -> Result<(), CellEnd> {
        while self.desk.meter.verdict().is_none() {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break,
                Err(job) => return Err(job.0.with(|ctx| self.explained(&ctx, ctx.catch()))),
            }
        }
        Ok(())
    }

    /// The end of the cell, if it is over.
    fn verdict(&self, body: &Body, rejections: &Rejections) -> Option<CellEnd> {
        if self.desk.meter.verdict().is_some() {
            // `unless_stopped` replaces the reason once the engine is gone.
            return Some(CellEnd::completed());
        }
        let is_idle = self.desk.under_way.borrow().is_empty() && self.desk.timers.borrow().next().is_none();
        let verdict = self.enter(|ctx| {
            let body = body.clone().restore(ctx)?;
            Ok(match body.state() {
                PromiseState::Rejected => Some(self.rejected(ctx, &body)),
                PromiseState::Resolved if is_idle => Some(self.at_the_end(ctx, rejections)),
                PromiseState::Pending if is_idle => Some(self.stuck()),
                PromiseState::Resolved | PromiseState::Pending => None,
            })
        });
        verdict.unwrap_or_else(Some)
    }

    /// Waits for an answer, a timer or a request. Waiting for timers alone counts as the script's own time.
    fn wait(&self) -> Option<Message> {
        let due = self.desk.timers.borrow().next();
        let Some(due) = due else { return self.inbox.recv().ok() };
        let began = Instant::now();
        let own_time = self.desk.under_way.borrow().is_empty();
        let left = if own_time { self.desk.meter.left() } else { Duration::MAX };
        // timer: the script's own, set by `setTimeout`, or the end of its time.
        let message = self.inbox.recv_timeout(due.saturating_duration_since(began).min(left)).ok();
        if own_time {
            self.desk.meter.charge(began.elapsed());
        }
        message
    }

    /// Passes a tool's answer to the script.
    fn answer(&self, number: CallNumber, answer: Result<serde_json::Value, String>) -> Result<(), CellEnd> {
        self.desk.under_way.borrow_mut().remove(&number);
        self.desk.outside.finish_call(number.0);
        let (succeeded, payload) = match answer {
            Ok(value) => (true, value.to_string()),
            Err(message) => (false, message),
        };
        self.enter(|ctx| {
            let settle = self.settle.clone().restore(ctx)?;
            if settle.call::<_, ()>((number.0, succeeded, payload)).is_ok() {
                return Ok(());
            }
            // The answer does not fit into memory. The promise is still pending, so it is rejected with that reason.
            drop(ctx.catch());
            settle.call((number.0, false, TOO_LARGE))
        })
    }

    fn fire_what_is_due(&self) -> Result<(), CellEnd> {
        let now = Instant::now();
        let due = || self.desk.timers.borrow_mut().take_due(now);
        while let Some(TimerNumber(number)) = due() {
            self.enter(|ctx| self.fire.clone().restore(ctx)?.call::<_, ()>((number,)))?;
            self.run_what_is_ready()?;
        }
        Ok(())
    }

    /// Does a step in the engine; an exception that it throws ends the cell.
    fn enter<T>(&self, step: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<T>) -> Result<T, CellEnd> {
        self.context.with(|ctx| step(&ctx).map_err(|fault| self.failed(&ctx, &fault)))
    }

    /// The end of a script that nothing can wake any more. The engine also leaves a script in this state if it had no
    /// memory to create a rejection.
    fn stuck(&self) -> CellEnd {
        let bytes = self.options.memory_limit;
        let never = "the script awaits something that can never happen: no call and no timer is under way";
        CellEnd::failed(format!("{never} (or it once needed more than its {bytes} bytes of memory)"))
    }

    /// The end of a script that ran to its end; an unhandled rejection of a promise makes it a failure.
    fn at_the_end(&self, ctx: &Ctx<'_>, rejections: &Rejections) -> CellEnd {
        match rejections.first(ctx) {
            None => CellEnd::completed(),
            Some(reason) => self.explained(ctx, reason),
        }
    }

    fn rejected<'js>(&self, ctx: &Ctx<'js>, body: &Promise<'js>) -> CellEnd {
        match body.result::<Value<'js>>() {
            Some(Err(fault)) => self.failed(ctx, &fault),
            _ => CellEnd::completed(),
        }
    }

    fn failed(&self, ctx: &Ctx<'_>, fault: &rquickjs::Error) -> CellEnd {
        if fault.is_exception() {
            self.explained(ctx, ctx.catch())
        } else {
            CellEnd::failed(fault.to_string())
        }
    }

    /// Describes an exception. The script can influence the text, because the getters of an error run.
    fn explained<'js>(&self, ctx: &Ctx<'js>, thrown: Value<'js>) -> CellEnd {
        if thrown.type_of() == Type::Uninitialized {
            // There was not even memory to throw null.
            return CellEnd::out_of_memory(&self.options);
        }
        if thrown.is_null() {
            // The engine throws null if it has no memory left for an error.
            let bytes = self.options.memory_limit;
            return CellEnd::failed(format!(
                "the script threw null, or needs more than its {bytes} bytes of memory"
            ));
        }
        let explain = self.explain.clone().restore(ctx);
        match explain.and_then(|explain| explain.call::<_, String>((thrown,))) {
            Ok(words) if words.starts_with(OUT_OF_MEMORY) => CellEnd::out_of_memory(&self.options),
            Ok(words) => CellEnd::failed(fault::tell(&words, &self.source)),
            Err(_) => {
                drop(ctx.catch());
                CellEnd::failed("the script threw something that cannot be shown")
            }
        }
    }
}

/// Runs the guards and the prelude, and returns the prelude's functions that the host calls.
fn surround(
    ctx: &Ctx<'_>,
    desk: &Rc<HostBridge>,
    options: &Options,
) -> rquickjs::Result<[Persistent<Function<'static>>; 3]> {
    let longest_array = options.memory_limit.max(LEAST_MEMORY) / BYTES_IN_ELEMENT;
    function(ctx, "guards.js", GUARDS)?.call::<_, ()>((desk.is_over(ctx)?, longest_array))?;
    let tools = describe(&desk.outside.tools());
    let made: Object<'_> = function(ctx, "prelude.js", PRELUDE)?.call((desk.natives(ctx)?, tools))?;
    let kept = |name| made.get(name).map(|function: Function<'_>| Persistent::save(ctx, function));
    Ok([kept("settle")?, kept("fire")?, kept("explain")?])
}

/// Runs one of our own files, which contains one function.
fn function<'js>(ctx: &Ctx<'js>, name: &str, source: &str) -> rquickjs::Result<Function<'js>> {
    let mut how = EvalOptions::default();
    how.filename = Some(name.to_string());
    ctx.eval_with_options(source, how)
}

/// The tools for the prelude, as JSON: parameters are null for a tool that takes free text.
fn describe(tools: &[ToolInfo]) -> String {
    let tools = tools.iter().map(
        |tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}),
    );
    serde_json::Value::Array(tools.collect()).to_string()
}
