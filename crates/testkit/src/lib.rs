//! Helper programs and a hermetic environment for tests: scratch directories, known bytes, and a look at the process table
//! that shares no code with the product. Only ever a dev-dependency.
#![forbid(unsafe_code)]

pub mod bytes;
mod puppet;
mod scratch;
pub mod survivors;

pub use puppet::puppet;
pub use scratch::Scratch;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How long a test waits for something that must happen before it calls the product hung. Never a measure of speed.
pub const HANG: Duration = Duration::from_secs(60);

/// A deadline for waits that must end by an event.
pub fn hang_deadline() -> Instant {
    Instant::now() + HANG
}

/// Polls two futures and says which ended first: the first one is preferred.
pub async fn race<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> Result<A, B> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    std::future::poll_fn(|cx: &mut Context<'_>| poll_either(first.as_mut(), second.as_mut(), cx)).await
}

fn poll_either<A, B>(
    first: Pin<&mut impl Future<Output = A>>,
    second: Pin<&mut impl Future<Output = B>>,
    cx: &mut Context<'_>,
) -> Poll<Result<A, B>> {
    if let Poll::Ready(answer) = first.poll(cx) {
        return Poll::Ready(Ok(answer));
    }
    second.poll(cx).map(Err)
}
