//! Sleeping: code must wait for the event itself where it can, and not for time to pass.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Folders whose programs may sleep, and why.
const SLEEPERS: &[(&str, &str)] = &[("crates/testkit/", "its programs imitate children that sleep")];

/// Crates where a timer may be an arm of a `select!`, if a comment beginning `// timer:` gives the reason.
const TIMER_ROOMS: &[&str] = &["engine", "server", "agent", "proxy"];

const MARK: &str = "// timer:";

/// Finds sleeps that no comment explains.
pub(crate) fn are_explained(source: &Source<'_>) -> Vec<Finding> {
    if SLEEPERS.iter().any(|(folder, _)| source.file.path.starts_with(folder)) {
        return Vec::new();
    }
    let sleeps = (0..source.tokens.len()).filter(|&position| is_sleep(source, position));
    let lines = sleeps.map(|position| source.tokens[position].line);
    lines.filter(|&line| !is_explained(source, line)).map(|line| finding(source, line)).collect()
}

/// A sleep by its path, or called by its bare name; not a method or function that happens to be called so.
fn is_sleep(source: &Source<'_>, position: usize) -> bool {
    let names = ["sleep", "sleep_until", "sleep_ms", "nanosleep", "clock_nanosleep", "usleep"];
    if !names.contains(&source.near(position, 0)) {
        return false;
    }
    match source.near(position, -1) {
        "::" => ["thread", "time", "libc"].contains(&source.near(position, -2)),
        "." | "fn" => false,
        _ => source.near(position, 1) == "(",
    }
}

/// Whether the line or one of the two before it carries the mark.
fn is_explained(source: &Source<'_>, line: usize) -> bool {
    let nearby = source.file.text.lines().take(line).skip(line.saturating_sub(3));
    TIMER_ROOMS.contains(&source.file.room()) && nearby.into_iter().any(|text| text.contains(MARK))
}

fn finding(source: &Source<'_>, line: usize) -> Finding {
    let advice = if TIMER_ROOMS.contains(&source.file.room()) {
        "wait for the event itself; a timer inside select! gets a `// timer: why` comment"
    } else {
        "wait for the event itself: an exit, a printed marker, a level that changed"
    };
    Finding::fault("sleep", (&source.file.path, line), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_source;

    fn check(path: &str, text: &str, expected: &[&str]) {
        check_source(are_explained, (path, text), expected);
    }

    #[test]
    fn sleeping_is_found_however_it_is_spelled() {
        let here = ["crates/sys/src/a.rs:1: sleep"];
        check("crates/sys/src/a.rs", "fn f() { std::thread::sleep(x); }", &here);
        check("crates/sys/src/a.rs", "use std::thread::sleep;", &here);
        check("crates/sys/src/a.rs", "use tokio::time::{Duration, sleep}; fn f() { sleep(x) }", &here);
        check("crates/sys/src/a.rs", "fn f() { rustix::thread::nanosleep(x); }", &here);
        check("crates/sys/src/a.rs", "fn f() { tokio::time::sleep_until(x); }", &here);
    }

    #[test]
    fn other_things_of_that_name_are_not_sleeps() {
        check(
            "crates/sys/src/a.rs",
            "fn sleep(x: u8) {} fn f() { child.sleep(1); programs::sleep(1); }",
            &[],
        );
        check("crates/sys/src/a.rs", "// thread::sleep(x)\nconst A: &str = \"sleep(1)\";", &[]);
    }

    #[test]
    fn an_explained_timer_is_fine_in_the_engine_only() {
        let same_line = "tokio::time::sleep_until(deadline) // timer: the caller's deadline";
        let above = "// timer: grace before KILL\nselect! {\n    () = sleep(grace) => {}\n}";
        let too_far = "// timer: too far away\n\n\nsleep(grace);";
        check("crates/engine/src/a.rs", same_line, &[]);
        check("crates/engine/src/a.rs", above, &[]);
        check("crates/engine/src/a.rs", too_far, &["crates/engine/src/a.rs:4: sleep"]);
        check("crates/sys/src/a.rs", same_line, &["crates/sys/src/a.rs:1: sleep"]);
    }

    #[test]
    fn programs_that_imitate_sleeping_children_may_sleep() {
        check("crates/testkit/src/bin/nap.rs", "fn main() { std::thread::sleep(x) }", &[]);
    }
}
