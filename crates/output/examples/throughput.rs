//! Prints how many megabytes a second each path through the crate takes:
//! `cargo run --release -p windlass-output --example throughput`.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

use windlass_output::{
    Offset, Pattern, QueryScanner, RawMatcher, Screen, ScreenSize, SettledMatcher, Settler, Tokenizer, Utf8,
    View,
};

const SIZE: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 3;

fn main() {
    let plain = plain_log();
    let colour = colour_log();
    for (name, log) in [("plain", &plain), ("colour", &colour), ("bars", &bars()), ("cjk", &cjk())] {
        report(&format!("settle {name}"), log, CHUNK, settle);
        report(&format!("settle {name}, 4 KiB chunks"), log, 4 << 10, settle);
    }
    report("settle one line", &vec![b'x'; SIZE], CHUNK, settle);
    for (name, log) in [("plain", &plain), ("colour", &colour), ("bars", &bars())] {
        let log = String::from_utf8_lossy(log).replace('\n', "\r\n").into_bytes();
        report(&format!("settle {name} with CRLF"), &log, CHUNK, settle);
        report(&format!("settle {name} of a terminal"), &log, CHUNK, settle_on_terminal);
    }
    report("utf8 plain", &plain, CHUNK, decode);
    report("query colour", &colour, CHUNK, scan);
    report("match raw plain", &plain, CHUNK, match_raw);
    report("match settled colour", &colour, CHUNK, match_settled);
    report("screen colour", &colour[..SIZE / 8], CHUNK, show);
    report("tokens plain", &plain[..SIZE / 8], CHUNK, count);
    for (name, unit) in HOSTILE {
        report(
            &format!("settle hostile {name}"),
            &unit.as_bytes().repeat((SIZE / 16) / unit.len()),
            CHUNK,
            settle,
        );
    }
    for unit in ["a", " ", "=", "日"] {
        report(
            &format!("tokens hostile {unit:?}"),
            unit.repeat((1 << 20) / unit.len()).as_bytes(),
            CHUNK,
            count,
        );
    }
}

/// Output made to be expensive.
const HOSTILE: &[(&str, &str)] = &[
    ("columns", "\x1b[512Gx\n"),
    ("backspace", "x\x08"),
    ("marks", "x\x08e\u{301}"),
    ("wide", "日\x1b[Dx"),
    ("save", "日\x1b7\x1b8"),
    ("up", "\x1b[64A\x1b[L\x1b[M"),
    ("insert", "\x1b[9@"),
    ("pages", "x\x1b[2J"),
    ("invalid", "\u{9b}\x1b\x1b["),
];

fn scan(log: &[u8], chunk: usize) -> usize {
    let mut scanner = QueryScanner::new();
    log.chunks(chunk).filter(|bytes| scanner.feed(bytes)).count()
}

fn match_raw(log: &[u8], chunk: usize) -> usize {
    let Ok(pattern) = Pattern::new("listening on port \\d+") else { return 0 };
    let mut matcher = RawMatcher::new(pattern, Offset::ZERO);
    log.chunks(chunk).filter(|bytes| matcher.feed(bytes).is_some()).count()
}

fn match_settled(log: &[u8], chunk: usize) -> usize {
    let Ok(pattern) = Pattern::new("listening on port \\d+") else { return 0 };
    let mut matcher = SettledMatcher::new(pattern, Settler::new(Offset::ZERO));
    log.chunks(chunk).filter(|bytes| matcher.feed(bytes).is_some()).count()
}

fn show(log: &[u8], chunk: usize) -> usize {
    let mut screen = Screen::new(ScreenSize::default());
    log.chunks(chunk).for_each(|bytes| screen.feed(bytes));
    screen.text().len()
}

fn count(log: &[u8], _: usize) -> usize {
    Tokenizer::O200k.count(&String::from_utf8_lossy(log)).get() as usize
}

fn settle(log: &[u8], chunk: usize) -> usize {
    settle_with(Settler::new(Offset::ZERO), log, chunk)
}

fn settle_on_terminal(log: &[u8], chunk: usize) -> usize {
    settle_with(Settler::on_terminal(Offset::ZERO, ScreenSize::default()), log, chunk)
}

fn settle_with(mut settler: Settler, log: &[u8], chunk: usize) -> usize {
    let mut view = View::new(Offset::ZERO);
    let mut total = 0;
    for bytes in log.chunks(chunk) {
        settler.feed(bytes, &mut view);
        total += view.text().len();
        view.clear();
    }
    settler.finish(&mut view);
    total + view.text().len()
}

fn decode(log: &[u8], chunk: usize) -> usize {
    let mut decoder = Utf8::new(Offset::ZERO);
    let mut view = View::new(Offset::ZERO);
    let mut total = 0;
    for bytes in log.chunks(chunk) {
        decoder.feed(bytes, &mut view);
        total += view.text().len();
        view.clear();
    }
    decoder.finish(&mut view);
    total + view.text().len()
}

fn report(name: &str, log: &[u8], chunk: usize, run: impl Fn(&[u8], usize) -> usize) {
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(run(black_box(log), chunk));
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let speed = |s: f64| log.len() as f64 / s / 1e6;
    println!("{name}: {:.0} MB/s (best {:.0})", speed(seconds[ROUNDS / 2]), speed(seconds[0]));
}

fn plain_log() -> Vec<u8> {
    lines(|n| {
        format!(
            "2026-01-01T00:00:{:02} INFO  service::worker request {n} served in {} us, status 200\n",
            n % 60,
            n % 977
        )
    })
}

fn colour_log() -> Vec<u8> {
    lines(|n| {
        format!(
            "\x1b[2m2026-01-01T00:00:{:02}\x1b[0m \x1b[32m INFO\x1b[0m \x1b[1mservice::worker\x1b[0m request \x1b[36m{n}\x1b[0m served in {} us\r\n",
            n % 60,
            n % 977
        )
    })
}

fn bars() -> Vec<u8> {
    lines(|n| format!("\rDownloading [{:<40}] {:3}%", "=".repeat(n % 41), n % 101))
}

fn cjk() -> Vec<u8> {
    lines(|n| format!("{n} 処理が完了しました。次の要求を待っています…\n"))
}

fn lines(line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut log = Vec::with_capacity(SIZE + 256);
    let mut n = 0;
    while log.len() < SIZE {
        log.extend_from_slice(line(n).as_bytes());
        n += 1;
    }
    log
}
