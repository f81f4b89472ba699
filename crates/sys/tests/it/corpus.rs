//! The corpus: real programs on a terminal, each with what kernel evidence has to say about it. The verdicts are printed as
//! a table, with precision and recall; one wrong "waiting" fails, and so does too low a recall.

mod negative;
mod positive;

use crate::stage::{Play, Stage};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use windlass_sys::evidence::{InputKind, Reading, input_kind};
use windlass_testkit::{Scratch, hang_deadline};

/// A program and the point it is brought to.
struct Case {
    /// The program, and what it is doing if one has more than one row.
    name: &'static str,
    /// The commands it needs that a bare machine may not have.
    needs: &'static [&'static str],
    /// How a shell starts it, in a directory of its own that is also its home.
    script: &'static str,
    /// What it prints when it has got there.
    marker: &'static str,
    /// What is right.
    expected: Expected,
}

/// What evidence has to say at that point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Waits for a line.
    Line,
    /// Waits for a line that is not shown.
    Hidden,
    /// The same, in a setuid program: unknown to everybody but root.
    Guarded,
    /// Waits for keys and edits the line itself.
    Keys,
    /// Waits for keys, on the alternate screen.
    Screen,
    /// Waits, but the reader is a daemon that was handed the terminal: to be missed, never to be called something else.
    Elsewhere,
    /// Does not wait.
    Busy,
}

/// What evidence said.
enum Verdict {
    Right(String),
    Missed(String),
    Wrong(String),
}

/// What every case finds in its directory: the other side of some clients.
const PROGRAMS: [(&str, &str); 2] = [
    ("fake_postgres.py", include_str!("corpus/fake_postgres.py")),
    ("silent.py", include_str!("corpus/silent.py")),
];

/// In a row, before a program is said to have settled.
const LOOKS_WHEN_WAITING: u32 = 50;
const LOOKS_WHEN_BUSY: u32 = 200;
/// In percent.
const LEAST_RECALL: usize = 95;

#[test]
fn a_program_that_waits_for_input_is_told_from_one_that_does_not() {
    let cases: Vec<&Case> = positive::CASES.iter().chain(negative::CASES).collect();
    for case in &cases {
        case.needs.iter().for_each(|command| demand(command));
    }
    let results = run_all(&cases);
    let mut table = Table::default();
    for (case, verdict) in cases.iter().zip(&results) {
        table.add(case, verdict);
    }
    println!("{table}");
    assert_eq!(table.wrong, 0, "evidence said what is not so\n{table}");
    assert!(table.recall() >= LEAST_RECALL, "too many were missed\n{table}");
}

/// A few at a time: each spends its time waiting for its program.
fn run_all(cases: &[&Case]) -> Vec<Verdict> {
    const WORKERS: usize = 4;
    let results: Vec<Mutex<Option<Verdict>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < cases.len())
                {
                    *results[index].lock().unwrap() = Some(run(cases[index]));
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().unwrap().expect("every case ran")).collect()
}

fn run(case: &Case) -> Verdict {
    let scratch = Scratch::new("corpus");
    for (name, program) in PROGRAMS {
        std::fs::write(scratch.path().join(name), program).unwrap();
    }
    let play = Play::shell(case.script).within(scratch.path()).with(as_nobody());
    let mut stage = Stage::on_terminal(&play);
    match case.expected {
        Expected::Busy => run_busy(case, &mut stage),
        Expected::Elsewhere => run_elsewhere(case, &mut stage),
        Expected::Guarded if !is_root() => run_guarded(case, &mut stage),
        Expected::Line | Expected::Hidden | Expected::Guarded => run_prompting(case, &mut stage),
        Expected::Keys | Expected::Screen => run_drawing(case, &mut stage),
    }
}

