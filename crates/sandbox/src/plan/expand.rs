//! Expands rules with patterns to rulings over the places that fit them now. A place that fits only later is not
//! covered.

use super::{PlanError, PolicyContext, Ruling, Rulings};
use crate::files::{Files, Kind};
use crate::followed_path::FollowedPath;
use crate::pattern::PatternStep;
use crate::policy::{Access, Confined, Rule};
use crate::protect::{self, MustNotExist};
use std::path::{Path, PathBuf};

/// More files than any tree has that can be walked in a moment.
const MOST_FILES: usize = 200_000;

/// The results of rules beside rulings.
#[derive(Default)]
pub(super) struct Ruled {
    /// Paths that commands must neither create nor remove.
    pub(super) must_not_exist: Vec<MustNotExist>,
    /// Rules that have no effect, in sentences.
    pub(super) remarks: Vec<String>,
}

/// Adds rulings for the places that exist now.
pub(super) fn add_rules(
    confined: &Confined,
    context: &PolicyContext,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Result<Ruled, PlanError> {
    let mut expansion = Expansion { context, files, rulings, ruled: Ruled::default(), linked: Vec::new() };
    for rule in &confined.rules {
        expansion.add(rule)?;
    }
    let Expansion { rulings, mut ruled, linked, .. } = expansion;
    for place in linked {
        ruled.remarks.extend(place.add(rulings, &mut ruled.must_not_exist));
    }
    Ok(ruled)
}

/// The expansion of all rules of a policy. Places behind links wait until the other rules are expanded.
struct Expansion<'a> {
    context: &'a PolicyContext,
    files: &'a dyn Files,
    rulings: &'a mut Rulings,
    ruled: Ruled,
    linked: Vec<LinkedPlace>,
}

impl Expansion<'_> {
    fn add(&mut self, rule: &Rule) -> Result<(), PlanError> {
        let home = self.context.home.as_deref();
        if rule.place.needs_home() && home.is_none() || rule.place.is_of_another_home() {
            return Err(PlanError::NoHome { pattern: rule.place.text().to_owned() });
        }
        let split = rule.place.split(&self.context.workspace, home);
        let (start, steps) = split.map_err(|reason| PlanError::BadPattern {
            pattern: rule.place.text().chars().take(100).collect(),
            reason,
        })?;
        let origin = format!("{} {}", name(rule.access), rule.place.text());
        let way = FollowedPath::of(&start, self.files);
        if let Some(missing) = way.missing().filter(|_| steps.is_empty() && rule.access == Access::Write) {
            self.add_missing(rule, &way, (missing, &start), origin);
            return Ok(());
        }
        if rule.place.resolved_links().is_some() && !way.links().is_empty() {
            self.ruled.must_not_exist.extend(way.kept(&origin));
            self.ruled.remarks.push(format!(
                "`{}` has been replaced by a link, so the rule about it has no effect; remove the link",
                rule.place.text()
            ));
            return Ok(());
        }
        let ways = self.matches(rule, way, &steps, &origin)?;
        if ways.is_empty() && rule.access == Access::Write {
            let remark = format!("`{}` was to be writable, but nothing matches it", rule.place.text());
            self.ruled.remarks.push(remark);
        }
        if rule.access == Access::Deny && !ways.iter().any(FollowedPath::leads_somewhere) {
            let path = steps.is_empty().then_some(start.as_path());
            self.ruled.remarks.push(denies_nothing(rule.place.text(), path));
        }
        let may_open = rule.access == Access::Write || !steps.is_empty() && rule.access == Access::Read;
        for way in ways {
            self.add_place(rule, way, may_open, &origin);
        }
        Ok(())
    }

    /// A place that is to be writable and does not exist.
    fn add_missing(
        &mut self,
        rule: &Rule,
        way: &FollowedPath,
        (missing, start): (PathBuf, &Path),
        origin: String,
    ) {
        // Where a command can make it, it must not come as a link, nor bring protected names with it.
        self.ruled.must_not_exist.extend(protect::not_yet(&missing, &way.end));
        if is_writable(self.rulings, &way.end) && missing.parent() == Some(&*way.end) {
            // A command makes it, also under a name that is protected otherwise.
            self.rulings.push(Ruling::new(missing, rule.access, origin));
            return;
        }
        self.ruled.remarks.push(format!(
            "`{}` was to be writable, but there is no {}; make the directory first",
            rule.place.text(),
            start.display()
        ));
    }

    /// The places that a rule names. A pattern covers those that exist.
    fn matches(
        &mut self,
        rule: &Rule,
        way: FollowedPath,
        steps: &[PatternStep],
        origin: &str,
    ) -> Result<Vec<FollowedPath>, PlanError> {
        if steps.is_empty() {
            return Ok(vec![way]);
        }
        if !way.leads_somewhere() {
            return Ok(Vec::new());
        }
        // Links are not followed below, but what was named may be one.
        self.ruled.must_not_exist.extend(way.kept(origin));
        let mut search = Search { files: self.files, left: MOST_FILES, found: Vec::new() };
        if search.walk(&way.end, steps).is_err() {
            return Err(PlanError::TooManyFiles { pattern: rule.place.text().to_owned(), limit: MOST_FILES });
        }
        Ok(search.found.iter().map(|path| FollowedPath::of(path, self.files)).collect())
    }

    fn add_place(&mut self, rule: &Rule, way: FollowedPath, may_open: bool, origin: &str) {
        // A place that is to be writable and leads nowhere is left alone.
        if rule.access == Access::Write && !way.leads_somewhere() {
            return;
        }
        let links = rule.place.resolved_links().unwrap_or(way.links()).to_vec();
        if may_open && !links.is_empty() {
            self.linked.push(LinkedPlace {
                way,
                links,
                ruling: Ruling::new("", rule.access, origin.to_owned()),
            });
            return;
        }
        self.ruled.must_not_exist.extend(way.kept(origin));
        // A place that does not exist cannot be read, and is not made.
        if way.leads_somewhere() {
            self.rulings.push(Ruling::new(way.end, rule.access, origin));
        }
    }
}

