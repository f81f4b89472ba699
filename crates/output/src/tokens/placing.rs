//! Where a token stands in a table: the arithmetic that the build script, which fills the tables, and the program,
//! which reads them, must share. It is a perfect hash: the bytes choose a bucket, the bucket's pilot and the bytes
//! choose the slot, and the build script has chosen pilots so that no two tokens meet. A look-up therefore compares one
//! slot.

/// Bytes of a key that the token does not fill. No text contains this byte, so no text is taken for a shorter token.
pub(crate) const PADDING: u8 = 0xff;

/// The rank, in three bytes, of bytes that are not a token.
pub(crate) const NO_TOKEN: [u8; 3] = [0xff; 3];

/// The longest token in the table of short ones.
pub(crate) const SHORT: usize = 8;

/// The longest token in the table of medium ones.
pub(crate) const MEDIUM: usize = 16;

const SEEDS: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 0x8cb9_2ba7_2f3d_8dd7];

/// Of a token of at most [`SHORT`] bytes.
#[inline]
pub(crate) const fn hash_short(key: u64) -> u64 {
    folded(key ^ SEEDS[0], SEEDS[1])
}

/// Of a token of at most [`MEDIUM`] bytes.
#[inline]
pub(crate) const fn hash_medium(key: [u64; 2]) -> u64 {
    folded(key[0] ^ SEEDS[0], key[1] ^ SEEDS[2])
}

/// Of a longer one.
pub(crate) fn hash_long(token: &[u8]) -> u64 {
    let (words, rest) = token.as_chunks::<8>();
    let mut last = [PADDING; 8];
    last[..rest.len()].copy_from_slice(rest);
    let all = words.iter().chain([&last]);
    all.fold(SEEDS[2], |hash, word| folded(hash ^ u64::from_le_bytes(*word), SEEDS[1]))
}

/// Which of so many buckets.
#[inline]
pub(crate) const fn bucket(hash: u64, buckets: usize) -> usize {
    scaled(hash, buckets)
}

/// Which of so many slots, given the pilot of the bucket.
#[inline]
pub(crate) const fn slot(hash: u64, pilot: u16, slots: usize) -> usize {
    let turned = hash ^ (pilot as u64).wrapping_mul(SEEDS[2]);
    scaled(turned.wrapping_mul(SEEDS[0]), slots)
}

/// The upper half of the hash as a fraction of `count`: a multiplication where a remainder would be a division.
#[inline]
const fn scaled(hash: u64, count: usize) -> usize {
    (((hash >> 32) * count as u64) >> 32) as usize
}

#[inline]
pub(crate) const fn folded(a: u64, b: u64) -> u64 {
    let product = (a as u128).wrapping_mul(b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}
