//! The functions of a script. A call needs no rule, because the function's commands are judged where it is defined; but
//! only if the function is certainly defined by then, or the program of that name would run.

use crate::script::{Parsed, Simple};
use crate::word::Word;

/// Functions that commands may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions {
    defined: Vec<(String, usize)>,
    /// Bodies of functions: the commands in them run only when a function is called.
    bodies: Vec<std::ops::Range<usize>>,
    /// The first command outside bodies that calls a function.
    first_call: usize,
}

/// Builtins that remove functions or put programs in their place.
const REMOVING: [&str; 5] = ["unset", "unfunction", "unhash", "disable", "enable"];

impl Functions {
    /// The functions that a script defines for certain.
    pub(crate) fn of(parsed: &Parsed) -> Self {
        let certain = parsed.functions.iter().filter(|function| function.certain);
        let defined = certain.map(|function| (function.name.clone(), function.body.start)).collect();
        let bodies = parsed.functions.iter().map(|function| function.body.clone()).collect();
        let mut functions = Self { defined, bodies, first_call: usize::MAX };
        let names = |simple: &Simple| {
            let name = simple.words.first().and_then(Word::text);
            name.is_some_and(|name| parsed.functions.iter().any(|function| function.name == name))
        };
        let mut calls = parsed.simples.iter().enumerate().filter(|(_, simple)| names(simple));
        let first = calls.find(|(place, _)| !functions.is_in_body(*place));
        functions.first_call = first.map_or(usize::MAX, |(place, _)| place);
        functions
    }

    /// Together with those of the script around it, which are defined before this one runs.
    pub(crate) fn inheriting(mut self, outer: &Self) -> Self {
        self.defined.extend(outer.defined.iter().map(|(name, _)| (name.clone(), 0)));
        self
    }

    /// Whether the command at this place calls a function of that name.
    pub(crate) fn are_called(&self, name: &str, place: usize) -> bool {
        let reached = if self.is_in_body(place) { self.first_call.max(place) } else { place };
        self.defined.iter().any(|(defined, from)| defined == name && reached >= *from)
    }

    /// Whether a command may remove one of them.
    pub(crate) fn are_removed_by(&self, words: &[Word]) -> bool {
        let removes = words.iter().any(|word| word.text().is_some_and(|text| REMOVING.contains(&text)));
        let may_name = |word: &Word| match word.text() {
            Some(text) => self.defined.iter().any(|(defined, _)| defined == text) || text.contains("-m"),
            None => true,
        };
        removes && !self.defined.is_empty() && words.iter().any(may_name)
    }

    fn is_in_body(&self, place: usize) -> bool {
        self.bodies.iter().any(|body| body.contains(&place))
    }
}