/// The remark for a rule that hides nothing, which may be a mistake. It is no error, because the file may also be
/// created later.
fn denies_nothing(rule: &str, path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("`{rule}` was to be hidden, but there is no {}", path.display()),
        None => format!(
            "`{rule}` was to be hidden, but nothing matches it; what comes later is hidden from later commands"
        ),
    }
}

/// A place behind links. Commands can make links in their writable places, and such links must open nothing: they make
/// no place writable, and protection from writing makes no place readable. So these places are added last, when all
/// other rulings are known.
struct LinkedPlace {
    way: FollowedPath,
    links: Vec<PathBuf>,
    ruling: Ruling,
}

impl LinkedPlace {
    /// Returns the reason why the rule has no effect, where the user named the place.
    fn add(self, rulings: &mut Rulings, must_not_exist: &mut Vec<MustNotExist>) -> Option<String> {
        let Self { way, links, ruling } = self;
        let above = links.iter().filter_map(|link| Some((link, link.parent()?)));
        let by_commands = above.clone().any(|(_, directory)| is_writable(rulings, directory));
        if by_commands && ruling.access == Access::Write && !is_writable(rulings, &way.end) {
            return Some(format!(
                "`{}` leads through a link that commands can make, so it makes nothing writable; name {} instead",
                ruling.origin,
                way.end.display()
            ));
        }
        must_not_exist.extend(way.kept(&ruling.origin));
        must_not_exist.extend(above.map(|(link, directory)| MustNotExist {
            path: link.clone(),
            directory: directory.to_owned(),
            origin: ruling.origin.clone(),
        }));
        if way.leads_somewhere() && (!by_commands || is_writable(rulings, &way.end)) {
            rulings.push(Ruling { path: way.end, ..ruling });
        }
        None
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
    fn walk(&mut self, at: &Path, steps: &[PatternStep]) -> Result<(), TooMany> {
        let Some((step, rest)) = steps.split_first() else {
            self.found.extend(self.files.kind(at).map(|_| at.to_owned()));
            return Ok(());
        };
        let is_any_depth = matches!(step, PatternStep::AnyDepth);
        if is_any_depth {
            self.walk(at, rest)?;
        }
        if self.files.kind(at) != Some(Kind::Directory) {
            return Ok(());
        }
        for name in self.files.names(at) {
            self.left = self.left.checked_sub(1).ok_or(TooMany)?;
            let path = at.join(&name);
            if !is_any_depth {
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
