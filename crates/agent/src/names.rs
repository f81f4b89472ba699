//! Nicknames of sub-agents: short names that a person can tell apart at a glance.

use std::collections::BTreeSet;

const NAMES: [&str; 72] = [
    "Alder", "Amber", "Anchor", "Aspen", "Basil", "Beacon", "Birch", "Bosun", "Briar", "Brook", "Cable",
    "Cairn", "Canvas", "Cedar", "Clover", "Cobalt", "Compass", "Coral", "Cove", "Crane", "Delta", "Drift",
    "Ember", "Fathom", "Fern", "Fjord", "Flint", "Gale", "Garnet", "Halyard", "Harbour", "Hazel", "Helm",
    "Heron", "Indigo", "Iris", "Ivory", "Jasper", "Juniper", "Kelp", "Kestrel", "Keel", "Lantern", "Larch",
    "Linden", "Lodestar", "Maple", "Marlin", "Mistral", "Moss", "Nimbus", "Oakum", "Onyx", "Osprey",
    "Pebble", "Petrel", "Pine", "Plover", "Quartz", "Quill", "Raven", "Reef", "Rowan", "Sable", "Sextant",
    "Slate", "Spruce", "Tern", "Thistle", "Tiller", "Willow", "Yarrow",
];

/// A name that is not taken: a preferred one if possible, and one with a number when all are taken.
pub(crate) fn nickname(taken: &BTreeSet<String>, wished: &[String]) -> String {
    let pool: Vec<&str> =
        if wished.is_empty() { NAMES.to_vec() } else { wished.iter().map(String::as_str).collect() };
    for round in 1.. {
        let free = pool.iter().map(|name| numbered(name, round)).find(|name| !taken.contains(name));
        if let Some(name) = free {
            return name;
        }
    }
    unreachable!("there are endlessly many rounds")
}

fn numbered(name: &str, round: usize) -> String {
    match round {
        1 => name.to_owned(),
        2 => format!("{name} the 2nd"),
        3 => format!("{name} the 3rd"),
        _ => format!("{name} the {round}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_in_turn_and_numbered_when_they_run_out() {
        let wished = ["Ann".to_owned(), "Bob".to_owned()];
        let mut taken = BTreeSet::new();
        for expected in ["Ann", "Bob", "Ann the 2nd", "Bob the 2nd", "Ann the 3rd"] {
            let name = nickname(&taken, &wished);
            assert_eq!(name, expected);
            taken.insert(name);
        }
        let all: BTreeSet<&str> = NAMES.into_iter().collect();
        assert_eq!(all.len(), NAMES.len());
    }
}
