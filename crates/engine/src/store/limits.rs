//! Limits as text in records: words and numbers between spaces. Words of a later Windlass are skipped.

use std::time::Duration;

use crate::{Amount, Crossed, Enforced, LimitMechanism, Limits, Peaks, Resource, Scope};

const WALL: &str = "wall";

/// `memory 536870912`, one line for each limit.
pub(super) fn limits_lines(limits: &Limits) -> Vec<String> {
    let wall = limits.wall.map(|wall| format!("{WALL} {}", Amount::from(wall).0));
    let line = |(resource, Amount(limit)): (Resource, Amount)| format!("{} {limit}", resource.name());
    limits.iter().map(line).chain(wall).collect()
}

pub(super) fn limits_from<'a>(lines: impl Iterator<Item = &'a str>) -> Limits {
    let pairs = lines.filter_map(|line| line.split_once(' '));
    let numbers = pairs.filter_map(|(name, number)| Some((name, Amount(number.parse().ok()?))));
    numbers.fold(Limits::default(), |limits, (name, amount)| match name.parse::<Resource>() {
        Ok(resource) => limits.with(resource, Some(amount)),
        Err(_) if name == WALL => Limits { wall: Some(Duration::from(amount)), ..limits },
        Err(_) => limits,
    })
}

/// `memory 1234`, one line for each peak.
pub(super) fn peaks_from<'a>(lines: impl Iterator<Item = &'a str>) -> Peaks {
    let mut peaks = Peaks::default();
    for (name, number) in lines.filter_map(|line| line.split_once(' ')) {
        if let (Ok(resource), Ok(amount)) = (name.parse(), number.parse()) {
            peaks.note(resource, Amount(amount));
        }
    }
    peaks
}

/// `memory session 536870912 cgroup-v1`
pub(super) fn enforced_text(enforced: &Enforced) -> String {
    let Enforced { resource, scope, limit: Amount(limit), means } = enforced;
    format!("{} {} {limit} {}", resource.name(), scope.name(), means.name())
}

pub(super) fn enforced_from(text: &str) -> Option<Enforced> {
    let mut words = text.split(' ');
    let (resource, scope, limit) = first_words(&mut words)?;
    Some(Enforced { resource, scope, limit, means: LimitMechanism::from_name(words.next()?)? })
}

/// `memory session 536870912 536870913 cgroup-v1`: the limit, then the peak.
pub(super) fn crossed_text(crossed: &Crossed) -> String {
    let Crossed { resource, scope, limit: Amount(limit), peak: Amount(peak), means } = crossed;
    format!("{} {} {limit} {peak} {}", resource.name(), scope.name(), means.name())
}

pub(super) fn crossed_from(text: &str) -> Option<Crossed> {
    let mut words = text.split(' ');
    let (resource, scope, limit) = first_words(&mut words)?;
    let peak = Amount(words.next()?.parse().ok()?);
    Some(Crossed { resource, scope, limit, peak, means: LimitMechanism::from_name(words.next()?)? })
}

fn first_words<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(Resource, Scope, Amount)> {
    let resource = words.next()?.parse().ok()?;
    let scope = Scope::from_name(words.next()?)?;
    Some((resource, scope, Amount(words.next()?.parse().ok()?)))
}
