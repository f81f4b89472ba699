//! Authorities: all that a policy lets a command do, whatever is on the disk. Plans of one policy differ as commands
//! make repositories and links, but the authority of their commands stays the same.
//!
//! A server does for its callers whatever it may do itself. So a command may connect to the unix sockets of commands
//! that may do as much as itself or less, and to no others.

use crate::plan::PolicyContext;
use crate::policy::{Access, Base, Confined, Network};
use std::collections::VecDeque;
use std::path::PathBuf;

/// All that a policy allows in its context, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Places that the policy's base lets a command change.
    writable: Vec<PathBuf>,
    rules: Vec<(PathBuf, Access)>,
    network: Network,
}

impl Authority {
    /// The authority of commands with this policy.
    pub fn of(confined: &Confined, surroundings: &PolicyContext) -> Self {
        let PolicyContext { workspace, temporary, home, .. } = surroundings;
        let mut writable = Vec::new();
        if confined.base == Base::WorkspaceWrite {
            writable.push(workspace.clone());
            writable.extend(confined.temporary.common.then(|| PathBuf::from("/tmp")));
            writable.extend(temporary.clone().filter(|_| confined.temporary.own));
        }
        let absolute = |place: &crate::pattern::Pattern| place.absolute(workspace, home.as_deref());
        let rules = confined.rules.iter().map(|rule| (absolute(&rule.place), rule.access));
        Self { writable, rules: rules.collect(), network: confined.network.clone() }
    }

    /// Whether a command of this authority may do all that one of the other may. Says no where two sets of rules are
    /// hard to compare.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_inside = |place: &PathBuf| self.writable.iter().any(|writable| place.starts_with(writable));
        let common = |one: &Self, two: &Self| -> Vec<(PathBuf, Access)> {
            one.rules.iter().filter(|rule| two.rules.contains(rule)).cloned().collect()
        };
        let only = |one: &Self, two: &Self, access: Access| {
            one.rules.iter().filter(|rule| !two.rules.contains(rule)).all(|(_, it)| *it == access)
        };
        other.writable.iter().all(is_inside)
            && only(self, other, Access::Write)
            && only(other, self, Access::Deny)
            && common(self, other) == common(other, self)
            && reaches(&self.network, &other.network)
    }
}

/// Whether everything of the other network can be reached from this one.
fn reaches(network: &Network, other: &Network) -> bool {
    match (network, other) {
        (Network::On, _) | (_, Network::Off) | (Network::Hosts(_), Network::Loopback) => true,
        (network, other) => network == other,
    }
}

/// The authorities of a runtime's commands, by number.
#[derive(Debug, Default)]
pub(crate) struct Authorities {
    known: VecDeque<(u32, Authority)>,
    next: u32,
}

/// The most authorities that are kept: a client can send as many policies as it likes. Sockets of commands with the
/// oldest policies are then out of reach.
const MOST_KNOWN: usize = 1024;

/// An authority in the form that supervisors receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorityNumbers {
    pub(crate) own: u32,
    /// The authorities that it covers, itself included.
    pub(crate) covered: Vec<u32>,
}

impl Authorities {
    pub(crate) fn numbers_of(&mut self, authority: &Authority) -> AuthorityNumbers {
        let known = self.known.iter().find(|(_, known)| known == authority).map(|(number, _)| *number);
        let own = known.unwrap_or_else(|| self.add(authority.clone()));
        let covered = self.known.iter().filter(|(_, known)| authority.covers(known));
        AuthorityNumbers { own, covered: covered.map(|(number, _)| *number).collect() }
    }

    fn add(&mut self, authority: Authority) -> u32 {
        if self.known.len() >= MOST_KNOWN {
            self.known.pop_front();
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.known.push_back((number, authority));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn authority(workspace: &str, change: impl FnOnce(Confined) -> Confined) -> Authority {
        let surroundings = PolicyContext {
            workspace: workspace.into(),
            home: Some("/h".into()),
            ..PolicyContext::default()
        };
        Authority::of(&change(Confined::new(Base::WorkspaceWrite)), &surroundings)
    }

    fn with(place: &str, access: Access) -> Authority {
        authority("/w", |confined| confined.with(Pattern::new(place), access))
    }

    fn on(network: Network) -> Authority {
        authority("/w", |confined| confined.with_network(network))
    }

    /// The first may do more than the second.
    fn check_wider(wide: &Authority, narrow: &Authority) {
        assert!(wide.covers(narrow), "{wide:?} {narrow:?}");
        assert!(!narrow.covers(wide), "{narrow:?} {wide:?}");
    }

    #[test]
    fn a_policy_covers_itself_and_those_that_allow_less() {
        let plain = authority("/w", |confined| confined);
        assert!(plain.covers(&plain));
        check_wider(&plain, &authority("/w", |confined| Confined { base: Base::ReadOnly, ..confined }));
        check_wider(&plain, &authority("/w/sub", |confined| confined));
        check_wider(&plain, &with("secret", Access::Deny));
        check_wider(&with("/o", Access::Write), &plain);
        check_wider(&on(Network::Loopback), &plain);
        check_wider(&on(Network::Hosts(vec!["a".into()])), &on(Network::Loopback));
        check_wider(&on(Network::On), &on(Network::Hosts(vec!["a".into()])));
    }

    #[test]
    fn policies_that_allow_different_things_do_not_cover_each_other() {
        let hosts = |host: &str| on(Network::Hosts(vec![host.to_owned()]));
        let read_only_part = with("part", Access::Read);
        for (one, two) in [
            (authority("/w", |confined| confined), authority("/v", |confined| confined)),
            (with("/o", Access::Write), with("/p", Access::Write)),
            (with("/o", Access::Write), on(Network::On)),
            (hosts("a"), hosts("b")),
            // A rule that lets something be read may lie in a place that is denied.
            (read_only_part, authority("/w", |confined| confined)),
        ] {
            assert!(!one.covers(&two) && !two.covers(&one), "{one:?} {two:?}");
        }
    }

    #[test]
    fn the_same_place_is_the_same_rule_however_it_is_written() {
        let written =
            |place: &str| authority("/h/w", |confined| confined.with(Pattern::new(place), Access::Deny));
        assert_eq!(written("key"), written("/h/w/key"));
        assert_eq!(written("~/key"), written("/h/key"));
    }

    #[test]
    fn an_authority_keeps_its_number_and_learns_of_narrower_ones() {
        let mut known = Authorities::default();
        let (wide, narrow) = (on(Network::On), on(Network::Off));
        let first = known.numbers_of(&wide);
        let second = known.numbers_of(&narrow);
        assert_eq!(second, AuthorityNumbers { own: second.own, covered: vec![second.own] });
        let again = known.numbers_of(&wide);
        assert_eq!(again, AuthorityNumbers { own: first.own, covered: vec![first.own, second.own] });
    }
}
