//! The fuzz bodies on random bytes with a fixed seed, so that every test run is a very short fuzz run.

use windlass_output::fuzzing::{self, BODIES};

/// Pieces that random bytes alone would hardly ever form.
const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\x08",
    b"\x1b[",
    b"\x1b]",
    b"\x1bP",
    b"\x1b\\",
    b"\x07",
    b"\x1b[2K",
    b"\x1b[3A",
    b"\x1b[6n",
    b"\x1b[c",
    b"\x1b]10;?",
    b"?",
    b"$p",
    b";",
    b"999999",
    b"m",
    b"H",
    b"J",
    b"\x1b7",
    b"\x1b8",
    b"?1049h",
    b"?1049l",
    b"\xe6\x97\xa5",
    b"\xcc\x81",
    b"\xf0\x9f\x98",
    b"\xff",
    b"\x9b",
    b"hello world ",
    b"error: ",
    b"C-",
    b"ctrl+",
    b"Up",
    b"\\d+",
    b"a*",
    b"[^x]",
    b"(",
];

#[test]
fn every_body_survives_random_bytes() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let data = random.bytes(round);
        for (_, body) in BODIES {
            body(&data);
        }
    }
}

#[test]
fn every_body_survives_nothing_and_monotony() {
    for (_, body) in BODIES {
        body(b"");
        for unit in 0..=255_u8 {
            body(&[unit; 300]);
        }
    }
}

#[test]
fn the_names_of_bodies_are_the_names_of_targets() {
    let names: Vec<_> = BODIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        ["settle", "settle_on_terminal", "utf8", "screen", "query", "excerpt", "keys", "pattern", "tokens"]
    );
    fuzzing::settle_any(b"\x05text");
}

/// xorshift: enough for a fixed walk through strange inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize
    }

    fn bytes(&mut self, round: usize) -> Vec<u8> {
        let mut data = vec![self.next() as u8, self.next() as u8];
        for _ in 0..self.next() % (round + 1) {
            match self.next() % 4 {
                0 => data.push(self.next() as u8),
                1 => data.push(b' ' + (self.next() % 95) as u8),
                _ => data.extend_from_slice(WORDS[self.next() % WORDS.len()]),
            }
        }
        data
    }
}
