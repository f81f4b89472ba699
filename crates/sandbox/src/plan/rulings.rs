//! Rulings while they are collected. Commands make directories that get some, so finding the one over a path must not
//! become slower with their number.

use super::Ruling;
use crate::policy::Access;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The rulings so far, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Rulings {
    all: Vec<Ruling>,
    /// The index of the ruling for each place.
    places: HashMap<PathBuf, usize>,
}

impl Rulings {
    /// Adds a ruling. If several name one place, the last counts.
    pub(crate) fn push(&mut self, ruling: Ruling) {
        match self.places.get(&ruling.path).and_then(|place| self.all.get_mut(*place)) {
            Some(same) => {
                let pinned = same.pinned || ruling.pinned;
                *same = Ruling { pinned, ..ruling };
            }
            None => {
                self.places.insert(ruling.path.clone(), self.all.len());
                self.all.push(ruling);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Removes the rulings that were added for places that had none before.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.all.truncate(length);
        self.places.retain(|_, place| *place < length);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ruling> {
        self.all.iter()
    }

    /// The ruling about exactly this place.
    pub(crate) fn about(&self, path: &Path) -> Option<&Ruling> {
        self.places.get(path).and_then(|place| self.all.get(*place))
    }

    /// The most specific ruling over a path.
    pub(crate) fn over(&self, path: &Path) -> Option<&Ruling> {
        path.ancestors().find_map(|above| self.about(above))
    }

    /// The access to a path.
    pub(crate) fn access_at(&self, path: &Path) -> Option<Access> {
        self.over(path).map(|ruling| ruling.access)
    }

    /// The rulings, from the root of the tree down.
    pub(super) fn in_order(mut self) -> Vec<Ruling> {
        self.all.sort_by_key(|ruling| ruling.path.components().count());
        self.all
    }
}
