//! The header of an age file: a line with the version, a stanza for each recipient, and a line with the MAC of all that.
//!
//! All stanzas are parsed, also those of recipients that are not supported here: a malformed header must be reported as
//! such, and not as one for another kind of recipient.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

use super::{AgeError, FILE_KEY, SALT, TAG, VERSION};

/// The number of columns of a line in a stanza's body. A shorter line ends the stanza.
const COLUMNS: usize = 64;

/// A parsed file.
pub(super) struct Header<'f> {
    stanzas: Vec<Stanza<'f>>,
    pub(super) mac: [u8; 32],
    /// The text that the MAC covers: everything up to the three dashes.
    pub(super) sealed: &'f [u8],
    /// Everything after the header.
    rest: &'f [u8],
}

struct Stanza<'f> {
    kind: &'f str,
    arguments: Vec<&'f str>,
    body: Vec<u8>,
}

/// The file's key, wrapped under a key that scrypt derives from a passphrase.
pub(super) struct ScryptStanza {
    pub(super) salt: [u8; SALT],
    pub(super) work: u8,
    pub(super) wrapped: [u8; FILE_KEY + TAG],
}

impl<'f> Header<'f> {
    pub(super) fn parse(file: &'f [u8]) -> Result<Self, AgeError> {
        let mut lines = HeaderLines { file, at: 0 };
        if lines.next()? != VERSION {
            return Err(AgeError::NotAge("its first line is another"));
        }
        let mut stanzas = Vec::new();
        let (mac, dashes_at) = loop {
            let line_at = lines.at;
            let line = lines.next()?;
            match line.strip_prefix("--- ") {
                Some(mac) => break (bytes(mac)?, line_at),
                None => stanzas.push(Stanza::parse(line, &mut lines)?),
            }
        };
        if stanzas.is_empty() {
            return Err(AgeError::NotAge("it names no recipient"));
        }
        Ok(Self { stanzas, mac, sealed: &file[..dashes_at + 3], rest: &file[lines.at..] })
    }

    /// The salt of the payload's key, and the chunks of the payload.
    pub(super) fn payload(&self) -> Result<(&'f [u8], &'f [u8]), AgeError> {
        self.rest.split_at_checked(SALT).ok_or(AgeError::NotAge("it ends with its header"))
    }

    /// The passphrase's stanza, which must be the only one.
    pub(super) fn sealed_with_a_passphrase(&self) -> Result<ScryptStanza, AgeError> {
        let is_scrypt = |stanza: &&Stanza<'_>| stanza.kind == "scrypt";
        let stanza = self.stanzas.iter().find(is_scrypt).ok_or(AgeError::NoPassphrase)?;
        if self.stanzas.len() > 1 {
            return Err(AgeError::NotAge("a passphrase must be the only recipient"));
        }
        let [salt, work] = stanza.arguments.as_slice() else {
            return Err(AgeError::NotAge("its recipient is malformed"));
        };
        let wrapped = stanza.body.as_slice().try_into();
        let wrapped = wrapped.map_err(|_| AgeError::NotAge("its wrapped key has another length"))?;
        Ok(ScryptStanza { salt: bytes(salt)?, work: number(work)?, wrapped })
    }
}

impl<'f> Stanza<'f> {
    /// Parses a stanza whose first line is already read.
    fn parse(first: &'f str, lines: &mut HeaderLines<'f>) -> Result<Self, AgeError> {
        let words: Option<Vec<&str>> = first.strip_prefix("-> ").map(|words| words.split(' ').collect());
        let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        let words = words.filter(|words| words.iter().all(is_word));
        let words = words.ok_or(AgeError::NotAge("its recipient is malformed"))?;
        let mut encoded = String::new();
        loop {
            let line = lines.next()?;
            if line.len() > COLUMNS {
                return Err(AgeError::NotAge("a line of its header is too long"));
            }
            encoded.push_str(line);
            if line.len() < COLUMNS {
                break;
            }
        }
        let body = BASE64.decode(encoded).map_err(|_| AgeError::NotAge("its header is malformed"))?;
        Ok(Self { kind: words[0], arguments: words[1..].to_vec(), body })
    }
}

struct HeaderLines<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> HeaderLines<'f> {
    fn next(&mut self) -> Result<&'f str, AgeError> {
        let rest = &self.file[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(AgeError::NotAge("its header does not end"))?;
        self.at += end + 1;
        std::str::from_utf8(&rest[..end]).map_err(|_| AgeError::NotAge("its header is not text"))
    }
}

fn bytes<const LENGTH: usize>(text: &str) -> Result<[u8; LENGTH], AgeError> {
    let malformed = AgeError::NotAge("its header is malformed");
    let Ok(bytes) = BASE64.decode(text) else { return Err(malformed) };
    bytes.try_into().map_err(|_| malformed)
}

/// A number without a sign and without leading zeros.
fn number(text: &str) -> Result<u8, AgeError> {
    let plain = text.bytes().all(|digit| digit.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).ok_or(AgeError::NotAge("its work factor is malformed"))
}
