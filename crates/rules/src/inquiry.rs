//! The walk from a script to the verdicts of everything it can run: scripts hold commands, commands carry commands and
//! scripts. Bounded in depth, in the number of commands and in the text it reads; beyond a bound, the answer is to ask.

use crate::rules::Rules;
use crate::script::{self, Parsed, ShellKind, Simple};
use crate::variables::{self, Effect};
use crate::verdict::{Judgement, Part, Reason, Verdict};
use crate::word::{Word, line, shown};
use crate::wrapper::{self, Carried, Given, Look};

/// How deeply scripts may be nested, in all.
const DEEPEST: usize = 64;
/// How many carriers may stand before a command, in all.
const MOST_CARRIERS: usize = 24;
/// How much text is read in all: a script within a script is read again.
const MOST_TEXT: usize = 2 << 20;
/// How many commands are judged, among them those that are only perhaps commands.
const MOST_COMMANDS: usize = 3000;

/// A walk.
pub(crate) struct Inquiry<'r> {
    rules: &'r Rules,
    parts: Vec<Part>,
    /// Functions that the scripts define: they are judged where they are defined.
    functions: Vec<String>,
    text_left: usize,
    commands_left: usize,
}

/// Where on its walk an inquiry is.
#[derive(Clone, Debug)]
struct Place {
    within: Vec<String>,
    depth: usize,
    carriers: usize,
    shell: ShellKind,
}

impl Place {
    fn start(shell: ShellKind) -> Self {
        Self { within: Vec::new(), depth: DEEPEST, carriers: MOST_CARRIERS, shell }
    }

    fn inside(&self, carrier: &str) -> Self {
        let mut within = self.within.clone();
        within.push(carrier.to_owned());
        let (depth, carriers) = (self.depth.saturating_sub(1), self.carriers.saturating_sub(1));
        Self { within, depth, carriers, shell: self.shell }
    }
}

impl<'r> Inquiry<'r> {
    pub(crate) fn new(rules: &'r Rules) -> Self {
        Self {
            rules,
            parts: Vec::new(),
            functions: Vec::new(),
            text_left: MOST_TEXT,
            commands_left: MOST_COMMANDS,
        }
    }

    pub(crate) fn judgement(self) -> Judgement {
        Judgement::of(self.parts)
    }

    /// Judges a script.
    pub(crate) fn script(&mut self, text: &str, shell: ShellKind) {
        self.script_at(text, &Place::start(shell));
    }

    /// Judges a program with its arguments.
    pub(crate) fn argv(&mut self, words: &[Word]) {
        let simple = Simple { words: words.to_vec(), ..Simple::default() };
        self.simple(&simple, &Place::start(ShellKind::Posix));
    }

