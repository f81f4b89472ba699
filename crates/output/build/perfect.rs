//! Finds the pilots of a perfect hash, so that every key gets a slot of its own.

use crate::placing;

/// Keys to a bucket, on average: more make the pilots smaller and harder to find.
const KEYS_TO_A_BUCKET: usize = 5;

/// Three slots in a hundred stay empty, without which the last keys would take long to place.
const SLOTS_TO_A_HUNDRED: usize = 103;

/// Which key stands where.
pub(crate) struct Arrangement {
    pub(crate) pilots: Vec<u16>,
    /// The number of the key in each slot.
    pub(crate) slots: Vec<Option<usize>>,
}

/// Arranges keys by their hashes, fullest buckets first, while there is room.
pub(crate) fn arrange(hashes: &[u64]) -> Arrangement {
    let buckets = in_buckets(hashes);
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));
    let mut slots = vec![None; hashes.len() * SLOTS_TO_A_HUNDRED / 100 + 1];
    let mut pilots = vec![0; buckets.len()];
    for bucket in order {
        pilots[bucket] = place(&buckets[bucket], hashes, &mut slots);
    }
    Arrangement { pilots, slots }
}

fn in_buckets(hashes: &[u64]) -> Vec<Vec<usize>> {
    let mut buckets = vec![Vec::new(); hashes.len() / KEYS_TO_A_BUCKET + 1];
    let count = buckets.len();
    for (key, &hash) in hashes.iter().enumerate() {
        buckets[placing::bucket(hash, count)].push(key);
    }
    buckets
}

/// Puts the keys of one bucket into free slots and returns the pilot that leads there.
fn place(keys: &[usize], hashes: &[u64], slots: &mut [Option<usize>]) -> u16 {
    let count = slots.len();
    for pilot in 0..=u16::MAX {
        let at = |key: usize| placing::slot(hashes[key], pilot, count);
        if keys.iter().any(|&key| slots[at(key)].is_some()) {
            continue;
        }
        let taken: Vec<usize> = keys.iter().map(|&key| at(key)).collect();
        if taken.iter().enumerate().any(|(number, slot)| taken[..number].contains(slot)) {
            continue;
        }
        for (&key, slot) in keys.iter().zip(taken) {
            slots[slot] = Some(key);
        }
        return pilot;
    }
    panic!("no pilot places the {} keys of a bucket: choose other seeds in placing.rs", keys.len());
}
