//! The armour of age files: the bytes as lines of Base64 between two lines of dashes, for mail and pastes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::AgeError;

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;

/// The bytes inside, if the file is armoured.
pub(super) fn remove(file: &[u8]) -> Result<Option<Vec<u8>>, AgeError> {
    let trimmed = file.trim_ascii();
    if !trimmed.starts_with(BEGIN.as_bytes()) {
        return Ok(None);
    }
    let malformed = || AgeError::NotAge("its armour is malformed");
    let text = std::str::from_utf8(trimmed).map_err(|_| malformed())?;
    let inside = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).ok_or_else(malformed)?;
    // The first line must have nothing behind it, and the last one must be a line of its own.
    let lines: Vec<&str> = inside.split('\n').collect();
    let ["" | "\r", lines @ .., ""] = lines.as_slice() else { return Err(malformed()) };
    let lines: Vec<&str> = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let (last, full) = lines.split_last().ok_or_else(malformed)?;
    let is_last = (1..=COLUMNS).contains(&last.len());
    if full.iter().any(|line| line.len() != COLUMNS) || !is_last {
        return Err(malformed());
    }
    STANDARD.decode(lines.concat()).map(Some).map_err(|_| malformed())
}
