//! Measures how fast a journal takes output, compared with a bare `write`, and how much memory an idle session costs.
//!
//! `cargo run --release -p windlass-engine --example journal_throughput`, in the directory whose disk is to be
//! measured.
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_engine::{
    Journal, Lifetime, ProcessKey, Retention, SessionId, StartRecord, Store, StoreLimits, Stream,
};
use windlass_output::{Offset, Span};

const TOTAL: u64 = 256 << 20;
const SMALL_APPENDS: u64 = 300_000;
const SESSIONS: usize = 1000;
const ROUNDS: usize = 9;
/// Little enough that three quarters of the output are dropped again.
const KEEP_LITTLE: Retention = Retention::new(64 << 20);
/// Enough for everything here: the cost of retention is measured separately.
const KEEP_ALL: Retention = Retention { limit: 1 << 40, head: 1 << 39 };

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(format!("target/journal-throughput-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    println!("in {}", dir.display());
    // First, while the heap holds no freed memory, so that every page it takes is counted.
    sessions(&dir)?;
    clear(&dir)?;
    large_appends(&dir)?;
    small_appends(&dir)?;
    reads(&dir)?;
    fs::remove_dir_all(&dir)
}

/// Rounds alternate, so that a disk or a neighbour that gets slower hits both alike; the best of each counts.
fn large_appends(dir: &Path) -> std::io::Result<()> {
    let chunk = vec![b'x'; 64 << 10];
    let (mut bare, mut journal, mut memory) = (0.0f64, 0.0f64, 0.0f64);
    let (mut bare_rolling, mut rolling) = (0.0f64, 0.0f64);
    for _ in 0..ROUNDS {
        bare = bare.max(rate(TOTAL, bare_writes(dir, &chunk, TOTAL)?));
        journal = journal.max(rate(TOTAL, appends(&on_disk(dir, KEEP_ALL), &chunk, TOTAL)));
        clear(dir)?;
        bare_rolling = bare_rolling.max(rate(TOTAL, bare_rolling_writes(dir, &chunk)?));
        clear(dir)?;
        rolling = rolling.max(rate(TOTAL, appends(&on_disk(dir, KEEP_LITTLE), &chunk, TOTAL)));
        clear(dir)?;
        memory = memory.max(rate(TOTAL, appends(&Journal::in_memory(KEEP_LITTLE), &chunk, TOTAL)));
    }
    println!("64 KiB chunks, {} MiB, best of {ROUNDS}:", TOTAL >> 20);
    println!("  bare write               {bare:8.0} MB/s");
    println!("  journal, keeping all     {journal:8.0} MB/s  {:.2} of bare", journal / bare);
    println!("  bare write, 64 MiB kept  {bare_rolling:8.0} MB/s");
    println!("  journal, 64 MiB kept     {rolling:8.0} MB/s  {:.2} of bare", rolling / bare_rolling);
    println!("  journal in memory, 64 MiB{memory:8.0} MB/s  {:.2} of bare", memory / bare);
    Ok(())
}

fn small_appends(dir: &Path) -> std::io::Result<()> {
    let (mut bare, mut journal) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(bare_writes(dir, b"x", SMALL_APPENDS)?);
        journal = journal.min(appends(&on_disk(dir, KEEP_ALL), b"x", SMALL_APPENDS));
        clear(dir)?;
    }
    println!("1 byte appends, best of {ROUNDS}:");
    println!("  bare write               {:8.0} ns", each(bare));
    println!(
        "  journal                  {:8.0} ns  {:.2} of bare",
        each(journal),
        each(bare) / each(journal)
    );
    Ok(())
}

fn reads(dir: &Path) -> std::io::Result<()> {
    let journal = on_disk(dir, KEEP_ALL);
    appends(&journal, &vec![b'x'; 64 << 10], 64 << 20);
    let newest = Span::new(journal.end().back(100), journal.end());
    let mut bytes = Vec::new();
    let began = Instant::now();
    for _ in 0..100_000 {
        bytes.clear();
        black_box(journal.read_into(newest, 1 << 20, &mut bytes));
    }
    println!("reading:");
    println!("  newest 100 bytes         {:8.0} ns", began.elapsed().as_secs_f64() * 1e9 / 100_000.0);
    let (mut next, began) = (Offset::ZERO, Instant::now());
    while next < journal.end() {
        next = black_box(journal.read(Span::new(next, journal.end()), 64 << 10)).next;
    }
    println!("  everything, in pieces    {:8.0} MB/s", rate(journal.end().get(), began.elapsed()));
    clear(dir)
}

