//! The functions through which a script reaches the host. Only texts and numbers cross, never an object of the script,
//! so whatever a script does to its objects affects only the script itself.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rquickjs::{Ctx, Exception, Function, Object, Result};

use crate::engine::calls::CallNumber;
use crate::engine::meter::{Meter, Stop};
use crate::engine::picture;
use crate::engine::timers::{TimerNumber, Timers};
use crate::outcome::OutputItem;
use crate::outside::Outside;

/// The most notices of one cell.
pub(crate) const MOST_NOTICES: u32 = 100;
/// The longest notice, in bytes.
pub(crate) const LONGEST_NOTICE: usize = 64 << 10;

/// The state behind those functions. Belongs to the cell's thread.
pub(crate) struct HostBridge {
    pub(crate) outside: Rc<dyn Outside>,
    pub(crate) meter: Rc<Meter>,
    /// Calls that have not been answered.
    pub(crate) under_way: RefCell<BTreeSet<CallNumber>>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) notices: RefCell<u32>,
}

impl HostBridge {
    /// The functions for the prelude.
    pub(crate) fn natives<'js>(self: &Rc<Self>, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let natives = Object::new(ctx.clone())?;
        self.offer_saying(ctx, &natives)?;
        self.offer_calling(ctx, &natives)?;
        self.offer_keeping(ctx, &natives)?;
        self.offer_ending(ctx, &natives)?;
        Ok(natives)
    }

    /// A function that says whether the cell must stop.
    pub(crate) fn is_over<'js>(&self, ctx: &Ctx<'js>) -> Result<Function<'js>> {
        let meter = Rc::clone(&self.meter);
        Function::new(ctx.clone(), move || meter.verdict().is_some())
    }

    fn offer_saying<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
        let desk = Rc::clone(self);
        let text = move |text: String| desk.say(OutputItem::Text(text));
        natives.set("text", Function::new(ctx.clone(), text)?)?;
        let desk = Rc::clone(self);
        let image = move |ctx: Ctx<'js>, url: String| desk.show(&ctx, url);
        natives.set("image", Function::new(ctx.clone(), image)?)?;
        let desk = Rc::clone(self);
        let notify = move |ctx: Ctx<'js>, text: String| desk.notify(&ctx, &text);
        natives.set("notify", Function::new(ctx.clone(), notify)?)
    }

    fn offer_calling<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
        let desk = Rc::clone(self);
        let call = move |ctx: Ctx<'js>, tool: usize, payload: String| desk.call(&ctx, tool, payload);
        natives.set("call", Function::new(ctx.clone(), call)?)?;
        let desk = Rc::clone(self);
        let start = move |ctx: Ctx<'js>, milliseconds: f64| desk.start_timer(&ctx, milliseconds);
        natives.set("startTimer", Function::new(ctx.clone(), start)?)?;
        let desk = Rc::clone(self);
        let stop = move |number: u32| desk.timers.borrow_mut().stop(TimerNumber(number));
        natives.set("stopTimer", Function::new(ctx.clone(), stop)?)
    }

    fn offer_keeping<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
        let desk = Rc::clone(self);
        let store = move |ctx: Ctx<'js>, key: String, json: String| desk.store(&ctx, key, json);
        natives.set("store", Function::new(ctx.clone(), store)?)?;
        let outside = Rc::clone(&self.outside);
        natives.set("forget", Function::new(ctx.clone(), move |key: String| outside.forget(&key))?)?;
        let outside = Rc::clone(&self.outside);
        natives.set("load", Function::new(ctx.clone(), move |key: String| outside.load(&key))?)
    }

    fn offer_ending<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
        let desk = Rc::clone(self);
        let exit = move || desk.meter.stop(Stop::Exit);
        natives.set("exit", Function::new(ctx.clone(), exit)?)?;
        natives.set("isOver", self.is_over(ctx)?)?;
        let outside = Rc::clone(&self.outside);
        natives.set("yieldControl", Function::new(ctx.clone(), move || outside.yield_control())?)
    }

    /// Adds output, and makes the cell stop if it is too much.
    fn say(&self, item: OutputItem) {
        if self.meter.stopped().is_none() && self.outside.say(item).is_err() {
            self.meter.stop(Stop::TooMuchOutput);
        }
    }

    fn show(&self, ctx: &Ctx<'_>, url: String) -> Result<()> {
        picture::check(&url).map_err(|fault| Exception::throw_type(ctx, &fault.to_string()))?;
        self.say(OutputItem::Image(url));
        Ok(())
    }

    fn notify(&self, ctx: &Ctx<'_>, text: &str) -> Result<()> {
        self.refuse_if_over(ctx)?;
        if self.notices.replace_with(|count| *count + 1) >= MOST_NOTICES || text.len() > LONGEST_NOTICE {
            let limits =
                format!("a script may notify {MOST_NOTICES} times, with {LONGEST_NOTICE} bytes each");
            return Err(Exception::throw_range(ctx, &limits));
        }
        self.outside.notify(text);
        Ok(())
    }

    fn call(&self, ctx: &Ctx<'_>, tool: usize, payload: String) -> Result<u32> {
        self.refuse_if_over(ctx)?;
        let begun = self.outside.begin_call(tool, payload);
        let number = begun.map_err(|fault| Exception::throw_range(ctx, &fault))?;
        self.under_way.borrow_mut().insert(CallNumber(number));
        Ok(number)
    }

    fn start_timer(&self, ctx: &Ctx<'_>, milliseconds: f64) -> Result<u32> {
        let started = self.timers.borrow_mut().start(milliseconds);
        started
            .map(|TimerNumber(number)| number)
            .map_err(|fault| Exception::throw_range(ctx, &fault.to_string()))
    }

    fn store(&self, ctx: &Ctx<'_>, key: String, json: String) -> Result<()> {
        self.refuse_if_over(ctx)?;
        self.outside.store(key, json).map_err(|fault| Exception::throw_range(ctx, &fault))
    }

    /// Throws once the cell must stop: until the engine notices that, the script must not reach the host any more.
    fn refuse_if_over(&self, ctx: &Ctx<'_>) -> Result<()> {
        match self.meter.stopped() {
            None => Ok(()),
            Some(_) => Err(Exception::throw_message(ctx, "the script is over")),
        }
    }
}