/// How a script becomes somebody whom such programs ask for a password.
fn as_nobody() -> &'static str {
    if is_root() { "AS_NOBODY=setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "AS_NOBODY=" }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A program that asks a plain question reads nothing before it has asked: the very first "waiting" must find the marker
/// among what was printed.
fn run_prompting(case: &Case, stage: &mut Stage) -> Verdict {
    if let Err(last) = stage.try_until_waiting() {
        return missed(case, stage, last);
    }
    stage.drain();
    if !stage.text().contains(case.marker) {
        return Verdict::Wrong(format!("waiting before {:?}: {:?}", case.marker, stage.text()));
    }
    settle(case, stage)
}

/// A program that draws may ask its terminal this and that before.
fn run_drawing(case: &Case, stage: &mut Stage) -> Verdict {
    if stage.try_wait_for(case.marker) { settle(case, stage) } else { never_came(case, stage) }
}

/// Waits until it was seen waiting many times in a row, then compares the kind.
fn settle(case: &Case, stage: &mut Stage) -> Verdict {
    let deadline = hang_deadline();
    let mut row = 0;
    while row < LOOKS_WHEN_WAITING {
        match stage.reading() {
            Reading::Waiting { .. } => row += 1,
            last if Instant::now() > deadline => return missed(case, stage, last),
            // Programs that redraw by the clock work now and then.
            _ => row = 0,
        }
        stage.pause();
    }
    let kind = input_kind(stage.output()).expect("a terminal has a mode");
    let is_alternate = ["\x1b[?1049h", "\x1b[?47h"].iter().any(|start| stage.text().contains(start));
    let found = match (kind, is_alternate) {
        (InputKind::Line, _) => Expected::Line,
        (InputKind::Hidden, _) => Expected::Hidden,
        (InputKind::FullScreen, false) => Expected::Keys,
        (InputKind::FullScreen, true) => Expected::Screen,
    };
    let text = format!("waiting: {found:?}");
    let is_right = found == case.expected || (found, case.expected) == (Expected::Hidden, Expected::Guarded);
    if is_right { Verdict::Right(text) } else { Verdict::Wrong(text) }
}

fn run_busy(case: &Case, stage: &mut Stage) -> Verdict {
    if !stage.try_wait_for(case.marker) {
        return never_came(case, stage);
    }
    for look in 0..LOOKS_WHEN_BUSY {
        if let reading @ Reading::Waiting { .. } = stage.reading() {
            return Verdict::Wrong(format!("{reading:?} at look {look}"));
        }
        stage.pause();
    }
    assert!(stage.process().is_alive(), "{} has ended before it was looked at:\n{}", case.name, stage.text());
    Verdict::Right("busy".to_owned())
}

fn run_guarded(case: &Case, stage: &mut Stage) -> Verdict {
    if !stage.try_wait_for(case.marker) {
        return never_came(case, stage);
    }
    match stage.reading() {
        Reading::Unknown { .. } => Verdict::Right("unknown".to_owned()),
        other => Verdict::Wrong(format!("{other:?}")),
    }
}

fn run_elsewhere(case: &Case, stage: &mut Stage) -> Verdict {
    if !stage.try_wait_for(case.marker) {
        return never_came(case, stage);
    }
    let found = (0..LOOKS_WHEN_BUSY).find_map(|_| {
        stage.pause();
        stage.is_waiting().then(|| Verdict::Right("waiting".to_owned()))
    });
    found.unwrap_or_else(|| Verdict::Missed("busy, as known: its daemon reads".to_owned()))
}

fn missed(case: &Case, stage: &Stage, last: Reading) -> Verdict {
    let there = if stage.text().contains(case.marker) { "after" } else { "without" };
    Verdict::Missed(format!("{last:?} {there} {:?}, at {}", case.marker, end_of(stage)))
}

/// The case itself is at fault, or the machine.
fn never_came(case: &Case, stage: &Stage) -> Verdict {
    Verdict::Wrong(format!("{:?} was never printed, but {}", case.marker, end_of(stage)))
}

fn end_of(stage: &Stage) -> String {
    const ENOUGH: usize = 200;
    let text = stage.text();
    let start = text.char_indices().rev().nth(ENOUGH).map_or(0, |(start, _)| start);
    format!("{:?}", &text[start..])
}

/// No silent skips: a program that is missing is named, with its package.
fn demand(command: &str) {
    const LIST: &str = include_str!("../../../../peers/debian.txt");
    let there = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].iter();
    let there = there.map(|directory| Path::new(directory).join(command)).any(|path| path.exists());
    let mut lines = LIST.lines().filter_map(|line| line.split_once(' '));
    let package = lines.find(|(name, _)| *name == command).map(|(_, package)| package);
    let package = package.unwrap_or_else(|| panic!("{command} needs a line in peers/debian.txt"));
    assert!(
        there,
        "{command} is missing: install it with `apt-get install {package}` or `cargo xtask peers`"
    );
}

/// The verdicts, for people.
#[derive(Default)]
struct Table {
    rows: Vec<String>,
    found: usize,
    missed: usize,
    wrong: usize,
}

impl Table {
    fn add(&mut self, case: &Case, verdict: &Verdict) {
        let (word, said) = match verdict {
            Verdict::Right(said) => ("right", said),
            Verdict::Missed(said) => ("MISSED", said),
            Verdict::Wrong(said) => ("WRONG", said),
        };
        self.rows.push(format!("{:<28} {:<9} {word:<6} {said}", case.name, format!("{:?}", case.expected)));
        match verdict {
            Verdict::Right(_) => self.found += usize::from(case.expected != Expected::Busy),
            Verdict::Missed(_) => self.missed += 1,
            Verdict::Wrong(_) => self.wrong += 1,
        }
    }

    fn recall(&self) -> usize {
        100 * self.found / (self.found + self.missed).max(1)
    }

    fn precision(&self) -> usize {
        100 * self.found / (self.found + self.wrong).max(1)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        let (precision, recall) = (self.precision(), self.recall());
        write!(f, "{} programs: precision {precision} %, recall {recall} %", self.rows.len())
    }
}
