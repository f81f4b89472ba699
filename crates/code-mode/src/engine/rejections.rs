//! Promises that were rejected and that nobody has looked at: a script's `main()` without `await` must not fail in silence.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Value};

/// The first few rejected promises without a handler, with their reasons. Must be emptied before the engine goes.
#[derive(Clone, Default)]
pub(crate) struct Rejections(Rc<RefCell<Vec<Rejection>>>);

struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl Rejections {
    /// One is told anyway; a flood of them needs no memory.
    const MOST: usize = 64;

    /// A promise was rejected, and nobody looks at it yet.
    pub(crate) fn add<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>) {
        let mut rejections = self.0.borrow_mut();
        if rejections.len() < Self::MOST {
            let (promise, reason) = (Persistent::save(ctx, promise), Persistent::save(ctx, reason));
            rejections.push(Rejection { promise, reason });
        }
    }

    /// Somebody looks at a rejected promise after all.
    pub(crate) fn remove<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>) {
        let promise = Persistent::save(ctx, promise);
        self.0.borrow_mut().retain(|rejection| rejection.promise != promise);
    }

    /// Why the first one was rejected.
    pub(crate) fn first<'js>(&self, ctx: &Ctx<'js>) -> Option<Value<'js>> {
        self.0.borrow().first().and_then(|rejection| rejection.reason.clone().restore(ctx).ok())
    }

    /// Lets go of them all.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
