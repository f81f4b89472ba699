//! The walk from a script to the verdicts of everything it can run: scripts hold commands, and wrappers hold further
//! commands and scripts. Bounded in depth, in the number of commands and in the text it reads; beyond a bound, the
//! verdict is to ask.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::functions::Functions;
use crate::hiding;
use crate::numbers::{self, Numbers};
use crate::rules::Rules;
use crate::script::{self, Parsed, ShellKind, Simple};
use crate::variables::{self, Effect};
use crate::verdict::{JudgedCommand, Judgement, Reason, Verdict};
use crate::word::{Split, Word, line, shown};
use crate::wrapper::{self, Carried, Given, Look, Strength};

/// How deeply scripts may be nested, in all.
const DEEPEST: usize = 64;
/// How many wrappers may stand before a command, in all.
const MOST_CARRIERS: usize = 24;
/// How much text is read in all: a script within a script is read again.
const MOST_TEXT: usize = 2 << 20;
/// How many commands are judged, among them those that are only perhaps commands.
const MOST_COMMANDS: usize = 3000;

/// The walk over one script or command, with its bounds.
pub(crate) struct Inquiry<'r> {
    rules: &'r Rules,
    parts: Vec<JudgedCommand>,
    text_left: usize,
    commands_left: usize,
    /// Whether functions stay defined: none of the commands removes one.
    functions_stay: bool,
    /// Whether something is evaluated that is not known to be a number.
    evaluates: bool,
    /// Whether the text of a substitution stands where such a value may come from.
    hides: bool,
}

/// Where on its walk an inquiry is.
#[derive(Clone, Debug)]
struct WalkState {
    within: Vec<String>,
    depth: usize,
    carriers: usize,
    shell: ShellKind,
    scope: Rc<Scope>,
    /// Whether the environment of the script is the user's: no script around it set a variable.
    is_untouched: bool,
    /// Whether the command stands in the script itself, and is not run by a wrapper.
    direct: bool,
    /// The redirection of the wrapper around this command.
    writes: Option<String>,
    /// Whether the input of the wrapper around this command may be a pipe, a file or a text.
    fed: bool,
}

/// The facts about a script that the meaning of its commands depends on.
#[derive(Debug)]
struct Scope {
    numbers: Numbers,
    arrays: bool,
    functions: Functions,
    sets_variables: bool,
}

impl Scope {
    fn unknown(shell: ShellKind) -> Rc<Self> {
        let (numbers, functions) = (Numbers::unknown(shell), Functions::default());
        Rc::new(Self { numbers, arrays: true, functions, sets_variables: false })
    }
}

impl WalkState {
    fn start(shell: ShellKind) -> Self {
        Self {
            within: Vec::new(),
            depth: DEEPEST,
            carriers: MOST_CARRIERS,
            shell,
            scope: Scope::unknown(shell),
            is_untouched: true,
            direct: true,
            writes: None,
            fed: false,
        }
    }

    fn inside(&self, carrier: &str) -> Self {
        let mut inside = self.clone();
        inside.within.push(carrier.to_owned());
        inside.depth = self.depth.saturating_sub(1);
        inside.carriers = self.carriers.saturating_sub(1);
        inside.direct = false;
        inside
    }
}

impl<'r> Inquiry<'r> {
    pub(crate) fn new(rules: &'r Rules) -> Self {
        Self {
            rules,
            parts: Vec::new(),
            text_left: MOST_TEXT,
            commands_left: MOST_COMMANDS,
            functions_stay: true,
            evaluates: false,
            hides: false,
        }
    }

    pub(crate) fn judgement(self) -> Judgement {
        Judgement::of(self.parts)
    }

    /// Judges a script.
    pub(crate) fn script(&mut self, text: &str, shell: ShellKind) {
        self.script_at(text, &WalkState::start(shell));
        if !self.functions_stay {
            // Now that a function may be removed, no command is taken for one.
            *self = Self { functions_stay: false, ..Self::new(self.rules) };
            self.script_at(text, &WalkState::start(shell));
        }
        self.compare_evaluations(text);
    }

