//! Tracks unhandled rejections of promises: a script that calls its `main()` without `await` must not fail silently.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Value};

/// The first few rejected promises without a handler, with their reasons. Must be emptied before the engine is freed.
#[derive(Clone, Default)]
pub(crate) struct Rejections(Rc<RefCell<Vec<Rejection>>>);

struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl Rejections {
    /// Only one is reported anyway, so a flood of rejections needs no memory.
    const MOST: usize = 64;

    /// Adds a promise that was rejected and has no handler yet.
    pub(crate) fn add<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>) {
        let mut rejections = self.0.borrow_mut();
        if rejections.len() < Self::MOST {
            let (promise, reason) = (Persistent::save(ctx, promise), Persistent::save(ctx, reason));
            rejections.push(Rejection { promise, reason });
        }
    }

    /// Removes a rejected promise that got a handler after all.
    pub(crate) fn remove<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>) {
        let promise = Persistent::save(ctx, promise);
        self.0.borrow_mut().retain(|rejection| rejection.promise != promise);
    }

    /// The reason of the first rejection.
    pub(crate) fn first<'js>(&self, ctx: &Ctx<'js>) -> Option<Value<'js>> {
        self.0.borrow().first().and_then(|rejection| rejection.reason.clone().restore(ctx).ok())
    }

    /// Releases all promises.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
