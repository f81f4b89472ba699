//! Scene 5: a long log. An excerpt shows both ends within a budget, its marker names the rest, and the rest can be
//! read.

use anyhow::{Context, Result, ensure};
use windlass_output::{Offset, Span, Tokenizer, Tokens};

use super::stage::{DemoOutput, Scene};
use super::{DemoEngine, Saving, bytes, exited, raw_text};
use crate::report;
use windlass_engine::{Fitting, Form};

/// Four thousand lines, one of which matters.
const TESTS: &str = r#"
n=0
while [ $n -lt 4000 ]; do
    n=$((n + 1)); verdict=ok
    [ $n -eq 2718 ] && verdict='FAILED (left: 3, right: 4)'
    echo "test case_$n ... $verdict"
done
echo "3999 passed; 1 failed"; exit 1
"#;
const BUDGET: Tokens = Tokens::new(90);

pub(crate) async fn play(theatre: &DemoEngine, stage: &DemoOutput) -> Result<Saving> {
    let session = theatre.start(&["sh", "-c", TESTS])?;
    exited(&session).await?;
    let (id, journal) = (session.id(), session.journal());
    let raw = raw_text(journal, Offset::ZERO);
    let (form, tokenizer) = (Form::Settled, Tokenizer::O200k);
    let fitting = Fitting { form, budget: BUDGET, tokenizer, marker: report::marker(tokenizer, &id) };
    let fitted = fitting.fit(journal, Span::new(Offset::ZERO, journal.end()));
    let (omitted, tokens) = fitted.omitted.context("nothing was left out")?;
    let rest = String::from_utf8(bytes(journal, omitted))?;
    ensure!(is_whole(&raw, &fitted.text, &rest), "the parts do not make the whole");
    let failure =
        rest.lines().find(|line| line.contains("FAILED")).context("the failure is not in the rest")?;
    let facts = [
        format!("within {BUDGET} tokens, of {} printed", report::count(fitted.original.get())),
        format!("the marker's span reads back the other {}, byte for byte", report::count(tokens.get())),
        format!("windlass log {id} --grep FAILED  →  {failure}"),
    ];
    let title = "a long log fits a budget";
    stage.show(&Scene { number: 5, title, actor: "4,001 lines", seen: &fitted.text, facts: &facts })?;
    Ok(Saving::between(&raw, &fitted.text))
}

/// Whether the excerpt, with the rest in place of the marker's line, equals the output.
fn is_whole(raw: &str, shown: &str, rest: &str) -> bool {
    let Some((head, behind)) = shown.split_once('…') else { return false };
    let Some((_, tail)) = behind.split_once("…\n") else { return false };
    raw == [head, rest, tail].concat()
}
