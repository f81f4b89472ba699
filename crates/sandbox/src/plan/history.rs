//! What earlier plans of a runtime made writable. A command can put a link there, and a later caller may name a path through the link as
//! a place to write in: the plan would then open the directory that the command chose.

use super::{Plan, PlanError, PolicyContext};
use crate::files::{Files, Kind};
use crate::followed_path::FollowedPath;
use crate::policy::{Access, Base, Confined, Rule};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The plans of one runtime, as far as they say where commands can put links.
#[derive(Debug, Default)]
pub(crate) struct PlanHistory {
    plans: HashSet<PlannedPlaces>,
    /// Paths through links, with the places that they led to before any command of this runtime could change the links.
    trusted: HashMap<PathBuf, PathBuf>,
}

/// Without links.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PlannedPlaces {
    writable: BTreeSet<PathBuf>,
    /// Places that rules of the policy keep from being written.
    closed: BTreeSet<PathBuf>,
}

impl PlanHistory {
    /// Refuses a plan that makes a place writable through a link of a command, and remembers every other one.
    pub(crate) fn admit(
        &mut self,
        plan: &Plan,
        (confined, context): (&Confined, &PolicyContext),
        files: &dyn Files,
    ) -> Result<(), PlanError> {
        let asked = requested_places(confined, context).into_iter();
        let asked = asked.map(|path| (FollowedPath::of(&path, files), path));
        let asked: Vec<_> = asked.filter(|(way, _)| way.leads_somewhere()).collect();
        let (suspect, trusted): (Vec<_>, Vec<_>) = asked
            .into_iter()
            .map(|(way, path)| (self.link_of_a_command(&path, &way, files), way, path))
            .partition(|(link, ..)| link.is_some());
        for (link, way, path) in suspect {
            let is_open = plan.ruling_at(&way.end).is_some_and(|ruling| ruling.access == Access::Write);
            let is_open_anyway = trusted.iter().any(|(_, other, _)| way.end.starts_with(&other.end));
            if let Some(link) = link.filter(|_| is_open && !is_open_anyway) {
                return Err(PlanError::LinkOfCommand { path, link, end: way.end });
            }
        }
        let linked = trusted.into_iter().filter(|(_, way, _)| !way.links().is_empty());
        self.trusted.extend(linked.map(|(_, way, path)| (path, way.end)));
        self.plans.insert(PlannedPlaces::of(plan, (confined, context), files));
        Ok(())
    }

    /// A link on the way to a place that a command can have put there, where that command could not write to the place itself.
    fn link_of_a_command(&self, path: &Path, way: &FollowedPath, files: &dyn Files) -> Option<PathBuf> {
        if self.trusted.get(path) == Some(&way.end) {
            return None;
        }
        // Directories that the way leaves again with `..` are among them.
        let mut links = way.links().iter().filter(|link| files.kind(link) == Some(Kind::Link));
        let by_command = |link: &&PathBuf| {
            let above = link.parent().unwrap_or(Path::new("/"));
            self.plans.iter().any(|plan| plan.can_write(above) && !plan.can_write(&way.end))
        };
        links.find(by_command).cloned()
    }
}

impl PlannedPlaces {
    fn of(plan: &Plan, (confined, context): (&Confined, &PolicyContext), files: &dyn Files) -> Self {
        let writable = plan.rulings.iter().filter(|ruling| ruling.access == Access::Write && !ruling.pinned);
        let rules = confined.rules.iter().filter(|rule| rule.access != Access::Write);
        let closed = rules.filter_map(|rule| plain_path(rule, context));
        Self {
            writable: writable.map(|ruling| ruling.path.clone()).collect(),
            closed: closed.map(|path| FollowedPath::of(&path, files).end).collect(),
        }
    }

    fn can_write(&self, path: &Path) -> bool {
        let is_below = |places: &BTreeSet<PathBuf>| path.ancestors().any(|above| places.contains(above));
        is_below(&self.writable) && !is_below(&self.closed)
    }
}

/// The places that a policy makes writable, as its caller wrote them.
fn requested_places(confined: &Confined, context: &PolicyContext) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if confined.base == Base::WorkspaceWrite {
        places.push(context.workspace.clone());
        places.extend(confined.temporary.common.then(|| PathBuf::from("/tmp")));
        places.extend(context.temporary.clone().filter(|_| confined.temporary.own));
    }
    let rules = confined.rules.iter().filter(|rule| rule.access == Access::Write);
    places.extend(rules.filter_map(|rule| start_of(rule, context)).map(|(start, _)| start));
    places
}

fn plain_path(rule: &Rule, context: &PolicyContext) -> Option<PathBuf> {
    start_of(rule, context).filter(|(_, is_plain)| *is_plain).map(|(start, _)| start)
}

