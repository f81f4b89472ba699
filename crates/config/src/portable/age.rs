//! The age file format, version 1, with a passphrase: <https://age-encryption.org/v1>. A text header holds the key of
//! the file, wrapped under a key that scrypt derives from the passphrase; then follow chunks of 64 KiB, each sealed,
//! the last one marked. The ciphers are crates of others; only the format is implemented here. It is compatible with
//! `age -p` both ways.

mod header;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use self::header::Header;
use super::{Passphrase, WorkFactor, armor};
use crate::trust::random_bytes;

const VERSION: &str = "age-encryption.org/v1";
const SCRYPT_LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
const SALT: usize = 16;
const FILE_KEY: usize = 16;
const TAG: usize = 16;
const CHUNK: usize = 64 << 10;
/// The highest work factor that is accepted when decrypting: 1 GiB of memory.
const MOST_WORK: u8 = 20;

/// Why a file could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum AgeError {
    /// The passphrase is empty.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// The work factor is out of bounds.
    #[error("the work factor {0} is not between 1 and {MOST_WORK}")]
    WorkFactor(u8),
    /// The kernel gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(std::io::Error),
    /// It is not an age file.
    #[error("this is not an age file: {0}")]
    NotAge(&'static str),
    /// It is encrypted to keys and has no passphrase.
    #[error("the file is encrypted to a key, not with a passphrase")]
    NoPassphrase,
    /// The passphrase is wrong.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// The file was modified or truncated.
    #[error("the file is damaged: it was changed or cut off")]
    Damaged,
}

/// Encrypts with a passphrase.
pub(super) fn encrypt(plain: &[u8], passphrase: &Passphrase, work: WorkFactor) -> Result<Vec<u8>, AgeError> {
    let (mut salt, mut nonce) = ([0; SALT], [0; SALT]);
    let mut file_key = Zeroizing::new([0; FILE_KEY]);
    for bytes in [&mut salt, &mut *file_key, &mut nonce] {
        random_bytes(bytes).map_err(AgeError::Random)?;
    }
    let wrapping = cipher(&wrapping_key(passphrase, &salt, work.0)?)?;
    let wrapped = wrapping.encrypt(&Nonce::default(), file_key.as_slice()).map_err(|_| AgeError::Damaged)?;
    let (salt, wrapped) = (BASE64.encode(salt), BASE64.encode(wrapped));
    let header = format!("{VERSION}\n-> scrypt {salt} {}\n{wrapped}\n---", work.0);
    let mac = header_mac(file_key.as_slice(), header.as_bytes())?.finalize().into_bytes();
    let mut file = format!("{header} {}\n", BASE64.encode(mac)).into_bytes();
    file.extend_from_slice(&nonce);
    let payload = cipher(&derived(file_key.as_slice(), &nonce, b"payload")?)?;
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
pub(super) fn decrypt(file: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, AgeError> {
    let unarmoured = armor::remove(file)?;
    let header = Header::parse(unarmoured.as_deref().unwrap_or(file))?;
    let sealed = header.sealed_with_a_passphrase()?;
    let wrapping = cipher(&wrapping_key(passphrase, &sealed.salt, sealed.work)?)?;
    let file_key = wrapping.decrypt(&Nonce::default(), sealed.wrapped.as_slice());
    header.open(&Zeroizing::new(file_key.map_err(|_| AgeError::WrongPassphrase)?))
}

impl Header<'_> {
    /// Decrypts the payload, after the MAC has proved that the header was written with this key.
    fn open(&self, file_key: &[u8]) -> Result<Zeroizing<Vec<u8>>, AgeError> {
        header_mac(file_key, self.sealed)?.verify_slice(&self.mac).map_err(|_| AgeError::Damaged)?;
        let (nonce, body) = self.payload()?;
        open_chunks(&cipher(&derived(file_key, nonce, b"payload")?)?, body)
    }
}

fn open_chunks(payload: &ChaCha20Poly1305, body: &[u8]) -> Result<Zeroizing<Vec<u8>>, AgeError> {
    // Allocated at full size, because a reallocation would leave a copy behind that is not wiped.
    let mut plain = Zeroizing::new(Vec::with_capacity(body.len()));
    let mut chunks = body.chunks(CHUNK + TAG).enumerate().peekable();
    if chunks.peek().is_none() {
        return Err(AgeError::Damaged);
    }
    while let Some((number, chunk)) = chunks.next() {
        let is_last = chunks.peek().is_none();
        let opened = payload.decrypt(&chunk_nonce(number, is_last), chunk).map_err(|_| AgeError::Damaged)?;
        let opened = Zeroizing::new(opened);
        // An empty last chunk is valid only if the whole payload is empty.
        if opened.is_empty() && number > 0 {
            return Err(AgeError::Damaged);
        }
        plain.extend_from_slice(&opened);
    }
    Ok(plain)
}

fn wrapping_key(
    passphrase: &Passphrase,
    salt: &[u8; SALT],
    work: u8,
) -> Result<Zeroizing<[u8; 32]>, AgeError> {
    if passphrase.reveal().is_empty() {
        return Err(AgeError::EmptyPassphrase);
    }
    let params = scrypt::Params::new(work, 8, 1).ok().filter(|_| (1..=MOST_WORK).contains(&work));
    let params = params.ok_or(AgeError::WorkFactor(work))?;
    let mut key = Zeroizing::new([0; 32]);
    let salt = [SCRYPT_LABEL, salt].concat();
    scrypt::scrypt(passphrase.reveal().as_bytes(), &salt, &params, key.as_mut_slice())
        .map_err(|_| AgeError::WorkFactor(work))?;
    Ok(key)
}

fn cipher(key: &Zeroizing<[u8; 32]>) -> Result<ChaCha20Poly1305, AgeError> {
    ChaCha20Poly1305::new_from_slice(key.as_slice()).map_err(|_| AgeError::Damaged)
}

fn derived(key: &[u8], salt: &[u8], purpose: &[u8]) -> Result<Zeroizing<[u8; 32]>, AgeError> {
    let mut output = Zeroizing::new([0; 32]);
    let expanded = Hkdf::<Sha256>::new(Some(salt), key).expand(purpose, output.as_mut_slice());
    expanded.map_err(|_| AgeError::Damaged)?;
    Ok(output)
}

fn header_mac(file_key: &[u8], header: &[u8]) -> Result<Hmac<Sha256>, AgeError> {
    let key = derived(file_key, &[], b"header")?;
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&*key).map_err(|_| AgeError::Damaged)?;
    mac.update(header);
    Ok(mac)
}

/// Eleven bytes with the number, and one that marks the last chunk.
fn chunk_nonce(number: usize, is_last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&(number as u64).to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce.into()
}

#[cfg(test)]
mod vectors;
