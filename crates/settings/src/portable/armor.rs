//! The armour of age files: the same bytes as lines of Base64 between two lines of dashes, for mail and pastes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::AgeError;

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;

/// The bytes inside, if there is an armour.
pub(super) fn remove(file: &[u8]) -> Result<Option<Vec<u8>>, AgeError> {
    let trimmed = file.trim_ascii();
    if !trimmed.starts_with(BEGIN.as_bytes()) {
        return Ok(None);
    }
    let malformed = || AgeError::NotAge("its armour is malformed");
    let text = std::str::from_utf8(trimmed).map_err(|_| malformed())?;
    let inside = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).ok_or_else(malformed)?;
    let lines: Vec<&str> = inside.trim().lines().map(|line| line.trim_end_matches('\r')).collect();
    let (last, full) = lines.split_last().ok_or_else(malformed)?;
    if full.iter().any(|line| line.len() != COLUMNS) || last.len() > COLUMNS {
        return Err(malformed());
    }
    STANDARD.decode(lines.concat()).map(Some).map_err(|_| malformed())
}
