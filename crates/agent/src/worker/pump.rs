//! Passes a model's response to its agent, and computes the pause after a failed attempt.

use std::sync::Arc;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use tokio::sync::mpsc;
use windlass_llm::{Failure, Remedy, Request, ResponseEvent};

use crate::model_client::ModelClient;

/// How many events of a response may wait for the agent.
pub(super) const QUEUE: usize = 256;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause that we choose ourselves.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause that a provider can ask for.
const LONGEST_WISH: Duration = Duration::from_secs(600);

/// Sends the request, and passes every event on until the response is complete or broken.
pub(super) async fn pump(
    model_client: Arc<dyn ModelClient>,
    request: Request,
    pieces: mpsc::Sender<Result<ResponseEvent, Failure>>,
) {
    let mut speech = match model_client.ask(request).await {
        Ok(speech) => speech,
        Err(failure) => {
            let _ = pieces.send(Err(failure)).await;
            return;
        }
    };
    loop {
        let piece = match speech.next().await {
            Ok(None) => return,
            Ok(Some(event)) => Ok(event),
            Err(failure) => Err(failure),
        };
        let last = matches!(piece, Err(_) | Ok(ResponseEvent::Completed(_)));
        // A closed channel means that the agent dropped this response.
        if pieces.send(piece).await.is_err() || last {
            return;
        }
    }
}

/// The pause before the next attempt: at least what the provider asks for, and a little more.
pub(super) fn delay(attempt: u32, failure: &Failure) -> Duration {
    match failure.remedy {
        Remedy::Retry { after: Some(after) } => after.min(LONGEST_WISH).mul_f64(1.0 + jitter() / 20.0),
        _ => {
            let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
            doubled.min(LONGEST_PAUSE).mul_f64(0.9 + jitter() / 5.0)
        }
    }
}

/// From 0 to 1, so that many agents that failed together do not retry together.
fn jitter() -> f64 {
    let mut byte = [0_u8];
    let _ = getrandom(&mut byte, GetRandomFlags::empty());
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_wishes_are_kept() {
        let passing = Failure::passing("x");
        for (attempt, least, most) in [(1, 180, 220), (2, 360, 440), (5, 2880, 3520), (40, 27_000, 33_000)] {
            let pause = delay(attempt, &passing).as_millis();
            assert!((least..=most).contains(&pause), "{attempt}: {pause}");
        }
        let remedy = Remedy::Retry { after: Some(Duration::from_secs(3)) };
        let pause = delay(1, &Failure { remedy, message: String::new() });
        assert!((3000..=3150).contains(&pause.as_millis()), "{pause:?}");
    }
}
