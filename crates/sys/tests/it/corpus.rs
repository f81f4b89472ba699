//! The corpus: real programs on a terminal, each with the verdict that kernel evidence must reach. The verdicts are
//! printed as a table with their figures; one wrong "waiting" fails, and so do more than two wrong "probably" and too
//! low a recall.

mod negative;
mod positive;

use crate::stage::{Play, Stage};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use windlass_sys::evidence::{Doubt, InputKind, InputState, input_kind};
use windlass_testkit::{Scratch, hang_deadline};

/// A program and the point to which the test brings it.
struct Case {
    /// The program, and what it is doing if one has more than one row.
    name: &'static str,
    /// The commands it needs that a minimal machine may not have.
    needs: &'static [&'static str],
    /// How a shell starts it, in a directory of its own that is also its home.
    script: &'static str,
    /// The text that the program prints when it has reached that point.
    marker: &'static str,
    /// The right evidence.
    expected: Expected,
}

/// The evidence that is right at that point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Waits for a line.
    Line,
    /// Waits for a line that is not shown.
    Hidden,
    /// The same, in a setuid program: unknown to every user but root.
    Guarded,
    /// Waits for keys and edits the line itself.
    Keys,
    /// Waits for keys, on the alternate screen.
    Screen,
    /// Does not wait.
    Busy,
}

/// The outcome of a case.
enum Verdict {
    Right(String),
    /// Waiting, with a doubt that it names.
    Probably(Doubt),
    Missed(String),
    Wrong(String),
}

/// Programs that every case finds in its directory: the servers of some clients.
const PROGRAMS: [(&str, &str); 5] = [
    ("beside.py", include_str!("corpus/beside.py")),
    ("clock.py", include_str!("corpus/clock.py")),
    ("fake_postgres.py", include_str!("corpus/fake_postgres.py")),
    ("silent.py", include_str!("corpus/silent.py")),
    ("ssh_server.py", include_str!("corpus/ssh_server.py")),
];

/// The number of looks in a row before a program counts as settled.
const LOOKS_WHEN_WAITING: u32 = 50;
const LOOKS_WHEN_BUSY: u32 = 400;
/// The least recall, in percent.
const LEAST_RECALL: usize = 97;
/// The most programs that do not wait and for which the evidence says "probably".
const MOST_WRONGLY_PROBABLE: usize = 2;
/// The least number of programs.
const LEAST_PROGRAMS: usize = 100;

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
    assert!(cases.len() >= LEAST_PROGRAMS && negative::CASES.len() * 2 >= cases.len(), "{table}");
    assert_eq!(table.wrong, 0, "evidence said what is not so\n{table}");
    assert!(table.wrongly_probable <= MOST_WRONGLY_PROBABLE, "too many are in doubt\n{table}");
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
    let play = play.with(&format!("PEERS={}", peers().display()));
    let mut stage = Stage::on_terminal(&play);
    match case.expected {
        Expected::Busy => run_busy(case, &mut stage),
        Expected::Guarded if !is_root() => run_guarded(case, &mut stage),
        Expected::Line | Expected::Hidden | Expected::Guarded => run_prompting(case, &mut stage),
        Expected::Keys | Expected::Screen => run_drawing(case, &mut stage),
    }
}

/// How a script becomes another user, whom such programs ask for a password.
fn as_nobody() -> &'static str {
    if is_root() { "AS_NOBODY=setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "AS_NOBODY=" }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The programs that `cargo xtask peers` brings from PyPI.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/corpus/bin")
}

/// A program that asks a plain question reads nothing before it has asked: the very first "waiting" must find the
/// marker among what was printed.
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

/// A program that draws may send queries to its terminal first.
fn run_drawing(case: &Case, stage: &mut Stage) -> Verdict {
    if stage.try_wait_for(case.marker) { settle(case, stage) } else { never_came(case, stage) }
}

/// Waits until the program was seen waiting many times in a row, then compares the kind.
fn settle(case: &Case, stage: &mut Stage) -> Verdict {
    let deadline = hang_deadline();
    let (mut row, mut doubts) = (0, None);
    while row < LOOKS_WHEN_WAITING {
        match stage.reading() {
            InputState::Waiting { .. } => row += 1,
            InputState::Probably { doubt, .. } => {
                row += 1;
                doubts = Some(doubt);
            }
            last if Instant::now() > deadline => return missed(case, stage, last),
            // Programs that redraw by the clock work now and then.
            _ => (row, doubts) = (0, None),
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
    match (is_right, doubts) {
        (true, None) => Verdict::Right(text),
        (true, Some(doubt)) => Verdict::Probably(doubt),
        (false, _) => Verdict::Wrong(text),
    }
}

fn run_busy(case: &Case, stage: &mut Stage) -> Verdict {
    if !stage.try_wait_for(case.marker) {
        return never_came(case, stage);
    }
    let mut doubts = None;
    for look in 0..LOOKS_WHEN_BUSY {
        match stage.reading() {
            reading @ InputState::Waiting { .. } => {
                return Verdict::Wrong(format!("{reading:?} at look {look}"));
            }
            InputState::Probably { doubt, .. } => doubts = Some(doubt),
            InputState::Busy | InputState::Undecided { .. } | InputState::Unknown { .. } => {}
        }
        stage.pause();
    }
    assert!(stage.process().is_alive(), "{} has ended before it was looked at:\n{}", case.name, stage.text());
    doubts.map_or(Verdict::Right("busy".to_owned()), Verdict::Probably)
}

fn run_guarded(case: &Case, stage: &mut Stage) -> Verdict {
    if !stage.try_wait_for(case.marker) {
        return never_came(case, stage);
    }
    match stage.reading() {
        InputState::Unknown { .. } => Verdict::Right("unknown".to_owned()),
        other => Verdict::Wrong(format!("{other:?}")),
    }
}

fn missed(case: &Case, stage: &Stage, last: InputState) -> Verdict {
    let there = if stage.text().contains(case.marker) { "after" } else { "without" };
    Verdict::Missed(format!("{last:?} {there} {:?}, at {}", case.marker, end_of(stage)))
}

/// The verdict where the case itself is at fault, or the machine.
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
    // These come from PyPI, both in one folder.
    if ["ipython", "ssh_server"].contains(&command) {
        assert!(peers().join("ipython").exists(), "{command} is missing: `cargo xtask peers` brings it");
        return;
    }
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

/// The verdicts, for readers of the test's output.
#[derive(Default)]
struct Table {
    rows: Vec<String>,
    found: usize,
    missed: usize,
    wrong: usize,
    /// Programs that do not wait and for which the evidence said "probably".
    wrongly_probable: usize,
}

impl Table {
    fn add(&mut self, case: &Case, verdict: &Verdict) {
        let (word, said) = match verdict {
            Verdict::Right(said) => ("right", said.clone()),
            Verdict::Probably(doubt) => ("right?", format!("probably waiting ({doubt})")),
            Verdict::Missed(said) => ("MISSED", said.clone()),
            Verdict::Wrong(said) => ("WRONG", said.clone()),
        };
        self.rows.push(format!("{:<38} {:<9} {word:<6} {said}", case.name, format!("{:?}", case.expected)));
        match verdict {
            Verdict::Probably(_) if case.expected == Expected::Busy => self.wrongly_probable += 1,
            Verdict::Right(_) | Verdict::Probably(_) => {
                self.found += usize::from(case.expected != Expected::Busy);
            }
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
        write!(f, "{} programs: precision {precision} %, recall {recall} %", self.rows.len())?;
        write!(f, ", wrongly waiting {}, wrongly probable {}", self.wrong, self.wrongly_probable)
    }
}
