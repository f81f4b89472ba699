//! The names under which models know tools: short, made of characters that every provider accepts, and unique.
//!
//! As far as possible a name depends on its own tool alone, so that tools of other servers do not rename it.

use std::collections::HashSet;

/// The longest name that all providers accept.
const LONGEST: usize = 64;

/// How many digits distinguish names that would be equal.
const DIGITS: usize = 8;

/// The full names of tools, given as pairs of server and tool, in the same order.
pub(crate) fn full_names(tools: &[(&str, &str)]) -> Vec<String> {
    let plain: Vec<Plain> = tools.iter().map(|(server, tool)| Plain::of(server, tool)).collect();
    let mut taken = HashSet::new();
    let mut names = vec![String::new(); tools.len()];
    // Names that need no change are assigned first, so that no changed name can take them.
    for (name, plain) in names.iter_mut().zip(&plain).filter(|(_, plain)| plain.exact) {
        if taken.insert(plain.name.clone()) {
            name.clone_from(&plain.name);
        }
    }
    let count = |wanted: &str| plain.iter().filter(|other| other.name == wanted).count();
    for (index, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
        let Plain { name: wanted, cut, .. } = &plain[index];
        let is_alone = !cut && count(wanted) == 1 && !taken.contains(wanted);
        *name = if is_alone { wanted.clone() } else { numbered(wanted, tools[index], &taken) };
        taken.insert(name.clone());
    }
    names
}

/// The name that a tool gets if it does not collide with another one.
struct Plain {
    name: String,
    /// Whether nothing was changed.
    exact: bool,
    /// Whether the name was shortened.
    cut: bool,
}

impl Plain {
    fn of(server: &str, tool: &str) -> Self {
        let wanted = format!("mcp__{server}__{tool}");
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mut name: String = wanted.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        let cut = name.len() > LONGEST;
        name.truncate(LONGEST);
        Self { exact: name == wanted, name, cut }
    }
}

/// The name with a number that is derived from the tool's real name.
fn numbered(wanted: &str, (server, tool): (&str, &str), taken: &HashSet<String>) -> String {
    let start = &wanted[..wanted.len().min(LONGEST - DIGITS - 1)];
    let mut number = fingerprint(&format!("{server}\0{tool}"));
    loop {
        let name = format!("{start}_{number:08x}");
        if !taken.contains(&name) {
            return name;
        }
        number = number.wrapping_add(1);
    }
}

/// FNV-1a, folded to 32 bits: the same in every run and every version.
fn fingerprint(text: &str) -> u32 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    #[expect(clippy::cast_possible_truncation, reason = "folding is meant")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(tools: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(full_names(tools), expected, "{tools:?}");
    }

    #[test]
    fn names_say_server_and_tool() {
        check(&[("git", "log"), ("web", "fetch")], &["mcp__git__log", "mcp__web__fetch"]);
        check(&[("my server", "read.file")], &["mcp__my_server__read_file"]);
        check(&[("größe", "☃")], &["mcp__gr__e___"]);
    }

    #[test]
    fn names_that_would_be_the_same_are_told_apart() {
        check(
            &[("a", "b.c"), ("a", "b_c"), ("a", "b/c")],
            &["mcp__a__b_c_bb3f2dc9", "mcp__a__b_c", "mcp__a__b_c_bb3a4c50"],
        );
        check(&[("a__b", "c"), ("a", "b__c")], &["mcp__a__b__c", "mcp__a__b__c_bbeb6ab7"]);
    }

    #[test]
    fn a_long_name_is_cut_and_still_its_own() {
        let long = "x".repeat(100);
        let longer = format!("{long}y");
        let names = full_names(&[("s", &long), ("s", &longer)]);
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == LONGEST), "{names:?}");
        assert_eq!(names[0], full_names(&[("s", &long)])[0], "it does not depend on the others");
    }

    proptest! {
        #[test]
        fn every_name_can_be_used_and_is_given_once(
            tools in proptest::collection::vec(("[a-c._é]{0,3}", "([a-c._/]{0,3}|x{60,70})"), 0..12)
        ) {
            let tools: HashSet<_> = tools.into_iter().collect();
            let tools: Vec<_> = tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
            let names = full_names(&tools);
            let distinct: HashSet<_> = names.iter().collect();
            prop_assert_eq!(distinct.len(), tools.len());
            for name in &names {
                prop_assert!(name.starts_with("mcp__") && name.len() <= LONGEST);
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
            }
        }
    }
}
