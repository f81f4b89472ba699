//! The puppet: plays the children that tests need and shells cannot: floods of known bytes, one byte at a time, and
//! runaways that use up something without end, but stop growing by themselves at a number they are given.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use windlass_testkit::bytes::{FLOOD_CHUNK, Noise, claimed_line};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["flood", seed, length, piece] => {
            flood(&mut std::io::stdout(), number(seed), size(length), size(piece));
        }
        ["flood-both", seed, length, piece] => flood_both(number(seed), size(length), size(piece)),
        ["fill", byte, length] => fill(byte, size(length)),
        ["claim", file, token, lines] => claim(Path::new(file), token, number(lines)),
        ["swallow"] => swallow(),
        ["bomb", depth] => bomb(number(depth)),
        ["hog", mebibytes] => hog(size(mebibytes)),
        ["burn", seconds] => burn(number(seconds)),
        ["files", most] => files(size(most)),
        ["write", directory, mebibytes] => write(Path::new(directory), size(mebibytes)),
        _ => usage(),
    }
}

/// Writes known bytes in pieces of the given size.
fn flood(stream: &mut impl Write, seed: u64, length: usize, piece: usize) {
    let mut noise = Noise::new(seed);
    let mut buffer = [0; FLOOD_CHUNK];
    for start in (0..length).step_by(FLOOD_CHUNK) {
        noise.fill(&mut buffer);
        for part in buffer[..FLOOD_CHUNK.min(length - start)].chunks(piece.max(1)) {
            stream.write_all(part).and_then(|()| stream.flush()).expect("the other side reads");
        }
    }
}

/// The seed's bytes on stdout and the next seed's on stderr, both at once.
fn flood_both(seed: u64, length: usize, piece: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&mut std::io::stdout(), seed, length, piece));
        scope.spawn(|| flood(&mut std::io::stderr(), seed + 1, length, piece));
    });
}

/// The same byte over and over, without a newline.
fn fill(byte: &str, length: usize) {
    let chunk = vec![byte.as_bytes().first().copied().unwrap_or(b'x'); 64 * 1024];
    let mut stdout = std::io::stdout();
    for start in (0..length).step_by(chunk.len()) {
        stdout.write_all(&chunk[..chunk.len().min(length - start)]).expect("the other side reads");
    }
    stdout.flush().expect("the other side reads");
}

/// Prints numbered lines that bear a token, a few in each write, and after each write notes in a file how many lines it
/// has printed: what it claims there has left this process. Ends quietly when its output is closed.
fn claim(file: &Path, token: &str, lines: u64) {
    const TOGETHER: usize = 8;
    let noted = File::create(file).expect("the file can be made");
    let mut stdout = std::io::stdout();
    for first in (0..lines).step_by(TOGETHER) {
        let end = lines.min(first + TOGETHER as u64);
        let piece: String = (first..end).map(|number| claimed_line(token, number) + "\n").collect();
        if stdout.write_all(piece.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            return;
        }
        noted.write_all_at(&end.to_le_bytes(), 0).expect("the file can be written");
    }
}

/// Reads everything and prints how many bytes it was.
fn swallow() {
    let mut bytes = Vec::new();
    let count = std::io::stdin().read_to_end(&mut bytes).unwrap_or(0);
    println!("swallowed {count}");
}

/// Doubles itself so many times, and all stay.
fn bomb(depth: u64) {
    let own = std::env::current_exe().expect("a program knows its own path");
    for _ in 0..2 {
        // One that is refused is tried no more.
        if depth > 0 && Command::new(&own).args(["bomb", &(depth - 1).to_string()]).spawn().is_err() {
            break;
        }
    }
    stay();
}

/// Uses memory, a few mebibytes at a time, and keeps it.
fn hog(mebibytes: usize) {
    const STEP: usize = 4;
    let mut held: Vec<Vec<u8>> = Vec::new();
    while held.len() * STEP < mebibytes {
        let mut more = Vec::new();
        if more.try_reserve_exact(STEP << 20).is_err() {
            break;
        }
        more.resize(STEP << 20, 1);
        held.push(more);
        rest(Duration::from_millis(4));
    }
    stay();
}

/// Does nothing, as fast as it can.
fn burn(seconds: u64) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        std::hint::spin_loop();
    }
}

/// Opens files and keeps them.
fn files(most: usize) {
    let opened: Vec<File> = (0..most).map_while(|_| File::open("/dev/null").ok()).collect();
    println!("opened {}", opened.len());
    stay();
}

/// Writes files of a few mebibytes each.
fn write(directory: &Path, mebibytes: usize) {
    const STEP: usize = 4;
    let bytes = vec![b'x'; STEP << 20];
    for place in 0..mebibytes / STEP {
        let written = std::fs::write(directory.join(place.to_string()), &bytes);
        rest(Duration::from_millis(4));
        if written.is_err() {
            break;
        }
    }
    stay();
}

/// Stays until it is killed, but not longer than any test takes.
fn stay() {
    rest(Duration::from_secs(120));
}

#[expect(clippy::disallowed_methods, reason = "it imitates a program that grows at a pace of its own")]
fn rest(time: Duration) {
    std::thread::sleep(time);
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage())
}

fn size(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| usage())
}

fn usage() -> ! {
    eprintln!(
        "usage: windlass-puppet flood|flood-both SEED LENGTH PIECE | fill BYTE LENGTH | claim FILE TOKEN LINES | swallow | bomb DEPTH | \
         hog MEBIBYTES | burn SECONDS | files MOST | write DIRECTORY MEBIBYTES"
    );
    std::process::exit(2)
}
