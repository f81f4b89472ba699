//! Scene 3: a progress bar. A terminal shows one line, and so does the settled text, however many redraws it took.

use anyhow::Result;
use windlass_output::Offset;

use super::stage::{DemoOutput, Scene};
use super::{DemoEngine, Saving, exited, raw_text, settled_text};
use crate::report;

/// Two hundred redraws of one line.
const DOWNLOAD: &str = r#"
bar=; n=0
while [ $n -lt 200 ]; do
    n=$((n + 1)); [ $((n % 10)) -eq 0 ] && bar="$bar#"
    printf '\r\033[K\033[32mdownloading\033[0m [%-20s] %3d%%' "$bar" $((n / 2))
done
printf '\nunpacked 3 packages\n'
"#;

pub(crate) async fn play(theatre: &DemoEngine, stage: &DemoOutput) -> Result<Saving> {
    let session = theatre.start_on_terminal(&["sh", "-c", DOWNLOAD])?;
    exited(&session).await?;
    let raw = raw_text(session.journal(), Offset::ZERO);
    let seen = settled_text(session.journal(), Offset::ZERO);
    let saving = Saving::between(&raw, &seen);
    let (printed, shown) = (report::count(saving.printed.get()), report::count(saving.shown.get()));
    let facts = [format!("drawn 200 times: {printed} tokens as printed, {shown} as settled text")];
    stage.show(&Scene {
        number: 3,
        title: "a progress bar settles",
        actor: "sh",
        seen: &seen,
        facts: &facts,
    })?;
    Ok(saving)
}
