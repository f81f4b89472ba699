//! The age file format, version 1, with a passphrase: <https://age-encryption.org/v1>. A text header holds the key of the
//! file, wrapped under a key that scrypt makes of the passphrase; then come chunks of 64 KiB, each sealed, the last one
//! marked. Written over the ciphers of others; only the format is ours. What `age -p` writes is read, and the other way
//! round.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::{WorkFactor, armor};
use crate::trust::random_bytes;

const VERSION: &str = "age-encryption.org/v1";
const SCRYPT_LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
const SALT: usize = 16;
const FILE_KEY: usize = 16;
const TAG: usize = 16;
const CHUNK: usize = 64 << 10;
/// The most work that a file from elsewhere may ask for: 1 GiB of memory.
const MOST_WORK: u8 = 20;
/// No header with a passphrase is longer than this.
const LONGEST_HEADER: usize = 512;

/// Why a file could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum AgeError {
    /// The passphrase is empty.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// The work factor is out of bounds.
    #[error("the work factor {0} is not between 1 and {MOST_WORK}")]
    WorkFactor(u8),
    /// There is no randomness.
    #[error("the system gives no random bytes: {0}")]
    Random(std::io::Error),
    /// The file is not one of age's.
    #[error("this is not an age file: {0}")]
    NotAge(&'static str),
    /// It is encrypted to keys.
    #[error("the file is encrypted to a key, not with a passphrase")]
    NoPassphrase,
    /// The passphrase is wrong.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// The file was changed or cut off.
    #[error("the file is damaged: it was changed or cut off")]
    Damaged,
}

/// Encrypts with a passphrase.
pub(super) fn encrypt(plain: &[u8], passphrase: &str, work: WorkFactor) -> Result<Vec<u8>, AgeError> {
    let (mut salt, mut file_key, mut nonce) = ([0; SALT], [0; FILE_KEY], [0; SALT]);
    for bytes in [&mut salt, &mut file_key, &mut nonce] {
        random_bytes(bytes).map_err(AgeError::Random)?;
    }
    let wrapping = wrapping_key(passphrase, &salt, work.0)?;
    let wrapped = seal(&wrapping, &Nonce::default(), &file_key)?;
    let (salt, wrapped) = (BASE64.encode(salt), BASE64.encode(wrapped));
    let header = format!("{VERSION}\n-> scrypt {salt} {}\n{wrapped}\n---", work.0);
    let mac = header_mac(&file_key, header.as_bytes())?.finalize().into_bytes();
    let mut file = format!("{header} {}\n", BASE64.encode(mac)).into_bytes();
    file.extend_from_slice(&nonce);
    let payload = ChaCha20Poly1305::new(&derived(&file_key, &nonce, b"payload")?.into());
    // An empty text is one empty chunk.
    let last = plain.len().saturating_sub(1) / CHUNK;
    let mut chunks: Vec<&[u8]> = plain.chunks(CHUNK).collect();
    chunks.resize(last + 1, &[]);
    for (number, chunk) in chunks.into_iter().enumerate() {
        let sealed = payload.encrypt(&chunk_nonce(number, number == last), chunk);
        file.extend(sealed.map_err(|_| AgeError::Damaged)?);
    }
    Ok(file)
}

/// Decrypts what was encrypted with a passphrase, armoured or not.
pub(super) fn decrypt(file: &[u8], passphrase: &str) -> Result<Vec<u8>, AgeError> {
    let unarmoured = armor::remove(file)?;
    let file = unarmoured.as_deref().unwrap_or(file);
    let header = Header::parse(file)?;
    let wrapping = wrapping_key(passphrase, &header.salt, header.work)?;
    let file_key =
        ChaCha20Poly1305::new(&wrapping.into()).decrypt(&Nonce::default(), header.wrapped.as_slice());
    let file_key = file_key.map_err(|_| AgeError::WrongPassphrase)?;
    header_mac(&file_key, header.sealed)?.verify_slice(&header.mac).map_err(|_| AgeError::Damaged)?;
    let (nonce, body) = header.rest.split_at_checked(SALT).ok_or(AgeError::Damaged)?;
    let payload = ChaCha20Poly1305::new(&derived(&file_key, nonce, b"payload")?.into());
    open_chunks(&payload, body)
}

