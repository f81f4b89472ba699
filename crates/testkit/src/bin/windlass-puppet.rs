//! The puppet: plays the children that tests need and shells cannot: floods of known bytes, and one byte at a time.
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use windlass_testkit::bytes::{FLOOD_CHUNK, Noise};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["flood", seed, length, piece] => {
            flood(&mut std::io::stdout(), number(seed), size(length), size(piece));
        }
        ["flood-both", seed, length, piece] => flood_both(number(seed), size(length), size(piece)),
        ["fill", byte, length] => fill(byte, size(length)),
        ["swallow"] => swallow(),
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

/// Reads everything and says how much it was.
fn swallow() {
    let mut bytes = Vec::new();
    let count = std::io::stdin().read_to_end(&mut bytes).unwrap_or(0);
    println!("swallowed {count}");
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage())
}

fn size(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| usage())
}

fn usage() -> ! {
    eprintln!("usage: windlass-puppet flood|flood-both SEED LENGTH PIECE | fill BYTE LENGTH | swallow");
    std::process::exit(2)
}