/// The path that a rule begins with, and whether it is all of the rule.
fn start_of(rule: &Rule, context: &PolicyContext) -> Option<(PathBuf, bool)> {
    let (start, steps) = rule.place.split(&context.workspace, context.home.as_deref()).ok()?;
    Some((start, steps.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::pattern::Pattern;
    use crate::plan::plan;
    use crate::plan::tests::Tree;

    struct Runtime(PlanHistory);

    impl Runtime {
        fn plan(
            &mut self,
            workspace: &str,
            rules: &[(&str, Access)],
            tree: &[&str],
        ) -> Result<(), PlanError> {
            let context = PolicyContext { workspace: workspace.into(), ..PolicyContext::default() };
            let machine =
                Machine { namespaces: Ok(()), landlock: 7, filter: true, supervisor: true, confined: false };
            let mut confined = Confined::new(Base::WorkspaceWrite);
            confined.temporary.common = false;
            let confined = rules
                .iter()
                .fold(confined, |confined, (path, access)| confined.with(Pattern::new(*path), *access));
            let tree = Tree::of(tree);
            let planned = plan(&confined, &context, &machine, &tree)?;
            self.0.admit(&planned, (&confined, &context), &tree)
        }
    }

    use Access::{Read, Write};

    const LINKED: [&str; 4] = ["/w/d -> /o", "/w/sub/", "/o/x/", "/v/"];

    #[test]
    fn a_workspace_or_a_rule_behind_a_link_of_an_earlier_plan_is_refused() {
        for (workspace, rules) in [
            ("/w/d", &[][..]),
            ("/w/d/x", &[]),
            ("/v", &[("/w/d", Write)]),
            ("/v", &[("/w/d/x", Write)]),
            ("/v", &[("/w/sub/../d", Write)]),
        ] {
            let mut runtime = Runtime(PlanHistory::default());
            assert_eq!(runtime.plan("/w", &[], &["/w/d/", "/v/", "/o/"]), Ok(()));
            let refused = runtime.plan(workspace, rules, &LINKED).expect_err("it is behind a link");
            assert!(matches!(&refused, PlanError::LinkOfCommand { .. }), "{refused}");
            let said = refused.to_string();
            assert!(said.contains("through the link /w/d,") && said.contains("name /o"), "{said}");
        }
    }

    #[test]
    fn a_place_that_the_link_was_made_beside_or_that_is_named_itself_is_not_refused() {
        for (workspace, rules, tree) in [
            ("/o", &[][..], &LINKED[..]),
            ("/w/sub", &[], &LINKED),
            ("/w/sub/../sub", &[], &LINKED),
            ("/w/d", &[("/o", Write)], &LINKED),
            ("/w", &[("/w/d", Write)], &LINKED),
            ("/w/e", &[], &["/w/e -> sub", "/w/sub/"]),
            ("/w/d", &[("/o", Read)], &LINKED),
        ] {
            let mut runtime = Runtime(PlanHistory::default());
            assert_eq!(runtime.plan("/w", &[], &["/w/d/", "/o/"]), Ok(()));
            assert_eq!(runtime.plan(workspace, rules, tree), Ok(()), "{workspace} {rules:?}");
        }
    }

    #[test]
    fn a_link_stays_trusted_only_while_it_leads_where_it_led_before_the_first_command() {
        let mut runtime = Runtime(PlanHistory::default());
        assert_eq!(runtime.plan("/w/d", &[], &LINKED), Ok(()));
        assert_eq!(runtime.plan("/w", &[], &LINKED), Ok(()));
        assert_eq!(runtime.plan("/w/d", &[], &LINKED), Ok(()));
        let moved = runtime.plan("/w/d", &[], &["/w/d -> /p", "/o/", "/p/"]);
        assert!(matches!(moved, Err(PlanError::LinkOfCommand { .. })), "{moved:?}");
    }

    #[test]
    fn a_link_to_a_place_that_its_maker_could_not_write_is_refused_also_where_another_command_could() {
        let mut runtime = Runtime(PlanHistory::default());
        let tree = ["/w/d/", "/w/kept/", "/o/"];
        assert_eq!(runtime.plan("/w", &[("/w/kept", Read)], &tree), Ok(()));
        assert_eq!(runtime.plan("/o", &[], &tree), Ok(()));
        for target in ["/o", "/w/kept"] {
            let link = format!("/w/d -> {target}");
            let moved = runtime.plan("/w/d", &[], &[&link, "/w/kept/", "/o/"]);
            assert!(matches!(moved, Err(PlanError::LinkOfCommand { .. })), "{moved:?}");
        }
    }
}
