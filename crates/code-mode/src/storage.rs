//! Values that scripts store for later scripts: JSON by key, within limits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values that outlive their cell.
pub(crate) struct Storage {
    values: Mutex<BTreeMap<String, String>>,
    most_bytes: usize,
}

/// A value that does not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("store() keeps at most {most_bytes} bytes of keys and JSON in all; this would make {bytes}")]
pub(crate) struct Full {
    bytes: usize,
    most_bytes: usize,
}

impl Storage {
    /// An empty storage for so many bytes of keys and values.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { values: Mutex::default(), most_bytes }
    }

    /// Stores JSON under a key, replacing an earlier value.
    pub(crate) fn put(&self, key: String, json: String) -> Result<(), Full> {
        let mut values = self.values();
        let others = values.iter().filter(|(other, _)| **other != key).map(|(key, json)| cost(key, json));
        let bytes = others.sum::<usize>() + cost(&key, &json);
        if bytes > self.most_bytes {
            return Err(Full { bytes, most_bytes: self.most_bytes });
        }
        values.insert(key, json);
        Ok(())
    }

    /// Removes a key.
    pub(crate) fn remove(&self, key: &str) {
        self.values().remove(key);
    }

    /// The JSON under a key.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.values().get(key).cloned()
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of an entry, with a fixed cost added, so that a million empty entries are not free.
fn cost(key: &str, json: &str) -> usize {
    key.len() + json.len() + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(most_bytes: usize, puts: &[(&str, usize)], fits: &[bool]) {
        let storage = Storage::new(most_bytes);
        let put =
            |(key, length): &(&str, usize)| storage.put((*key).to_string(), "1".repeat(*length)).is_ok();
        assert_eq!(puts.iter().map(put).collect::<Vec<_>>(), fits);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_it_replaces_does_not_count() {
        check(100, &[("a", 35), ("a", 35), ("a", 36)], &[true, true, false]);
        check(200, &[("a", 30), ("b", 30), ("c", 30)], &[true, true, false]);
    }

    #[test]
    fn a_refused_value_leaves_the_old_one() {
        let storage = Storage::new(100);
        storage.put("a".into(), "1".into()).expect("fits");
        storage.put("a".into(), "2".repeat(100)).expect_err("is too large");
        assert_eq!(storage.get("a").as_deref(), Some("1"));
        storage.remove("a");
        assert_eq!(storage.get("a"), None);
    }
}
