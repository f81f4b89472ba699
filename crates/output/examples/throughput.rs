//! Prints how many megabytes a second each path through the crate takes: `cargo run --release -p windlass-output
//! --example throughput`.

use std::hint::black_box;
use std::time::Instant;

use windlass_output::{Offset, Settler, Utf8, View};

const SIZE: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 5;

fn main() {
    let plain = plain_log();
    let colour = colour_log();
    for (name, log) in [
        ("plain", &plain),
        ("colour", &colour),
        ("bars", &bars()),
        ("cjk", &cjk()),
        ("one line", &vec![b'x'; SIZE]),
    ] {
        report(&format!("settle {name}"), log, CHUNK, settle);
        report(&format!("settle {name}, 4 KiB chunks"), log, 4 << 10, settle);
    }
    report("utf8 plain", &plain, CHUNK, decode);
}

fn settle(log: &[u8], chunk: usize) -> usize {
    let mut settler = Settler::new(Offset::ZERO);
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
