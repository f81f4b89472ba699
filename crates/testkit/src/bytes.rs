//! Bytes that both sides of a test know without sending them: a stream by seed, and a fingerprint to compare.

/// An endless stream of bytes, the same for the same seed: every value occurs, NUL and invalid UTF-8 among them.
#[derive(Clone, Debug)]
pub struct Noise {
    state: u64,
}

impl Noise {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    /// The next bytes of the stream.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
    }

    /// The next word: xorshift64*, plenty for a test.
    pub fn word(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// A fingerprint of a stream of bytes that does not depend on how it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    hash: u64,
    length: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, length: 0 }
    }
}

impl Fingerprint {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.length += bytes.len() as u64;
    }

    /// How many bytes it stands for.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Of so many bytes of a seed's stream.
    pub fn of_noise(seed: u64, length: usize) -> Self {
        let mut print = Self::default();
        let mut noise = Noise::new(seed);
        let mut buffer = [0; FLOOD_CHUNK];
        for start in (0..length).step_by(FLOOD_CHUNK) {
            let count = FLOOD_CHUNK.min(length - start);
            noise.fill(&mut buffer);
            print.add(&buffer[..count]);
        }
        print
    }
}

/// The puppet's floods are generated in pieces of this size, whatever the size they are written in.
pub const FLOOD_CHUNK: usize = 8192;

/// A line of the puppet's claims, without its end: any part of it that is lost or out of order shows.
pub fn claimed_line(token: &str, number: u64) -> String {
    const FILLING: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    format!("{token} {number:07} {FILLING}")
}
