//! The test vectors of age that the Community Cryptography Test Vectors publish, against this implementation.
//!
//! Files for a passphrase are decrypted with it. Files for a key cannot be, as such recipients are not supported here; but
//! each vector names the key of its file, so armour, header, MAC and payload are held against them all the same.

use std::path::Path;

use sha2::Digest;

use super::*;

/// How many there are, so that none gets lost.
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
    let vectors = all();
    assert_eq!(vectors.len(), COUNT);
    let wrong: Vec<String> = vectors.iter().filter_map(Vector::disagreement).collect();
    assert!(wrong.is_empty(), "{} of {COUNT}:\n{}", wrong.len(), wrong.join("\n"));
}

fn all() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/age");
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let vectors = entries.filter(|path| path.extension().is_none());
    let read = |path: &Path| {
        Vector::parse(path.file_name().unwrap().to_str().unwrap(), &std::fs::read(path).unwrap())
    };
    vectors.map(|path| read(&path)).collect()
}

impl Vector {
    /// Lines of `name: value`, an empty line, and the file.
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

    /// What came of it, where that is not what it says.
    fn disagreement(&self) -> Option<String> {
        let result = self.decrypt();
        let seen = match &result {
            Ok(plain) => format!("success {}", hex(&Sha256::digest(&plain[..]))),
            Err(error) => error.to_string(),
        };
        let agrees = match (self.expect.as_str(), &result) {
            ("success", Ok(plain)) => Some(hex(&Sha256::digest(&plain[..]))) == self.payload,
            ("armor failure" | "header failure", Err(AgeError::NotAge(_))) => true,
            // It asks for 8 GiB of memory.
            ("header failure", Err(AgeError::WorkFactor(23))) => self.name == "scrypt_work_factor_23",
            ("HMAC failure" | "payload failure", Err(AgeError::Damaged)) => true,
            ("no match", Err(AgeError::WrongPassphrase)) => true,
            // The name of the recipient is in capitals, so it is one of another kind.
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
