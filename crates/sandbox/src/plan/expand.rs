//! Rules with patterns become rulings over the places that fit them now. What fits only later is not covered.

use super::{PlanError, Ruling, Surroundings};
use crate::files::{Files, Kind};
use crate::pattern::Step;
use crate::policy::{Access, Confined, Rule};
use crate::protect::{Unborn, unborn_at};
use std::path::{Path, PathBuf};

/// More than any tree that is walked in a moment.
const MOST_FILES: usize = 200_000;

pub(super) fn add_rules(
    confined: &Confined,
    surroundings: &Surroundings,
    files: &dyn Files,
    rulings: &mut Vec<Ruling>,
) -> Result<Vec<Unborn>, PlanError> {
    let mut unborn = Vec::new();
    for rule in &confined.rules {
        if rule.place.needs_home() && surroundings.home.is_none() || rule.place.is_of_another_home() {
            return Err(PlanError::NoHome { pattern: rule.place.text().to_owned() });
        }
        let (start, steps) = rule.place.split(&surroundings.workspace, surroundings.home.as_deref());
        let origin = format!("{} {}", name(rule.access), rule.place.text());
        if steps.is_empty() {
            match plain(rule, start, &origin, files)? {
                Place::There(ruling) => rulings.push(ruling),
                Place::Missing(missing) => unborn.extend(missing),
            }
            continue;
        }
        // Links are not followed on the way, but what was named may be one.
        let start = files.real(&start).unwrap_or(start);
        let mut search = Search { files, left: MOST_FILES, found: Vec::new() };
        if search.walk(&start, &steps).is_err() {
            return Err(PlanError::TooManyFiles { pattern: rule.place.text().to_owned(), limit: MOST_FILES });
        }
        rulings.extend(search.found.into_iter().map(|path| Ruling::new(path, rule.access, origin.clone())));
    }
    // Elsewhere nothing comes into being anyway.
    unborn.retain(|unborn| {
        super::most_specific(rulings, &unborn.directory).is_some_and(|ruling| ruling.access == Access::Write)
    });
    Ok(unborn)
}

pub(super) fn name(access: Access) -> &'static str {
    match access {
        Access::Deny => "deny",
        Access::Read => "read",
        Access::Write => "write",
    }
}

/// One path, as it was found.
enum Place {
    /// What holds for it.
    There(Ruling),
    /// What must not come into being, so that it stays away.
    Missing(Option<Unborn>),
}

fn plain(rule: &Rule, path: PathBuf, origin: &str, files: &dyn Files) -> Result<Place, PlanError> {
    match (files.real(&path), rule.access) {
        (Some(real), access) => Ok(Place::There(Ruling::new(real, access, origin))),
        // What is not there cannot be read, and must not be made; that it should be writable is a mistake of whoever wrote the
        // policy.
        (None, Access::Deny | Access::Read) => Ok(Place::Missing(unborn_at(&path, origin, files))),
        (None, Access::Write) => Err(PlanError::NoSuchPlace { path }),
    }
}

struct Search<'a> {
    files: &'a dyn Files,
    left: usize,
    found: Vec<PathBuf>,
}

/// The search was given up.
struct TooMany;

impl Search<'_> {
    /// Everything below `at` that fits the steps. Links are found, but not followed.
    fn walk(&mut self, at: &Path, steps: &[Step]) -> Result<(), TooMany> {
        let Some((step, rest)) = steps.split_first() else {
            self.found.extend(self.files.real(at));
            return Ok(());
        };
        if *step == Step::AnyDepth {
            self.walk(at, rest)?;
        }
        if self.files.kind(at) != Some(Kind::Directory) {
            return Ok(());
        }
        for name in self.files.names(at) {
            self.left = self.left.checked_sub(1).ok_or(TooMany)?;
            let path = at.join(&name);
            if *step != Step::AnyDepth {
                if step.fits(&name) {
                    self.walk(&path, rest)?;
                }
            } else if self.files.kind(&path) == Some(Kind::Directory) {
                self.walk(&path, steps)?;
            }
        }
        Ok(())
    }
}
