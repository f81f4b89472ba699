//! Runs the age test vectors of the Community Cryptography Test Vectors project against this implementation.
//!
//! Files for a passphrase are decrypted with it. Files for a key cannot be, because such recipients are not supported
//! here; but each vector names the key of its file, so armour, header, MAC and payload are still checked with it.

use std::path::{Path, PathBuf};

use sha2::Digest;

use super::*;

/// The expected number of vectors, so that none gets lost.
const COUNT: usize = 112;

#[derive(Debug, Default)]
struct Vector {
    name: String,
    expect: String,
    payload: Option<String>,
    file_key: Vec<u8>,
    passphrase: Option<String>,
    file: Vec<u8>,
}

#[test]
fn every_published_vector_ends_as_it_says() {
    let names = names();
    assert_eq!(names.len(), COUNT);
    let is_short = |name: &&String| !LONG.contains(&name.as_str());
    let wrong: Vec<String> =
        names.iter().filter(is_short).filter_map(|name| read(name).disagreement()).collect();
    assert!(wrong.is_empty(), "{} of {COUNT}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Seventeen megabytes each: without optimisation they take seconds, so they run in parallel.
const LONG: [&str; 3] = ["stream_257_chunks", "stream_257_chunks_full", "stream_258_chunks"];

#[test]
fn a_payload_of_257_chunks_is_decrypted() {
    assert_eq!(read(LONG[0]).disagreement(), None);
}

#[test]
fn a_payload_of_257_full_chunks_is_decrypted() {
    assert_eq!(read(LONG[1]).disagreement(), None);
}

#[test]
fn a_payload_of_258_chunks_is_decrypted() {
    assert_eq!(read(LONG[2]).disagreement(), None);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/age")
}

fn names() -> Vec<String> {
    let entries = folder().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name != "README.md").collect()
}

fn read(name: &str) -> Vector {
    Vector::parse(name, &std::fs::read(folder().join(name)).unwrap())
}

impl Vector {
    /// Parses lines of `name: value`, an empty line, and the file.
    fn parse(name: &str, bytes: &[u8]) -> Self {
        let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap();
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut vector = Self { name: name.to_owned(), file: bytes[end + 2..].to_vec(), ..Self::default() };
        for line in head.lines() {
            let (key, value) = line.split_once(": ").unwrap();
            match key {
                "expect" => value.clone_into(&mut vector.expect),
                "payload" => vector.payload = Some(value.to_owned()),
                "file key" => vector.file_key = unhex(value),
                "passphrase" => vector.passphrase = Some(value.to_owned()),
                "compressed" => {
                    vector.file = miniz_oxide::inflate::decompress_to_vec_zlib(&vector.file).unwrap();
                }
                "identity" | "armored" | "comment" => {}
                _ => panic!("{name}: {key} is unknown"),
            }
        }
        vector
    }

    /// The actual result, if it differs from the expected one.
    fn disagreement(&self) -> Option<String> {
        let result = self.decrypt();
        let seen = match &result {
            Ok(plain) => format!("success {}", hex(&Sha256::digest(&plain[..]))),
            Err(error) => error.to_string(),
        };
        let agrees = match (self.expect.as_str(), &result) {
            ("success", Ok(plain)) => Some(hex(&Sha256::digest(&plain[..]))) == self.payload,
            ("armor failure" | "header failure", Err(AgeError::NotAge(_))) => true,
            // It asks for 8 GiB of memory, more than we accept.
            ("header failure", Err(AgeError::WorkFactor(23))) => self.name == "scrypt_work_factor_23",
            ("HMAC failure" | "payload failure", Err(AgeError::Damaged)) => true,
            ("no match", Err(AgeError::WrongPassphrase)) => true,
            // The recipient's name is in capitals, so the recipient is of another type.
            ("no match", Err(AgeError::NoPassphrase)) => self.name == "scrypt_uppercase",
            _ => false,
        };
        (!agrees).then(|| format!("{}: {} expected, seen: {seen}", self.name, self.expect))
    }

    fn decrypt(&self) -> Result<Zeroizing<Vec<u8>>, AgeError> {
        if let Some(passphrase) = &self.passphrase {
            return decrypt(&self.file, &Passphrase::from(passphrase.as_str()));
        }
        let unarmoured = armor::remove(&self.file)?;
        Header::parse(unarmoured.as_deref().unwrap_or(&self.file))?.open(&self.file_key)
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
