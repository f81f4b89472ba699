//! Rules with patterns become rulings over the places that fit them now. What fits only later is not covered.

use super::{PlanError, Ruling, Rulings, Surroundings};
use crate::files::{Files, Kind};
use crate::pattern::Step;
use crate::policy::{Access, Confined};
use crate::protect::Unborn;
use crate::way::Way;
use std::path::{Path, PathBuf};

/// More than any tree that is walked in a moment.
const MOST_FILES: usize = 200_000;

/// Adds rulings for what is there, and returns what must neither come nor go.
pub(super) fn add_rules(
    confined: &Confined,
    surroundings: &Surroundings,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Result<Vec<Unborn>, PlanError> {
    let (mut unborn, mut found) = (Vec::new(), Vec::new());
    for rule in &confined.rules {
        if rule.place.needs_home() && surroundings.home.is_none() || rule.place.is_of_another_home() {
            return Err(PlanError::NoHome { pattern: rule.place.text().to_owned() });
        }
        let (start, steps) = rule.place.split(&surroundings.workspace, surroundings.home.as_deref());
        let origin = format!("{} {}", name(rule.access), rule.place.text());
        let way = Way::of(&start, files);
        if steps.is_empty() && rule.access == Access::Write && !way.leads_somewhere() {
            // That it should be writable is a mistake of whoever wrote the policy.
            return Err(PlanError::NoSuchPlace { path: start });
        }
        let ways = match (steps.is_empty(), way.leads_somewhere()) {
            (true, _) => vec![way],
            (false, true) => {
                // Links are not followed below, but what was named may be one.
                unborn.extend(way.kept(&origin));
                let mut search = Search { files, left: MOST_FILES, found: Vec::new() };
                if search.walk(&way.end, &steps).is_err() {
                    let pattern = rule.place.text().to_owned();
                    return Err(PlanError::TooManyFiles { pattern, limit: MOST_FILES });
                }
                search.found.iter().map(|path| Way::of(path, files)).collect()
            }
            // A pattern covers what is there.
            (false, false) => Vec::new(),
        };
        for way in ways {
            // What is to be writable, and leads nowhere, is left alone.
            if rule.access == Access::Write && !way.leads_somewhere() {
                continue;
            }
            if !steps.is_empty() && rule.access != Access::Deny && way.is_led(|_| true) {
                found.push((way, Ruling::new("", rule.access, origin.clone())));
                continue;
            }
            unborn.extend(way.kept(&origin));
            // What is not there cannot be read, and is not made.
            if way.leads_somewhere() {
                rulings.push(Ruling::new(way.end, rule.access, origin.clone()));
            }
        }
    }
    for (way, ruling) in found {
        add_found(way, ruling, rulings, &mut unborn);
    }
    Ok(unborn)
}

/// A link that fits a pattern. Whoever works here can make such links, and they must open nothing: they make nothing writable,
/// and nothing readable for being kept from writing. So it must be known by now what else was ruled.
fn add_found(way: Way, ruling: Ruling, rulings: &mut Rulings, unborn: &mut Vec<Unborn>) {
    let is_anybodys = way.is_led(|directory| is_writable(rulings, directory));
    if is_anybodys && ruling.access == Access::Write {
        return;
    }
    unborn.extend(way.kept(&ruling.origin));
    if way.leads_somewhere() && (!is_anybodys || is_writable(rulings, &way.end)) {
        rulings.push(Ruling { path: way.end, ..ruling });
    }
}

fn is_writable(rulings: &Rulings, path: &Path) -> bool {
    rulings.access_at(path) == Some(Access::Write)
}

pub(super) fn name(access: Access) -> &'static str {
    match access {
        Access::Deny => "deny",
        Access::Read => "read",
        Access::Write => "write",
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
            self.found.extend(self.files.kind(at).map(|_| at.to_owned()));
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