fn sessions(dir: &Path) -> std::io::Result<()> {
    let store = Store::open(dir, StoreLimits::default()).map_err(std::io::Error::other)?;
    let before = resident()?;
    let idle: Vec<_> = (0..10_000).map(|id| store.journal(SessionId::new(id), KEEP_ALL)).collect();
    let after = resident()?;
    println!("sessions:");
    println!("  idle journal             {:8} bytes", (after - before) / idle.len() as u64);
    let mut ids = Vec::new();
    let claiming = median_micros(|_| ids.push(store.claim_id().expect("an id")));
    println!("  claiming an id           {claiming:8.1} us, median");
    let recording = median_micros(|session| store.begin(&start(ids[session])).expect("a record"));
    println!("  recording a start        {recording:8.1} us, median");
    first_bytes(&store, &ids)?;
    let began = Instant::now();
    let listed = store.list().expect("a list").sessions.len();
    println!("  listing {listed} sessions    {:8.1} ms", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn first_bytes(store: &Store, ids: &[SessionId]) -> std::io::Result<()> {
    let before = resident()?;
    let journals: Vec<_> = ids.iter().map(|id| store.journal(*id, KEEP_ALL)).collect();
    let first = median_micros(|session| {
        journals[session].append(Stream::Stdout, Duration::ZERO, b"a little output\n");
    });
    println!("  first byte of a journal  {first:8.1} us, median");
    println!("  journal with output      {:8} bytes", (resident()? - before) / ids.len() as u64);
    let degraded = journals.iter().filter(|journal| journal.account().degraded.is_some()).count();
    println!("  of which out of files    {degraded:8}");
    Ok(())
}

fn on_disk(dir: &Path, retention: Retention) -> Journal {
    Journal::on_disk(dir, SessionId::new(1), retention)
}

fn appends(journal: &Journal, chunk: &[u8], total: u64) -> Duration {
    let began = Instant::now();
    while journal.end().get() < total {
        journal.append(Stream::Stdout, began.elapsed(), chunk);
    }
    assert_eq!(journal.account().degraded, None);
    began.elapsed()
}

fn bare_writes(dir: &Path, chunk: &[u8], total: u64) -> std::io::Result<Duration> {
    let path = dir.join("bare");
    let mut file = File::create(&path)?;
    let began = Instant::now();
    let mut written = 0;
    while written < total {
        file.write_all(chunk)?;
        written += chunk.len() as u64;
    }
    let took = began.elapsed();
    fs::remove_file(path)?;
    Ok(took)
}

/// The kernel's cost of deleting files while new ones are written, in the journal's own pattern.
fn bare_rolling_writes(dir: &Path, chunk: &[u8]) -> std::io::Result<Duration> {
    const SEGMENT: u64 = 4 << 20;
    const SEGMENTS: u64 = 16;
    let path = |number: u64| dir.join(format!("bare-{number}"));
    let began = Instant::now();
    for number in 0..TOTAL / SEGMENT {
        if let Some(oldest) = number.checked_sub(SEGMENTS) {
            fs::remove_file(path(oldest))?;
        }
        let mut file = File::create(path(number))?;
        for _ in 0..SEGMENT / chunk.len() as u64 {
            file.write_all(chunk)?;
        }
    }
    Ok(began.elapsed())
}

fn clear(dir: &Path) -> std::io::Result<()> {
    fs::read_dir(dir)?.try_for_each(|entry| fs::remove_file(entry?.path()))
}

fn start(id: SessionId) -> StartRecord {
    let key = ProcessKey { pid: 1, start_ticks: 1, scope: None };
    StartRecord {
        id,
        name: Some(String::from("build")),
        argv: vec!["cargo".into(), "build".into(), "--release".into()],
        script: None,
        withheld: Vec::new(),
        owner: None,
        cwd: "/srv/project".into(),
        terminal: true,
        lifetime: Lifetime::Runtime,
        sandbox: None,
        started: windlass_sys::clock::wall(),
        runtime: key,
        root: key,
        mark: None,
        limits: windlass_engine::Limits::default(),
    }
}

/// Resident memory in bytes; zero where the kernel has no `/proc`.
fn resident() -> std::io::Result<u64> {
    let mut text = [0; 128];
    let Ok(file) = OpenOptions::new().read(true).open("/proc/self/statm") else { return Ok(0) };
    let len = file.read_at(&mut text, 0)?;
    let pages = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.split(' ').nth(1));
    Ok(pages.and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096)
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}

fn each(took: Duration) -> f64 {
    took.as_secs_f64() * 1e9 / SMALL_APPENDS as f64
}

/// The cost of one session, as a median: creating files waits for other users of the disk.
fn median_micros(mut action: impl FnMut(usize)) -> f64 {
    let mut took: Vec<Duration> = (0..SESSIONS)
        .map(|session| {
            let began = Instant::now();
            action(session);
            began.elapsed()
        })
        .collect();
    took.sort();
    took[SESSIONS / 2].as_secs_f64() * 1e6
}