fn open_chunks(payload: &ChaCha20Poly1305, body: &[u8]) -> Result<Vec<u8>, AgeError> {
    let mut plain = Vec::with_capacity(body.len());
    let mut chunks = body.chunks(CHUNK + TAG).enumerate().peekable();
    if chunks.peek().is_none() {
        return Err(AgeError::Damaged);
    }
    while let Some((number, chunk)) = chunks.next() {
        let is_last = chunks.peek().is_none();
        let opened = payload.decrypt(&chunk_nonce(number, is_last), chunk).map_err(|_| AgeError::Damaged)?;
        // A last chunk with nothing in it is only right where there is nothing at all.
        if opened.is_empty() && number > 0 {
            return Err(AgeError::Damaged);
        }
        plain.extend(opened);
    }
    Ok(plain)
}

struct Header<'f> {
    salt: [u8; SALT],
    work: u8,
    wrapped: [u8; FILE_KEY + TAG],
    mac: [u8; 32],
    /// What the mac is about: everything up to the three dashes.
    sealed: &'f [u8],
    /// What comes after the header.
    rest: &'f [u8],
}

impl<'f> Header<'f> {
    fn parse(file: &'f [u8]) -> Result<Self, AgeError> {
        let mut lines = HeaderLines { file, at: 0 };
        if lines.next()? != VERSION {
            return Err(AgeError::NotAge("its first line is another"));
        }
        let stanza: Vec<&str> = lines.next()?.split(' ').collect();
        let ["->", kind, arguments @ ..] = stanza.as_slice() else {
            return Err(AgeError::NotAge("it names no recipient"));
        };
        if *kind != "scrypt" {
            return Err(AgeError::NoPassphrase);
        }
        let [salt, work] = arguments else { return Err(AgeError::NotAge("its recipient is malformed")) };
        let (salt, work) = (bytes(salt)?, number(work)?);
        let wrapped = bytes(lines.next()?)?;
        let dashes_at = lines.at;
        let mac = lines.next()?.strip_prefix("--- ");
        let mac = bytes(mac.ok_or(AgeError::NotAge("a passphrase must be the only recipient"))?)?;
        let sealed = &file[..dashes_at + 3];
        Ok(Self { salt, work, wrapped, mac, sealed, rest: &file[lines.at..] })
    }
}

struct HeaderLines<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> HeaderLines<'f> {
    fn next(&mut self) -> Result<&'f str, AgeError> {
        let window = &self.file[self.at..self.file.len().min(LONGEST_HEADER)];
        let end = window
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or(AgeError::NotAge("its header does not end"))?;
        self.at += end + 1;
        std::str::from_utf8(&window[..end]).map_err(|_| AgeError::NotAge("its header is not text"))
    }
}

fn bytes<const LENGTH: usize>(text: &str) -> Result<[u8; LENGTH], AgeError> {
    let malformed = AgeError::NotAge("its header is malformed");
    let Ok(bytes) = BASE64.decode(text) else { return Err(malformed) };
    bytes.try_into().map_err(|_| malformed)
}

/// A number without sign and without zeros before it.
fn number(text: &str) -> Result<u8, AgeError> {
    let plain = text.bytes().all(|digit| digit.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).ok_or(AgeError::NotAge("its work factor is malformed"))
}

fn wrapping_key(passphrase: &str, salt: &[u8; SALT], work: u8) -> Result<[u8; 32], AgeError> {
    if passphrase.is_empty() {
        return Err(AgeError::EmptyPassphrase);
    }
    let params = scrypt::Params::new(work, 8, 1).ok().filter(|_| (1..=MOST_WORK).contains(&work));
    let params = params.ok_or(AgeError::WorkFactor(work))?;
    let mut key = [0; 32];
    let salt = [SCRYPT_LABEL, salt].concat();
    scrypt::scrypt(passphrase.as_bytes(), &salt, &params, &mut key)
        .map_err(|_| AgeError::WorkFactor(work))?;
    Ok(key)
}

fn seal(key: &[u8; 32], nonce: &Nonce, plain: &[u8]) -> Result<Vec<u8>, AgeError> {
    ChaCha20Poly1305::new(&(*key).into()).encrypt(nonce, plain).map_err(|_| AgeError::Damaged)
}

fn derived(key: &[u8], salt: &[u8], purpose: &[u8]) -> Result<[u8; 32], AgeError> {
    let mut output = [0; 32];
    Hkdf::<Sha256>::new(Some(salt), key).expand(purpose, &mut output).map_err(|_| AgeError::Damaged)?;
    Ok(output)
}

fn header_mac(file_key: &[u8], header: &[u8]) -> Result<Hmac<Sha256>, AgeError> {
    let key = derived(file_key, &[], b"header")?;
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&key).map_err(|_| AgeError::Damaged)?;
    mac.update(header);
    Ok(mac)
}

/// Eleven bytes of number, and one that marks the last.
fn chunk_nonce(number: usize, is_last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&(number as u64).to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce.into()
}
