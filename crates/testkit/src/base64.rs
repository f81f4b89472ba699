//! Base64 as the wire has it: standard alphabet, padded. Written here so that tests share no code with the product, and
//! by tables so that a measurement's client is not what is measured.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// No sextet has these bits.
const INVALID: u32 = 1 << 24;

/// The value of each byte at each of the four positions in a group, shifted to its bits.
static PLACES: [[u32; 256]; 4] = [place(18), place(12), place(6), place(0)];

const fn place(shift: u32) -> [u32; 256] {
    let mut table = [INVALID; 256];
    let mut value = 0;
    while value < 64 {
        table[ALPHABET[value] as usize] = (value as u32) << shift;
        value += 1;
    }
    table
}

/// Encodes bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sextet in 0..4 {
            let character = ALPHABET[(word >> (18 - 6 * sextet)) as usize & 63];
            text.push(if sextet > group.len() { '=' } else { char::from(character) });
        }
    }
    text
}

/// The bytes, or nothing if the text is not what [`encode`] would write.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    decode_into(text, &mut bytes).then_some(bytes)
}

/// The bytes instead of what was in the buffer; whether the text was what [`encode`] would write.
pub fn decode_into(text: &[u8], bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    if !text.len().is_multiple_of(4) {
        return false;
    }
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let whole = if padding == 0 { text.len() } else { text.len() - 4 };
    bytes.resize(whole / 4 * 3, 0);
    let mut seen = 0;
    for (four, three) in text[..whole].chunks_exact(4).zip(bytes.chunks_exact_mut(3)) {
        let word = word(four);
        seen |= word;
        three.copy_from_slice(&word.to_be_bytes()[1..]);
    }
    seen & INVALID == 0 && (padding == 0 || decode_last(&text[whole..], padding, bytes))
}

fn word(four: &[u8]) -> u32 {
    PLACES[0][usize::from(four[0])]
        | PLACES[1][usize::from(four[1])]
        | PLACES[2][usize::from(four[2])]
        | PLACES[3][usize::from(four[3])]
}

/// The group with padding: what the padding stands for must be nothing.
fn decode_last(four: &[u8], padding: usize, bytes: &mut Vec<u8>) -> bool {
    let mut filled = [b'A'; 4];
    filled[..4 - padding].copy_from_slice(&four[..4 - padding]);
    let word = word(&filled);
    bytes.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    word & INVALID == 0 && word.to_be_bytes()[4 - padding..].iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Noise;

    #[test]
    fn the_samples_of_the_standard_come_out() {
        let samples = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in samples {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
    }

    #[test]
    fn bytes_of_any_length_come_back() {
        for length in 0..200 {
            let mut bytes = vec![0; length];
            Noise::new(length as u64).fill(&mut bytes);
            assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes));
        }
    }

    #[test]
    fn what_nobody_would_write_is_refused() {
        for text in ["Zg", "Zg=", "Zh==", "Zm9=", "Z!==", "Zm9v\n", "====", "Zg==Zg=="] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
