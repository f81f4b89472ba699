//! A vocabulary as tables: tokens of up to 8 bytes, of up to 16, and the few longer ones, each under a perfect hash.

use std::io;

use crate::Folder;
use crate::perfect::{Arrangement, arrange};
use crate::placing::{self, MEDIUM, NO_TOKEN, PADDING, SHORT};

struct Token {
    bytes: Vec<u8>,
    rank: u32,
}

/// Writes the tables of the vocabulary of this name.
pub(crate) fn write(name: &str, folder: &Folder) -> io::Result<()> {
    let tokens = read(name);
    check_promises(name, &tokens);
    write_pairs(&format!("{name}.pairs"), &tokens, folder)?;
    // Single bytes need no table: all of them are tokens, and nothing merges into one.
    let long_enough = tokens.into_iter().filter(|token| token.bytes.len() > 2 && is_text(&token.bytes));
    let (short, longer): (Vec<_>, Vec<_>) = long_enough.partition(|token| token.bytes.len() <= SHORT);
    let (medium, long): (Vec<_>, Vec<_>) = longer.into_iter().partition(|token| token.bytes.len() <= MEDIUM);
    write_fixed::<SHORT>(&format!("{name}.short"), &short, folder)?;
    write_fixed::<MEDIUM>(&format!("{name}.medium"), &medium, folder)?;
    write_long(&format!("{name}.long"), &long, folder)
}

/// Whether text can contain these bytes, as a part of characters or whole.
fn is_text(token: &[u8]) -> bool {
    !token.contains(&PADDING)
}

fn read(name: &str) -> Vec<Token> {
    let Some(encoding) = tiktoken::get_encoding(name) else { panic!("there is no vocabulary `{name}`") };
    let ranks = 0..u32::try_from(encoding.vocab_size()).unwrap_or(u32::MAX);
    ranks.map(|rank| Token { bytes: encoding.decode(&[rank]), rank }).collect()
}

/// Checks the properties that counting relies on. A vocabulary without them must not be built in.
fn check_promises(name: &str, tokens: &[Token]) {
    assert!(tokens.iter().all(|token| !token.bytes.is_empty()), "{name}: ranks have holes");
    assert!(tokens.len() < 1 << 24, "{name}: ranks do not fit in three bytes");
    let singles = tokens.iter().filter(|token| token.bytes.len() == 1).count();
    assert_eq!(singles, 256, "{name}: not every byte is a token");
    let numbers = tokens.iter().filter(|token| token.bytes.iter().all(u8::is_ascii_digit));
    let up_to_three = numbers.filter(|token| token.bytes.len() <= 3).count();
    assert_eq!(up_to_three, 10 + 100 + 1000, "{name}: not every group of up to three digits is a token");
}

/// The rank of each pair of bytes: merging begins with these, so it finds them without a hash. What is no token has the
/// rank that no token has.
fn write_pairs(name: &str, tokens: &[Token], folder: &Folder) -> io::Result<()> {
    let mut ranks = vec![NO_TOKEN; 1 << 16];
    for token in tokens {
        if let Ok(pair) = token.bytes[..].try_into() {
            ranks[usize::from(u16::from_be_bytes(pair))] = three_bytes(token.rank);
        }
    }
    folder.write(name, &ranks.concat())
}

/// Tokens padded to a common width, their ranks beside them, and the pilots.
fn write_fixed<const WIDTH: usize>(name: &str, tokens: &[Token], folder: &Folder) -> io::Result<()> {
    let keys: Vec<[u8; WIDTH]> = tokens.iter().map(|token| padded(&token.bytes)).collect();
    let hashes: Vec<u64> = keys.iter().map(|key| hash_fixed(key)).collect();
    let arrangement = arrange(&hashes);
    let in_slots = arrangement.slots.iter();
    let keys: Vec<u8> =
        in_slots.clone().flat_map(|slot| slot.map_or([PADDING; WIDTH], |key| keys[key])).collect();
    let ranks: Vec<u8> =
        in_slots.flat_map(|slot| slot.map_or([0; 3], |key| three_bytes(tokens[key].rank))).collect();
    folder.write(&format!("{name}.keys"), &keys)?;
    folder.write(&format!("{name}.ranks"), &ranks)?;
    write_pilots(name, &arrangement, folder)
}

fn padded<const WIDTH: usize>(token: &[u8]) -> [u8; WIDTH] {
    let mut key = [PADDING; WIDTH];
    key[..token.len()].copy_from_slice(token);
    key
}

fn hash_fixed(key: &[u8]) -> u64 {
    let words: Vec<u64> = key.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    match words[..] {
        [key] => placing::hash_short(key),
        [low, high] => placing::hash_medium([low, high]),
        _ => panic!("a key of {} bytes", key.len()),
    }
}

/// Long tokens one after the other, each behind its length and rank, and slots that say where each begins. What an
/// empty slot points at is a token like any other: bytes are always compared.
fn write_long(name: &str, tokens: &[Token], folder: &Folder) -> io::Result<()> {
    let hashes: Vec<u64> = tokens.iter().map(|token| placing::hash_long(&token.bytes)).collect();
    let arrangement = arrange(&hashes);
    let mut texts = Vec::new();
    let mut places = Vec::new();
    for token in tokens {
        places.extend(u32::try_from(texts.len()));
        texts.extend(u8::try_from(token.bytes.len()));
        texts.extend(three_bytes(token.rank));
        texts.extend_from_slice(&token.bytes);
    }
    let slots: Vec<u8> =
        arrangement.slots.iter().flat_map(|slot| slot.map_or(0, |key| places[key]).to_le_bytes()).collect();
    folder.write(&format!("{name}.slots"), &slots)?;
    folder.write(&format!("{name}.texts"), &texts)?;
    write_pilots(name, &arrangement, folder)
}

fn write_pilots(name: &str, arrangement: &Arrangement, folder: &Folder) -> io::Result<()> {
    let pilots: Vec<u8> = arrangement.pilots.iter().flat_map(|pilot| pilot.to_le_bytes()).collect();
    folder.write(&format!("{name}.pilots"), &pilots)
}

fn three_bytes(rank: u32) -> [u8; 3] {
    let [low, middle, high, _] = rank.to_le_bytes();
    [low, middle, high]
}
