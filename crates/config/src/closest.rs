//! Suggests the known word that a misspelt one probably stands for.

/// Longer words are not compared.
const LONGEST: usize = 60;

/// The known word with the fewest edits, if they are few for its length; else one that begins with the written word, or
/// the other way round.
pub(crate) fn closest<'w>(written: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let written = written.to_lowercase();
    let letters = written.chars().count();
    if letters == 0 || letters > LONGEST {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().map(|word| (distance(&written, word), *word)).min();
    let near = nearest.filter(|(changes, word)| *changes <= tolerance(letters.max(word.chars().count())));
    let begins = || {
        let alike = |word: &&&str| word.starts_with(&written) || written.starts_with(**word);
        known.iter().filter(|word| letters > 3 && word.len() > 3).find(alike).copied()
    };
    near.map(|(_, word)| word).or_else(begins)
}

/// The most edits: one for every third letter, and never more than three.
fn tolerance(letters: usize) -> usize {
    (letters / 3).clamp(1, 3)
}

/// The number of letters to change, add, remove or exchange with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for line in 1..=one.len() {
        let above = &rows[line - 1];
        let mut row = vec![line];
        for column in 1..=other.len() {
            let same = one[line - 1] == other[column - 1];
            let mut best =
                (above[column - 1] + usize::from(!same)).min(above[column] + 1).min(row[column - 1] + 1);
            let exchanged = line > 1
                && column > 1
                && one[line - 1] == other[column - 2]
                && one[line - 2] == other[column - 1];
            if exchanged {
                best = best.min(rows[line - 2][column - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_finds_none() {
        let known = ["model", "model_provider", "sandbox_mode", "notify"];
        for (written, expected) in [
            ("modle", Some("model")),
            ("Model", Some("model")),
            ("model_providr", Some("model_provider")),
            ("sandboxmode", Some("sandbox_mode")),
            ("sandbox", Some("sandbox_mode")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(closest(written, known), expected, "{written}");
        }
    }
}
