//! Rules in force: a user's file, a project's, and how they go together. Judging starts here.

use crate::RulesFile;
use crate::inquiry::Inquiry;
use crate::rule::{CommandWords, Rule};
use crate::script::ShellKind;
use crate::verdict::{Judgement, Reason, Verdict};
use crate::word::Word;

/// The rules for commands: layers, each with its own rules and default.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    layers: Vec<Layer>,
    files: Vec<String>,
}

/// Rules that count together. Of several layers the strictest holds.
#[derive(Clone, Debug)]
struct Layer {
    rules: Vec<(String, Rule)>,
    default: Verdict,
    /// The file that says the default.
    said_by: Option<String>,
}

impl Rules {
    /// The rules of a user and of a project. What a project says only makes things stricter, unless the user's file
    /// trusts projects.
    pub fn compose(user: Option<RulesFile>, project: Option<RulesFile>) -> Self {
        let files = user.iter().chain(&project).map(|file| file.name.clone()).collect();
        let trusts = user.as_ref().is_some_and(|file| file.trust_projects);
        let mut layers: Vec<Layer> = user.into_iter().map(Layer::of).collect();
        match project {
            Some(file) if trusts => layers.iter_mut().for_each(|layer| layer.take(file.clone())),
            Some(file) => layers.push(Layer::of(file)),
            None => {}
        }
        Self { layers, files }
    }

    /// The rules of one file.
    pub fn of(file: RulesFile) -> Self {
        Self::compose(Some(file), None)
    }

    /// The names of the files that the rules come from.
    pub fn files(&self) -> Vec<String> {
        self.files.clone()
    }

    /// Judges a script for a shell.
    pub fn judge_script(&self, script: &str, shell: ShellKind) -> Judgement {
        let mut inquiry = Inquiry::new(self);
        inquiry.script(script, shell);
        inquiry.judgement()
    }

    /// Judges a program with its arguments.
    pub fn judge_argv(&self, argv: &[&str]) -> Judgement {
        let words: Vec<Word> = argv.iter().map(|word| Word::literal(*word)).collect();
        let mut inquiry = Inquiry::new(self);
        inquiry.argv(&words);
        inquiry.judgement()
    }

    /// Judges variables that a command is given beside its script.
    pub fn judge_variables<'a>(&self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Judgement {
        let mut inquiry = Inquiry::new(self);
        for (name, value) in variables {
            inquiry.variable(name, value);
        }
        inquiry.judgement()
    }

    /// The verdict of the rules on a command. `harmless`: the reason why it needs no rule.
    pub(crate) fn say(&self, readings: &[CommandWords], harmless: Option<&'static str>) -> Said {
        let mut said = self.layers.iter().map(|layer| layer.say(readings, harmless));
        let Some(mut strictest) = said.next() else { return Said::nothing(harmless) };
        for other in said {
            let words = if other.silent { strictest.words } else { strictest.words.min(other.words) };
            let names_option = strictest.names_option && (other.names_option || other.silent);
            let may_write = strictest.may_write && (other.may_write || other.silent);
            let spoken = |said: &Said| (said.verdict, matches!(said.reason, Reason::Rule(_)));
            if spoken(&other) > spoken(&strictest) {
                strictest = other;
            }
            strictest.words = words;
            strictest.names_option = names_option;
            strictest.may_write = may_write;
        }
        strictest
    }

    /// The verdict for commands that no rule matches.
    pub(crate) fn default_verdict(&self) -> Verdict {
        self.layers.iter().map(|layer| layer.default).max().unwrap_or_default()
    }

    /// Whether no rule restricts anything, so that a command cannot evade one.
    pub(crate) fn allow_everything(&self) -> bool {
        let restricts = |layer: &Layer| {
            layer.default > Verdict::Allow
                || layer.rules.iter().any(|(_, rule)| rule.verdict > Verdict::Allow)
        };
        !self.layers.iter().any(restricts)
    }
}

impl Layer {
    fn of(file: RulesFile) -> Self {
        let RulesFile { name, default, rules, .. } = file;
        let rules = rules.into_iter().map(|rule| (name.clone(), rule)).collect();
        Self { rules, default: default.unwrap_or_default(), said_by: default.map(|_| name) }
    }

    /// Another file's rules, as if they stood here.
    fn take(&mut self, file: RulesFile) {
        let Self { rules, default, said_by } = Self::of(file);
        self.rules.extend(rules);
        if said_by.is_some() {
            (self.default, self.said_by) = (default, said_by);
        }
    }

    /// It only asks and forbids: for commands that no rule of it matches, the other layers decide.
    fn is_silent(&self) -> bool {
        self.default == Verdict::Allow && self.rules.iter().all(|(_, rule)| rule.verdict > Verdict::Allow)
    }

    fn say(&self, readings: &[CommandWords], harmless: Option<&'static str>) -> Said {
        let speaks = |rule: &Rule| readings.iter().any(|reading| rule.speaks_of(reading));
        let speaking: Vec<&(String, Rule)> = self.rules.iter().filter(|(_, rule)| speaks(rule)).collect();
        let allows = |rule: &Rule| rule.verdict == Verdict::Allow;
        let allowing = || speaking.iter().map(|(_, rule)| rule).filter(|rule| allows(rule));
        let words = allowing().map(Rule::length).max().unwrap_or_default();
        let names_option = allowing().any(Rule::names_option);
        let may_write = allowing().any(|rule| rule.writes);
        // Of rules that say the same, the first is named.
        let strictest = speaking.into_iter().rev().max_by_key(|(_, rule)| rule.verdict);
        let (verdict, reason) = match (strictest, harmless) {
            (Some((file, rule)), _) => (rule.verdict, Reason::Rule(rule.speaker(file))),
            (None, Some(why)) => (Verdict::Allow, Reason::Harmless(why)),
            (None, None) => (self.default, Reason::Default(self.said_by.clone())),
        };
        Said { verdict, reason, words, names_option, may_write, silent: self.is_silent() }
    }
}

/// The verdict of one layer, or of all, on one command.
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    /// How many words the longest rule names that allows it.
    pub(crate) words: usize,
    /// Whether a rule allows it that names an option.
    pub(crate) names_option: bool,
    /// Whether a rule allows it to write files.
    pub(crate) may_write: bool,
    silent: bool,
}

impl Said {
    fn nothing(harmless: Option<&'static str>) -> Self {
        let reason = harmless.map_or(Reason::Default(None), Reason::Harmless);
        Self {
            verdict: Verdict::Allow,
            reason,
            words: 0,
            names_option: false,
            may_write: false,
            silent: true,
        }
    }
}
