//! Keeps the newest of the matching files: however many match, no more are kept than can be shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::SystemTime;

/// A matching file. A newer one compares greater; of two with the same age, the one whose path comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub(super) modified: SystemTime,
    order: Reverse<PathBuf>,
    /// Its real path.
    pub(super) path: PathBuf,
}

impl Hit {
    pub(super) fn new(modified: SystemTime, path: PathBuf) -> Self {
        Self { modified, order: Reverse(path.clone()), path }
    }
}

/// The newest files so far.
#[derive(Debug)]
pub(super) struct Newest {
    kept: BinaryHeap<Reverse<Hit>>,
    most: usize,
}

impl Newest {
    pub(super) fn new(most: u64) -> Self {
        Self { kept: BinaryHeap::new(), most: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    pub(super) fn push(&mut self, hit: Hit) {
        self.kept.push(Reverse(hit));
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The files, newest first.
    pub(super) fn into_list(self) -> Vec<Hit> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_are_kept_and_come_first() {
        let mut newest = Newest::new(3);
        for (age, path) in [(5, "e"), (1, "b"), (9, "i"), (1, "a"), (2, "c")] {
            newest
                .push(Hit::new(SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age), PathBuf::from(path)));
        }
        let paths: Vec<_> = newest.into_list().into_iter().map(|hit| hit.path).collect();
        assert_eq!(paths, ["a", "b", "c"].map(PathBuf::from));
    }
}
