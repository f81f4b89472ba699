//! Scene 1: an interactive program. The demo writes a line, and waits for a pattern in the answer.

use std::time::Instant;

use anyhow::{Context, Result};
use windlass_output::Offset;

use super::stage::{DemoOutput, Scene, milliseconds};
use super::{DemoEngine, Saving, exited, printed, raw_text, settled_text};

/// An interactive interpreter.
struct Partner {
    argv: &'static [&'static str],
    prompt: Option<&'static str>,
    question: &'static str,
    farewell: &'static str,
}

/// The first of these that this machine has computes the sum of the numbers from 1 to 100.
const PARTNERS: [Partner; 3] = [
    Partner {
        argv: &["python3", "-q"],
        prompt: Some(">>> $"),
        question: "sum(range(1, 101))",
        farewell: "exit()",
    },
    Partner { argv: &["bc", "-q"], prompt: None, question: "100 * 101 / 2", farewell: "quit" },
    Partner {
        argv: &["sh", "-i"],
        prompt: Some("[$#] $"),
        question: "echo $((100 * 101 / 2))",
        farewell: "exit",
    },
];
const ANSWER: &str = "^5050$";

pub(crate) async fn play(theatre: &DemoEngine, stage: &DemoOutput) -> Result<Saving> {
    let mut failure = None;
    for partner in &PARTNERS {
        match talk(theatre, partner).await {
            Ok(talk) => return show(stage, partner, &talk),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.context("nobody to talk to")?)
}

struct ReplExchange {
    raw: String,
    seen: String,
    answered: std::time::Duration,
}

async fn talk(theatre: &DemoEngine, partner: &Partner) -> Result<ReplExchange> {
    let session = theatre.start_on_terminal(partner.argv)?;
    if let Some(prompt) = partner.prompt {
        printed(&session, prompt, Offset::ZERO).await?;
    }
    let from = session.journal().end();
    let asked = Instant::now();
    session.write(format!("{}\n", partner.question)).await?;
    printed(&session, ANSWER, from).await?;
    let answered = asked.elapsed();
    session.write(format!("{}\n", partner.farewell)).await?;
    exited(&session).await?;
    let journal = session.journal();
    Ok(ReplExchange {
        raw: raw_text(journal, Offset::ZERO),
        seen: settled_text(journal, Offset::ZERO),
        answered,
    })
}

fn show(stage: &DemoOutput, partner: &Partner, talk: &ReplExchange) -> Result<Saving> {
    let facts = [format!(
        "a real terminal; the answer was waited for as /{ANSWER}/: {}",
        milliseconds(talk.answered)
    )];
    stage.show(&Scene {
        number: 1,
        title: "a REPL answers",
        actor: partner.argv[0],
        seen: &talk.seen,
        facts: &facts,
    })?;
    Ok(Saving::between(&talk.raw, &talk.seen))
}
