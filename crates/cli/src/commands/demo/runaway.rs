//! Scene 4: a tree that resists its end. Its processes try every way to escape, and none succeeds.

use std::time::Instant;

use anyhow::{Result, ensure};
use windlass_engine::{ProcessLine, Receipt};
use windlass_output::Offset;

use super::stage::{DemoOutput, Scene, milliseconds};
use super::{DemoEngine, Saving, printed};
use crate::failure::Exit;
use crate::printing::print;
use crate::report;

/// A session of its own, a second fork, and an empty environment; all of the processes ignore TERM.
const ESCAPE: &str = r#"
trap '' TERM HUP
setsid "$WINDLASS_DEMO_PROGRAM" demo-stray own-session &
(setsid "$WINDLASS_DEMO_PROGRAM" demo-stray second-fork &)
env -i setsid "$WINDLASS_DEMO_PROGRAM" demo-stray empty-environment &
wait
"#;
const STRAYS: [&str; 3] = ["own-session", "second-fork", "empty-environment"];

/// `windlass demo-stray`, never typed by people: prints a line and stays alive.
pub(crate) fn stray(name: &str) -> Result<Exit> {
    print(format!("{name} is up\n"))?;
    loop {
        std::thread::park();
    }
}

pub(crate) async fn play(theatre: &DemoEngine, stage: &DemoOutput) -> Result<Saving> {
    let session = theatre.start(&["sh", "-c", ESCAPE])?;
    for name in STRAYS {
        printed(&session, &format!("{name} is up"), Offset::ZERO).await?;
    }
    let begun = Instant::now();
    let end = session.stop().await;
    let took = begun.elapsed();
    let receipt = session.exited().await?;
    ensure!(session.processes().is_empty() && end.remaining.is_empty(), "something got away");
    let seen = told(theatre, &receipt, &end.ended);
    let facts = [
        "its own session, a second fork, an empty environment, deaf to TERM: no way out".to_owned(),
        format!("TERM, 300 ms of grace, KILL: all gone after {}, each one named", milliseconds(took)),
    ];
    stage.show(&Scene {
        number: 4,
        title: "a runaway tree is ended",
        actor: "sh",
        seen: &seen,
        facts: &facts,
    })?;
    Ok(Saving::between(&seen, &seen))
}

/// The receipt as a model gets it, without the path of this program.
fn told(theatre: &DemoEngine, receipt: &Receipt, ended: &[ProcessLine]) -> String {
    let own = theatre.own_program.display().to_string();
    let mut lines = vec![format!("the shell {}", report::ending(receipt))];
    lines.extend(ended.iter().map(|process| format!("ended {process}").replace(&own, "windlass")));
    lines.join("\n")
}
