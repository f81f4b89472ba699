//! For any two texts, the patch from one to the other produces the other exactly.

use proptest::prelude::*;
use windlass_patch::fuzzing::apply_to_text;

/// One line of a comparison of two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edit<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

/// Compares line by line, by the longest common subsequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Edit<'a>> {
    let mut lengths = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            lengths[i][j] =
                if a == b { lengths[i + 1][j + 1] + 1 } else { lengths[i + 1][j].max(lengths[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut edits) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push(Edit::Keep(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && lengths[i + 1][j] >= lengths[i][j + 1]) {
            edits.push(Edit::Remove(old[i]));
            i += 1;
        } else {
            edits.push(Edit::Add(new[j]));
            j += 1;
        }
    }
    edits
}

/// Chunks with this much context around each change, each with a unified diff's header, as `diff` writes them.
fn unified_chunks(edits: &[Edit<'_>], context: usize) -> String {
    let near = |at: usize| {
        let around = &edits[at.saturating_sub(context)..(at + context + 1).min(edits.len())];
        around.iter().any(|edit| !matches!(edit, Edit::Keep(_)))
    };
    let (mut text, mut line, mut inside) = (String::new(), 0, false);
    for (at, edit) in edits.iter().enumerate() {
        if near(at) && !inside {
            text.push_str(&format!(
                "@@ -{},{} +1,1 @@\n",
                first_line(&edits[at..], line),
                count_old(&edits[at..], context)
            ));
        }
        inside = near(at);
        if inside {
            text.push_str(&prefixed(edit));
        }
        line += usize::from(!matches!(edit, Edit::Add(_)));
    }
    text
}

/// A unified diff gives the line before a chunk that covers none.
fn first_line(edits: &[Edit<'_>], line: usize) -> usize {
    line + usize::from(count_old(edits, 0) > 0 || matches!(edits[0], Edit::Keep(_)))
}

/// Whether a chunk covers lines of the old text; the parser ignores how many.
fn count_old(edits: &[Edit<'_>], context: usize) -> usize {
    let run = edits.iter().take_while(|edit| context > 0 || !matches!(edit, Edit::Keep(_)));
    run.filter(|edit| !matches!(edit, Edit::Add(_))).count()
}

fn prefixed(edit: &Edit<'_>) -> String {
    match edit {
        Edit::Keep(line) => format!(" {line}\n"),
        Edit::Remove(line) => format!("-{line}\n"),
        Edit::Add(line) => format!("+{line}\n"),
    }
}

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn apply(old: &[&str], chunks: &str) -> Result<String, String> {
    apply_to_text(&format!("*** Begin Patch\n*** Update File: a\n{chunks}*** End Patch"), &text(old))
}

fn lines() -> impl Strategy<Value = Vec<&'static str>> {
    let few =
        prop::sample::select(&["a", "b", "c", "", "  a", "@@ a", "+a", "-a", "*** End Patch", "é”"][..]);
    prop::collection::vec(few, 0..14)
}

/// A text of numbered lines with these endings, some of which are changed.
fn with_endings(endings: &[&str], is_changed: impl Fn(usize) -> bool) -> String {
    let line = |(at, ending): (usize, &&str)| {
        let word = if is_changed(at) { "changed" } else { "line" };
        format!("{word} {at}{ending}")
    };
    endings.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(600), ..Default::default() })]

    #[test]
    fn one_chunk_over_the_whole_file_leads_from_any_text_to_any_other(old in lines(), new in lines()) {
        let edits = compare(&old, &new);
        if edits.is_empty() {
            return Ok(());
        }
        let chunk: String = edits.iter().map(prefixed).collect();
        prop_assert_eq!(apply(&old, &format!("@@\n{chunk}")), Ok(text(&new)));
    }

    #[test]
    fn a_unified_diff_leads_from_any_text_to_any_other(old in lines(), new in lines(), context in 0usize..4) {
        let edits = compare(&old, &new);
        if !edits.iter().any(|edit| !matches!(edit, Edit::Keep(_))) {
            return Ok(());
        }
        prop_assert_eq!(apply(&old, &unified_chunks(&edits, context)), Ok(text(&new)));
    }

    #[test]
    fn chunks_of_distinct_lines_lead_there_without_numbers(
        old in prop::collection::vec(any::<u16>(), 1..20),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..6),
    ) {
        let old: Vec<String> = old.iter().enumerate().map(|(at, salt)| format!("{at} {salt}")).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let mut new: Vec<&str> = old.clone();
        for (pick, remove) in picks {
            let at = pick.index(new.len());
            if remove && new.len() > 1 { _ = new.remove(at) } else { new.insert(at, "added") }
        }
        let edits = compare(&old, &new);
        if !edits.iter().any(|edit| !matches!(edit, Edit::Keep(_))) {
            return Ok(());
        }
        let chunks = unified_chunks(&edits, 1);
        let chunks: String = chunks
            .lines()
            .map(|line| if line.starts_with("@@") { "@@\n".to_owned() } else { format!("{line}\n") })
            .collect();
        prop_assert_eq!(apply(&old, &chunks), Ok(text(&new)));
    }

    #[test]
    fn a_line_that_is_exchanged_for_another_keeps_its_ending_and_so_do_all_others(
        others in prop::collection::vec(prop::sample::select(&["\n", "\r\n", "\r"][..]), 0..11),
        last in prop::sample::select(&["\n", "\r\n"][..]),
        from in any::<prop::sample::Index>(),
        count in 1usize..4,
        context in 0usize..3,
        is_written_with_crlf in any::<bool>(),
    ) {
        let endings: Vec<&str> = others.into_iter().chain([last]).collect();
        let from = from.index(endings.len());
        let to = (from + count).min(endings.len());
        let near = from.saturating_sub(context)..(to + context).min(endings.len());
        let line = |sign: char, word: &str, at: usize| format!("{sign}{word} {at}\n");
        let before: String = (near.start..from).map(|at| line(' ', "line", at)).collect();
        let removed: String = (from..to).map(|at| line('-', "line", at)).collect();
        let added: String = (from..to).map(|at| line('+', "changed", at)).collect();
        let after: String = (to..near.end).map(|at| line(' ', "line", at)).collect();
        let patch = format!(
            "*** Begin Patch\n*** Update File: a\n@@\n{before}{removed}{added}{after}*** End Patch"
        );
        let patch = if is_written_with_crlf { patch.replace('\n', "\r\n") } else { patch };
        let old = with_endings(&endings, |_| false);
        prop_assert_eq!(apply_to_text(&patch, &old), Ok(with_endings(&endings, |at| (from..to).contains(&at))));
    }
}