    /// Judges a program with its arguments.
    pub(crate) fn argv(&mut self, words: &[Word]) {
        let simple = Simple { words: words.to_vec(), ..Simple::default() };
        self.simple(&simple, &WalkState::start(ShellKind::Posix));
        self.compare_evaluations(&line(words));
    }

    /// Judges a variable that a command is given.
    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        let place = WalkState::start(ShellKind::Bash);
        self.setting(name, &Word::literal(value), &place);
        if value.contains("$(") || value.contains('`') {
            self.doubt(name, &place, "a shell may run what stands in the variable's value");
        }
    }

    fn compare_evaluations(&mut self, text: &str) {
        if self.evaluates && self.hides {
            let why = "a variable that is evaluated may hold the text of a substitution";
            self.doubt(text, &WalkState::start(ShellKind::Bash), why);
        }
    }

    fn script_at(&mut self, text: &str, place: &WalkState) {
        if place.depth == 0 || place.carriers == 0 {
            return self.doubt(text, place, "it is nested too deeply to be looked at");
        }
        let Some(left) = self.text_left.checked_sub(text.len()) else {
            return self.doubt(text, place, "there is too much of it to be looked at");
        };
        self.text_left = left;
        let parsed = script::parse(text, place.shell, place.depth);
        let numbers = if place.is_untouched {
            Numbers::of(&parsed, place.shell)
        } else {
            Numbers::unknown(place.shell)
        };
        let scope = Scope {
            numbers,
            arrays: parsed.arrays || !place.is_untouched,
            functions: Functions::of(&parsed),
            sets_variables: numbers::sets_variables(&parsed),
        };
        let place = WalkState { scope: Rc::new(scope), direct: true, ..place.clone() };
        self.parsed(&parsed, text, &place);
    }

    /// A script that runs in the shell of the one around it: its variables may be anything, its functions are there.
    fn inline_at(&mut self, text: &str, place: &WalkState) {
        if place.depth == 0 || place.carriers == 0 {
            return self.doubt(text, place, "it is nested too deeply to be looked at");
        }
        let Some(left) = self.text_left.checked_sub(text.len()) else {
            return self.doubt(text, place, "there is too much of it to be looked at");
        };
        self.text_left = left;
        let parsed = script::parse(text, place.shell, place.depth);
        let scope = Scope {
            numbers: Numbers::unknown(place.shell),
            arrays: true,
            functions: Functions::of(&parsed).inheriting(&place.scope.functions),
            sets_variables: true,
        };
        let place = WalkState { scope: Rc::new(scope), direct: true, ..place.clone() };
        self.parsed(&parsed, text, &place);
    }

    fn parsed(&mut self, parsed: &Parsed, text: &str, place: &WalkState) {
        self.hides |= hiding::hides_substitution(parsed);
        for (index, simple) in parsed.simples.iter().enumerate() {
            let name = simple.words.first().and_then(Word::text).unwrap_or_default();
            if self.functions_stay && simple.writes.is_none() && place.scope.functions.are_called(name, index)
            {
                self.function(simple, place);
            } else {
                self.simple(simple, place);
            }
        }
        for (name, value) in &parsed.assigned {
            let value = value.clone().unwrap_or_else(|| Word::unknown(name, Split::Never));
            self.setting(name, &value, place);
        }
        for redirection in &parsed.redirections {
            self.unnamed(redirection, place, "it writes a file or opens a connection");
        }
        for doubt in parsed.doubts.iter().chain(&parsed.broken) {
            let why = format!("not understood at line {}: {}", doubt.line, doubt.what);
            self.doubt(text, place, &why);
        }
        for word in &parsed.evaluated {
            self.evaluation(word, place);
        }
    }

    fn simple(&mut self, simple: &Simple, place: &WalkState) {
        self.assignments(simple, place);
        if !simple.words.is_empty() {
            let look = self.given(simple, place, None);
            self.carry(simple, &look, place);
        } else if let Some(redirection) = &simple.writes {
            self.unnamed(redirection, place, "it writes a file or opens a connection");
        }
    }

    /// A call of one of the script's own functions, which is judged where it is defined.
    fn function(&mut self, simple: &Simple, place: &WalkState) {
        self.assignments(simple, place);
        let look = self.given(simple, place, Some("a function of this script"));
        // Some shells prefer a builtin to a function of its name.
        self.carry(simple, &look, place);
    }

    fn assignments(&mut self, simple: &Simple, place: &WalkState) {
        for word in &simple.assignments {
            if let Some((name, value)) = word.assignment() {
                self.setting(name, &value, place);
            }
        }
    }

    /// Judges one command. `harmless`: why it is, if that is known already.
    fn given(&mut self, simple: &Simple, place: &WalkState, harmless: Option<&'static str>) -> Look {
        let given = Given {
            words: &simple.words,
            input: simple.input.as_ref(),
            writes: simple.writes.as_deref().or(place.writes.as_deref()),
            fed: simple.fed || place.fed,
            shell: place.shell,
            direct: place.direct,
            arrays: place.scope.arrays,
        };
        let mut look = wrapper::look(&given);
        look.harmless = harmless.or(look.harmless);
        self.functions_stay &= !place.scope.functions.are_removed_by(given.words);
        self.commands_left = self.commands_left.saturating_sub(1);
        if self.commands_left <= 1 {
            if self.commands_left == 1 {
                self.doubt("…", place, "there are too many commands to look at them all");
            }
            look.settings.clear();
            look.carried.clear();
            return look;
        }
        for word in std::mem::take(&mut look.evaluated) {
            self.assigned_by(&word, place);
            if !place.scope.numbers.is_number(&word) {
                look.harmless = None;
                self.unproven(&word, place);
            }
        }
        self.judge(&given, &look, place);
        look
    }

    /// Judges everything that a command sets and runs.
    fn carry(&mut self, simple: &Simple, look: &Look, place: &WalkState) {
        for (name, value) in &look.settings {
            self.setting(name, value, place);
        }
        let carrier = look.carrier.clone().unwrap_or_default();
        let mut inside = place.inside(&carrier);
        inside.is_untouched &= look.settings.is_empty();
        inside.writes = simple.writes.clone().or(inside.writes);
        inside.fed |= simple.fed;
        for carried in &look.carried {
            self.carried(carried, &inside);
        }
    }

    fn carried(&mut self, carried: &Carried, place: &WalkState) {
        if place.carriers == 0 {
            return self.doubt("…", place, "it is nested too deeply to be looked at");
        }
        match carried {
            Carried::Command(words) => {
                let simple = Simple { words: words.clone(), ..Simple::default() };
                self.simple(&simple, place);
            }
            Carried::Script(word, shell) => match word.text() {
                Some(text) => {
                    let is_untouched = place.is_untouched && !place.scope.sets_variables;
                    self.script_at(text, &WalkState { shell: *shell, is_untouched, ..place.clone() });
                }
                None => self.doubt(word.source(), place, "a script that is known only when it runs"),
            },
            Carried::Inline(word) => match word.text() {
                Some(text) => self.inline_at(text, place),
                None => self.doubt(word.source(), place, "a script that is known only when it runs"),
            },
            Carried::Perhaps(words) => self.perhaps(words, place),
        }
    }

    /// A possible command: only the verdicts of rules and doubts about it count.
    fn perhaps(&mut self, words: &[Word], place: &WalkState) {
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

    fn judge(&mut self, given: &Given<'_>, look: &Look, place: &WalkState) {
        let said = self.rules.say(&look.readings, look.harmless);
        let is_unrestricted = self.rules.allow_everything();
        let needs_rule = self.rules.default_verdict() > Verdict::Allow;
        let floor = look.floors.iter().find(|floor| match floor.strength {
            Strength::Always => true,
            Strength::UnlessUnrestricted => !is_unrestricted,
            Strength::UnlessNamed => !is_unrestricted && said.words < 2,
            Strength::UnlessDefaultAllows => needs_rule && !said.names_option && !said.may_write,
            Strength::UnlessWords(words) => needs_rule && said.words < words,
            Strength::UnlessWrites => needs_rule && !said.may_write,
        });
        let outcome = match floor {
            Some(floor) if said.verdict < Verdict::Ask => (Verdict::Ask, Reason::Doubt(floor.why.clone())),
            _ => (said.verdict, said.reason),
        };
        self.parts.push(JudgedCommand::new(&line(given.words), &place.within, outcome));
    }

    /// A word that the shell evaluates as an expression.
    fn evaluation(&mut self, word: &Word, place: &WalkState) {
        self.assigned_by(word, place);
        if place.scope.numbers.is_number(word) {
            return;
        }
        self.unproven(word, place);
        self.unnamed(word.source(), place, "it evaluates a text that is not known to be a number");
    }

    /// Variables that an expression sets. They become numbers, and a number in `PATH` is a directory.
    fn assigned_by(&mut self, expression: &Word, place: &WalkState) {
        // An expansion may leave nothing, so that what stands around it is one name; or it may be the name itself.
        let filled = ["", "PATH"].map(|filling| expression.filled_with(filling));
        let names: BTreeSet<&str> = expression
            .texts()
            .chain(filled.iter().map(String::as_str))
            .flat_map(numbers::assigned_in_expression)
            .filter(|name| variables::changes_what_runs(name))
            .collect();
        for name in names {
            self.setting(name, &Word::unknown(name, Split::Never), place);
        }
    }

    /// A word that is evaluated and may hold a command. If one stands in it, it is judged.
    fn unproven(&mut self, word: &Word, place: &WalkState) {
        self.evaluates = true;
        if !word.texts().any(hiding::holds_substitution) {
            return;
        }
        self.doubt(word.source(), place, "a text that is evaluated holds a substitution");
        if let Some(text) = word.text().filter(|_| place.depth > 1) {
            let parsed = script::parse_expression(text, place.shell, place.depth - 1);
            let inside = WalkState { depth: place.depth - 1, ..place.clone() };
            self.parsed(&parsed, text, &inside);
        }
    }

    /// A variable that is set.
    fn setting(&mut self, name: &str, value: &Word, place: &WalkState) {
        if variables::names_output(name) && !value.text().is_some_and(variables::is_switch) {
            self.unnamed(&format!("{name}={}", value.source()), place, "it makes programs write a file");
        }
        let effect = match place.shell {
            ShellKind::Zsh => variables::effect_in_zsh(name),
            ShellKind::Bash | ShellKind::Posix => variables::effect(name),
        };
        let text = format!("{name}={}", value.text().map_or_else(|| "…".to_owned(), shown));
        if variables::opens_less(name, value) {
            self.doubt(&text, place, "it gives less options by which it may write a file or run a command");
        }
        let Some(effect) = effect else { return };
        if effect == Effect::Integer {
            return self.evaluation(value, place);
        }
        let is_harmless = effect == Effect::Command && variables::is_harmless(value);
        if is_harmless || variables::is_usual_value(name, value) {
            return;
        }
        let why = match effect {
            Effect::Command => "it makes programs run a command",
            Effect::Code | Effect::Integer => "it changes what programs run",
        };
        self.doubt(&text, place, why);
        if let (Effect::Command, Some(script)) = (effect, value.text()) {
            let place = WalkState { shell: ShellKind::Posix, is_untouched: false, ..place.inside(name) };
            self.script_at(script, &place);
        }
    }

    /// A part that is not a command, so that no rule can name it: the default holds.
    fn unnamed(&mut self, text: &str, place: &WalkState, why: &str) {
        let verdict = self.rules.default_verdict();
        if verdict > Verdict::Allow {
            self.parts.push(JudgedCommand::new(
                text,
                &place.within,
                (verdict, Reason::Doubt(why.to_owned())),
            ));
        }
    }

    fn doubt(&mut self, text: &str, place: &WalkState, why: &str) {
        self.parts.push(JudgedCommand::new(
            text,
            &place.within,
            (Verdict::Ask, Reason::Doubt(why.to_owned())),
        ));
    }
}