    /// Judges a variable that a command is given.
    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        let place = Place::start(ShellKind::Bash);
        self.setting(name, &Word::literal(value), &place);
        if value.contains("$(") || value.contains('`') {
            self.doubt(name, &place, "a shell may run what stands in the variable's value");
        }
    }

    fn script_at(&mut self, text: &str, place: &Place) {
        if place.depth == 0 || place.carriers == 0 {
            return self.doubt(text, place, "it is nested too deeply to be looked at");
        }
        let Some(left) = self.text_left.checked_sub(text.len()) else {
            return self.doubt(text, place, "there is too much of it to be looked at");
        };
        self.text_left = left;
        let parsed = script::parse(text, place.shell, place.depth);
        self.functions.extend(parsed.functions.iter().cloned());
        self.parsed(&parsed, text, place);
    }

    fn parsed(&mut self, parsed: &Parsed, text: &str, place: &Place) {
        for simple in &parsed.simples {
            self.simple(simple, place);
        }
        for name in &parsed.assigned {
            self.setting(name, &Word::unknown(name, crate::word::Split::Never), place);
        }
        for doubt in parsed.doubts.iter().chain(&parsed.broken) {
            let why = format!("not understood at line {}: {}", doubt.line, doubt.what);
            self.doubt(text, place, &why);
        }
        if parsed.evaluates && parsed.simples.iter().any(hides_substitution) {
            self.doubt(text, place, "a variable that is evaluated holds the text of a substitution");
        }
    }

    fn simple(&mut self, simple: &Simple, place: &Place) {
        for word in &simple.assignments {
            if let Some((name, value)) = word.assignment() {
                self.setting(name, &value, place);
            }
        }
        if simple.words.is_empty() {
            return;
        }
        let given = Given { words: &simple.words, input: simple.input.as_ref(), writes: simple.writes };
        self.command(&given, place);
    }

    /// One command, and everything it carries.
    fn command(&mut self, given: &Given<'_>, place: &Place) {
        self.commands_left = self.commands_left.saturating_sub(1);
        if self.commands_left <= 1 {
            if self.commands_left == 1 {
                self.doubt("…", place, "there are too many commands to look at them all");
            }
            return;
        }
        let look = wrapper::look(given, place.shell);
        self.judge(given, &look, place);
        for (name, value) in &look.settings {
            self.setting(name, value, place);
        }
        let carrier = look.carrier.clone().unwrap_or_default();
        let inside = place.inside(&carrier);
        for carried in &look.carried {
            self.carried(carried, &inside);
        }
    }

    fn carried(&mut self, carried: &Carried, place: &Place) {
        if place.carriers == 0 {
            return self.doubt("…", place, "it is nested too deeply to be looked at");
        }
        match carried {
            Carried::Command(words) => {
                let simple = Simple { words: words.clone(), ..Simple::default() };
                self.simple(&simple, place);
            }
            Carried::Script(word, shell) => match word.text() {
                Some(text) => self.script_at(text, &Place { shell: *shell, ..place.clone() }),
                None => self.doubt(word.source(), place, "a script that is known only when it runs"),
            },
            Carried::Perhaps(words) => self.perhaps(words, place),
        }
    }

    /// A command that somebody may run: only what rules or doubts say of it counts.
    fn perhaps(&mut self, words: &[Word], place: &Place) {
        let before = self.parts.len();
        let simple = Simple { words: words.to_vec(), ..Simple::default() };
        self.simple(&simple, place);
        let mut place = 0;
        self.parts.retain(|part| {
            place += 1;
            place <= before
                || part.verdict > Verdict::Allow && matches!(part.reason, Reason::Rule(_) | Reason::Doubt(_))
        });
    }

    fn judge(&mut self, given: &Given<'_>, look: &Look, place: &Place) {
        let name = given.words[0].text();
        let is_function = name.is_some_and(|name| self.functions.iter().any(|function| function == name));
        let harmless = look.harmless.or(is_function.then_some("a function of this script"));
        let said = self.rules.say(&look.readings, harmless);
        let lifted = said.named || self.rules.allow_everything();
        let floor = look.floors.iter().find(|floor| floor.firm || !lifted);
        let outcome = match floor {
            Some(floor) if said.verdict < Verdict::Ask => (Verdict::Ask, Reason::Doubt(floor.why.clone())),
            _ => (said.verdict, said.reason),
        };
        self.parts.push(Part::new(&line(given.words), &place.within, outcome));
    }

    /// A variable that is set.
    fn setting(&mut self, name: &str, value: &Word, place: &Place) {
        let Some(effect) = variables::effect(name) else { return };
        if effect == Effect::Command && variables::is_harmless(value) {
            return;
        }
        let text = format!("{name}={}", value.text().map_or_else(|| "…".to_owned(), shown));
        let why = match effect {
            Effect::Command => "it makes programs run a command",
            Effect::Code => "it changes what programs run",
        };
        self.doubt(&text, place, why);
        if let (Effect::Command, Some(script)) = (effect, value.text()) {
            let place = Place { shell: ShellKind::Posix, ..place.inside(name) };
            self.script_at(script, &place);
        }
    }

    fn doubt(&mut self, text: &str, place: &Place, why: &str) {
        self.parts.push(Part::new(text, &place.within, (Verdict::Ask, Reason::Doubt(why.to_owned()))));
    }
}

/// Whether a text that is assigned, or given to a builtin that assigns, holds what would run if it were expanded.
fn hides_substitution(simple: &Simple) -> bool {
    const ASSIGN: [&str; 11] =
        ["declare", "typeset", "local", "export", "readonly", "read", "printf", "let", "unset", "test", "["];
    let assigned = simple.assignments.iter().flat_map(Word::texts);
    let name = simple.words.first().and_then(Word::text).unwrap_or_default();
    let arguments = simple.words.iter().filter(|_| ASSIGN.contains(&name)).flat_map(Word::texts);
    let input = simple.input.iter().filter(|_| ASSIGN.contains(&name)).flat_map(Word::texts);
    assigned.chain(arguments).chain(input).any(|text| text.contains(['$', '`']))
}
