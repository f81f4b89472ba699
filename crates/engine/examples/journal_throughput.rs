//! How fast a journal takes output, beside the bare `write` that it cannot beat, and what it costs at rest.
//!
//! `cargo run --release -p windlass-engine --example journal_throughput`, in the directory whose disk is to be measured.
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use windlass_engine::{
    Journal, Lifetime, ProcessKey, Retention, SessionId, StartRecord, Store, StoreLimits, Stream,
};
use windlass_output::{Offset, Span};

const TOTAL: u64 = 512 << 20;
const SMALL_APPENDS: u64 = 1_000_000;
const SESSIONS: u64 = 1000;
const ROUNDS: usize = 5;
/// Enough for everything here: what retention costs is measured apart.
const KEEP_ALL: Retention = Retention { limit: 1 << 40, head: 1 << 39 };

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(format!("target/journal-throughput-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    println!("in {}", dir.display());
    large_appends(&dir)?;
    small_appends(&dir)?;
    reads(&dir)?;
    sessions(&dir)?;
    fs::remove_dir_all(&dir)
}

/// Rounds alternate, so that a disk or a neighbour that gets slower hits both alike; the best of each counts.
fn large_appends(dir: &Path) -> std::io::Result<()> {
    let chunk = vec![b'x'; 64 << 10];
    let (mut bare, mut journal, mut rolling, mut memory) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for _ in 0..ROUNDS {
        bare = bare.max(rate(TOTAL, bare_writes(dir, &chunk, TOTAL)?));
        journal = journal.max(rate(TOTAL, appends(&on_disk(dir, KEEP_ALL), &chunk, TOTAL)));
        clear(dir)?;
        rolling = rolling.max(rate(TOTAL, appends(&on_disk(dir, Retention::default()), &chunk, TOTAL)));
        clear(dir)?;
        memory = memory.max(rate(TOTAL, appends(&Journal::in_memory(Retention::default()), &chunk, TOTAL)));
    }
    println!("64 KiB chunks, {} MiB, best of {ROUNDS}:", TOTAL >> 20);
    println!("  bare write               {bare:8.0} MB/s");
    println!("  journal, keeping all     {journal:8.0} MB/s  {:.2} of bare", journal / bare);
    println!("  journal, 256 MiB kept    {rolling:8.0} MB/s  {:.2} of bare", rolling / bare);
    println!("  journal in memory        {memory:8.0} MB/s  {:.2} of bare", memory / bare);
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
    let idle: Vec<_> = (0..SESSIONS * 10).map(|id| store.journal(SessionId::new(id), KEEP_ALL)).collect();
    let after = resident()?;
    println!("sessions:");
    println!("  idle journal             {:8} bytes", (after - before) / idle.len() as u64);
    let began = Instant::now();
    let ids: Vec<_> = (0..SESSIONS).map(|_| store.claim_id().expect("an id")).collect();
    println!("  claiming an id           {:8.1} us", micros_each(began));
    let began = Instant::now();
    ids.iter().for_each(|id| store.begin(&start(*id)).expect("a record"));
    println!("  recording a start        {:8.1} us", micros_each(began));
    first_bytes(&store, &ids)?;
    let began = Instant::now();
    let listed = store.list().expect("a list").len();
    println!("  listing {listed} sessions    {:8.1} ms", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn first_bytes(store: &Store, ids: &[SessionId]) -> std::io::Result<()> {
    let before = resident()?;
    let began = Instant::now();
    let journals: Vec<_> = ids.iter().map(|id| store.journal(*id, KEEP_ALL)).collect();
    for journal in &journals {
        journal.append(Stream::Stdout, Duration::ZERO, b"a little output\n");
    }
    println!("  first byte of a journal  {:8.1} us", micros_each(began));
    println!("  journal with output      {:8} bytes", (resident()? - before) / SESSIONS);
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

fn clear(dir: &Path) -> std::io::Result<()> {
    fs::read_dir(dir)?.try_for_each(|entry| fs::remove_file(entry?.path()))
}

fn start(id: SessionId) -> StartRecord {
    let key = ProcessKey { pid: 1, start_ticks: 1 };
    StartRecord {
        id,
        name: Some(String::from("build")),
        argv: vec!["cargo".into(), "build".into(), "--release".into()],
        cwd: "/srv/project".into(),
        terminal: true,
        lifetime: Lifetime::Runtime,
        started: SystemTime::now(),
        runtime: key,
        root: key,
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

fn micros_each(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6 / SESSIONS as f64
}
