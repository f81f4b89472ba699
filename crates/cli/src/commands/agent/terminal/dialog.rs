//! A question on the screen: its full text stays above, and the keys that answer it are in the area below. A typed
//! secret is neither shown nor stored: it goes only to the task that asked for it.

use tokio::sync::oneshot;
use windlass_agent::{Approval, Decision, Lasting, UserAnswer, UserQuestion};
use windlass_tools::{Detail, Emphasis, Question, Shown};
use zeroize::Zeroizing;

use super::composer::Composer;
use super::keys::Key;
use super::lines::{Line, Paint};
use super::person::PendingPrompt;

/// The longest secret; no password is longer.
const MOST_SECRET: usize = 4096;

/// How much of a command and of its prompt is shown with the request for a secret.
const MOST_COMMAND: usize = 2_000;
/// The width of a label in columns.
const LABEL: usize = 12;

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) enum Dialog {
    Approval { asked: Approval, reply: oneshot::Sender<Decision>, line: Composer },
    Secret { asked: Question, reply: oneshot::Sender<Option<String>>, typed: Typed },
    Questions(Questions),
}

/// A secret while it is typed. It has its full capacity from the start: a reallocation would leave a copy of it behind.
type Typed = Zeroizing<String>;

type Reply = oneshot::Sender<Option<Vec<UserAnswer>>>;

/// The effect of a key.
#[derive(Debug)]
pub(super) enum DialogStep {
    /// The question is still open; these lines are permanent.
    Open(Dialog, Vec<Line>),
    /// The question is answered; these lines are permanent.
    Answered(Vec<Line>),
    /// The person refuses and wants the work to stop; these lines are permanent.
    Refused(Vec<Line>),
}

/// The content of the area below while the question is open.
pub(super) struct Prompt<'a> {
    pub(super) hint: String,
    /// The input line for the answer.
    pub(super) line: Option<&'a Composer>,
}

impl Dialog {
    /// A question, and the lines that show it.
    pub(super) fn of(asked: PendingPrompt) -> (Self, Vec<Line>) {
        let dialog = match asked {
            PendingPrompt::Approval(asked, reply) => {
                Self::Approval { asked, reply, line: Composer::default() }
            }
            PendingPrompt::Secret(asked, reply) => {
                Self::Secret { asked, reply, typed: Zeroizing::new(String::with_capacity(MOST_SECRET)) }
            }
            PendingPrompt::Questions(asked, reply) => Self::Questions(Questions::new(asked, reply)),
            PendingPrompt::Field(asked, reply) => {
                Self::Questions(Questions { may_be_empty: true, ..Questions::new(vec![asked], reply) })
            }
        };
        let lines = dialog.lines();
        (dialog, lines)
    }

    /// Whether the asker no longer waits for the answer.
    pub(super) fn is_stale(&self) -> bool {
        match self {
            Self::Approval { reply, .. } => reply.is_closed(),
            Self::Secret { reply, .. } => reply.is_closed(),
            Self::Questions(open) => open.reply.is_closed(),
        }
    }

    /// Completes when the asker no longer waits for the answer.
    pub(super) async fn stale(&mut self) {
        match self {
            Self::Approval { reply, .. } => reply.closed().await,
            Self::Secret { reply, .. } => reply.closed().await,
            Self::Questions(open) => open.reply.closed().await,
        }
    }

    /// Whether typed text must not be shown.
    pub(super) fn is_secret(&self) -> bool {
        matches!(self, Self::Secret { .. })
    }

    /// The content of the area below.
    pub(super) fn prompt(&self) -> Prompt<'_> {
        match self {
            Self::Approval { asked, line, .. } => {
                Prompt { hint: format!("{}; Esc stops the work", words(asked.lasting)), line: Some(line) }
            }
            Self::Secret { .. } => {
                Prompt { hint: "typing is hidden; Enter sends it, Esc declines".into(), line: None }
            }
            Self::Questions(open) => {
                let options = open.current().map_or(0, |question| question.options.len());
                let numbers = if options > 0 { format!("1-{options} or ") } else { String::new() };
                Prompt {
                    hint: format!("{numbers}your own words, then Enter; Esc declines"),
                    line: Some(&open.line),
                }
            }
        }
    }

    /// Applies a key.
    pub(super) fn key(self, key: Key) -> DialogStep {
        match self {
            Self::Approval { asked, reply, line } => approval(asked, reply, line, key),
            Self::Secret { asked, reply, typed } => secret((asked, reply), typed, key),
            Self::Questions(open) => open.key(key),
        }
    }

    /// The lines that show the question.
    pub(super) fn lines(&self) -> Vec<Line> {
        match self {
            Self::Approval { asked, .. } => {
                let mut lines = vec![Line::of(Paint::Yellow, "May this be done?")];
                lines.extend(asked.details.iter().flat_map(detail_lines));
                if !asked.is_whole() {
                    lines.push(Line::of(
                        Paint::Red,
                        "  Not all of it is shown: say yes only if you know the rest.",
                    ));
                }
                lines
            }
            Self::Secret { asked, .. } => vec![
                Line::of(
                    Paint::Yellow,
                    "A command asks for something secret; only it will see what you type.",
                ),
                Line::of(Paint::Bold, &format!("  $ {}", Shown::within(&asked.command, MOST_COMMAND)))
                    .hanging(4),
                Line::of(Paint::Plain, &format!("  {}", Shown::within(&asked.prompt, MOST_COMMAND)))
                    .hanging(4),
            ],
            Self::Questions(open) => open.current().map(question_lines).unwrap_or_default(),
        }
    }
}

/// A fact with its label before it. Every line of the fact begins with a bar, so that a row that the terminal's width
/// broke cannot be taken for a line, nor a line for the rest of a row.
fn detail_lines(detail: &Detail) -> Vec<Line> {
    let paint = match detail.emphasis {
        Emphasis::Subject => Paint::Bold,
        Emphasis::Warning => Paint::Red,
        Emphasis::Plain => Paint::Plain,
    };
    let line = |(at, text): (usize, &str)| {
        let label = if at == 0 { detail.label } else { "" };
        let mark = if at == 0 && detail.emphasis == Emphasis::Warning { "!" } else { " " };
        Line::of(Paint::Dim, &format!(" {mark}{label:LABEL$} │ ")).and(paint, text).hanging(LABEL + 7)
    };
    detail.text.lines().enumerate().map(line).collect()
}

fn question_lines(question: &UserQuestion) -> Vec<Line> {
    let header = Some(question.header.as_str()).filter(|header| !header.is_empty());
    let mut lines: Vec<Line> = header.map(|header| Line::of(Paint::Yellow, header)).into_iter().collect();
    lines.extend(Line::all(Paint::Bold, &question.question));
    lines.extend(question.options.iter().enumerate().map(|(at, option)| {
        let line = Line::of(Paint::Plain, &format!("  {}. {}", at + 1, option.label)).hanging(5);
        let about = Some(&option.description).filter(|about| !about.is_empty());
        about.map_or(line.clone(), |about| line.and(Paint::Dim, &format!("  {about}")))
    }));
    lines
}

fn approval(asked: Approval, reply: oneshot::Sender<Decision>, mut line: Composer, key: Key) -> DialogStep {
    if matches!(key, Key::Escape | Key::Interrupt | Key::EndOfInput) {
        return refused(reply);
    }
    let said = line.key(key);
    let decision = said.as_deref().map(|said| decision(said, asked.lasting));
    match decision {
        Some(Some(Decision::Yes)) => decided(reply, Decision::Yes, Line::of(Paint::Green, "yes")),
        Some(Some(Decision::Always)) => {
            decided(reply, Decision::Always, Line::of(Paint::Green, "yes, always"))
        }
        Some(Some(Decision::No(reason))) => {
            let said = if reason.is_empty() { "no".to_owned() } else { format!("no: {reason}") };
            decided(reply, Decision::No(reason), Line::of(Paint::Red, &said))
        }
        Some(None) => {
            let text = said.unwrap_or_default();
            let complaint = format!("\"{}\" is no answer: {}", text.trim(), words(asked.lasting));
            let lines = vec![Line::of(Paint::Yellow, &complaint).hanging(2)];
            DialogStep::Open(Dialog::Approval { asked, reply, line }, lines)
        }
        None => DialogStep::Open(Dialog::Approval { asked, reply, line }, Vec::new()),
    }
}

/// The decision in a line. Only a whole word approves, as in `ssh` and `terraform`: a single key is hit by accident,
/// and a line with more words was meant for something else.
fn decision(said: &str, lasting: Lasting) -> Option<Decision> {
    let said = said.trim();
    let (first, rest) = said.split_at(said.find(|char: char| !char.is_alphanumeric()).unwrap_or(said.len()));
    let reason = rest.trim_start_matches([',', ':', ';', '.']).trim();
    match first.to_lowercase().as_str() {
        "yes" if rest.is_empty() => Some(Decision::Yes),
        "always" if rest.is_empty() && lasting == Lasting::Possible => Some(Decision::Always),
        "no" => Some(Decision::No(reason.to_owned())),
        _ => None,
    }
}

/// The words that are accepted as answers.
fn words(lasting: Lasting) -> &'static str {
    match lasting {
        Lasting::Possible => {
            "yes + Enter runs it, always + Enter also the same again, no + Enter (and why) declines"
        }
        Lasting::No => "yes + Enter agrees, no + Enter (and why) declines",
    }
}

fn decided(reply: oneshot::Sender<Decision>, decision: Decision, line: Line) -> DialogStep {
    // An error means that the asker no longer waits.
    let _ = reply.send(decision);
    DialogStep::Answered(vec![line])
}

fn refused(reply: oneshot::Sender<Decision>) -> DialogStep {
    let _ = reply.send(Decision::No(String::new()));
    DialogStep::Refused(vec![Line::of(Paint::Red, "no")])
}

fn secret(
    (asked, reply): (Question, oneshot::Sender<Option<String>>),
    mut typed: Typed,
    key: Key,
) -> DialogStep {
    match key {
        Key::Escape | Key::Interrupt | Key::EndOfInput => {
            let _ = reply.send(None);
            return DialogStep::Answered(vec![Line::of(Paint::Red, "declined")]);
        }
        Key::Enter | Key::LineFeed => {
            let _ = reply.send(Some(std::mem::take(&mut *typed)));
            return DialogStep::Answered(vec![Line::of(Paint::Dim, "sent, hidden")]);
        }
        Key::Char(char) if typed.len() < MOST_SECRET => typed.push(char),
        Key::Paste(text) if typed.len() + text.len() < MOST_SECRET => {
            typed.push_str(text.trim_end_matches('\n'));
        }
        Key::Backspace => drop(typed.pop()),
        Key::DeleteToStart | Key::DeleteWord => typed.clear(),
        _ => {}
    }
    DialogStep::Open(Dialog::Secret { asked, reply, typed }, Vec::new())
}

/// Several questions, asked one after the other.
#[derive(Debug)]
pub(super) struct Questions {
    asked: Vec<UserQuestion>,
    answers: Vec<UserAnswer>,
    line: Composer,
    /// Whether Enter alone is an answer.
    may_be_empty: bool,
    reply: Reply,
}

impl Questions {
    fn new(asked: Vec<UserQuestion>, reply: Reply) -> Self {
        Self { asked, answers: Vec::new(), line: Composer::default(), may_be_empty: false, reply }
    }

    /// The question that is to be answered now.
    fn current(&self) -> Option<&UserQuestion> {
        self.asked.get(self.answers.len())
    }

    fn key(mut self, key: Key) -> DialogStep {
        if matches!(key, Key::Escape | Key::Interrupt | Key::EndOfInput) {
            let _ = self.reply.send(None);
            return DialogStep::Answered(vec![Line::of(Paint::Red, "not answered")]);
        }
        let empty = self.may_be_empty && key == Key::Enter && self.line.is_empty();
        let said = if empty { Some(String::new()) } else { self.line.key(key) };
        let (Some(text), Some(question)) = (said, self.current()) else {
            return DialogStep::Open(Dialog::Questions(self), Vec::new());
        };
        // The asker decides which texts a field accepts.
        let text = if self.may_be_empty { text } else { chosen(question, text.trim()) };
        let mut lines = vec![Line::of(Paint::Cyan, "› ").and(Paint::Bold, &text).hanging(2)];
        let id = question.id.clone();
        self.answers.push(UserAnswer { id, text });
        if let Some(next) = self.current() {
            lines.push(Line::blank());
            lines.extend(question_lines(next));
            return DialogStep::Open(Dialog::Questions(self), lines);
        }
        let _ = self.reply.send(Some(self.answers));
        DialogStep::Answered(lines)
    }
}

/// A number of an option stands for that option; any other text is the answer itself.
fn chosen(question: &UserQuestion, text: &str) -> String {
    if question.options.iter().any(|option| option.label == text) {
        return text.to_owned();
    }
    let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let option = number.and_then(|at| question.options.get(at));
    option.map_or_else(|| text.to_owned(), |option| option.label.clone())
}

#[cfg(test)]
mod tests {
    use super::super::keys::Decoder;
    use super::*;
    use windlass_agent::{Choice, ThreadId};

    /// Types into a dialog; returns the permanent lines, and whether the work should stop.
    fn typed(asked: PendingPrompt, bytes: &str) -> (Vec<String>, bool) {
        let (mut dialog, mut lines) = Dialog::of(asked);
        let mut refused = false;
        for key in Decoder::default().feed(bytes.as_bytes()) {
            match dialog.key(key) {
                DialogStep::Open(open, more) => {
                    dialog = open;
                    lines.extend(more);
                    continue;
                }
                DialogStep::Answered(more) => lines.extend(more),
                DialogStep::Refused(more) => {
                    refused = true;
                    lines.extend(more);
                }
            }
            break;
        }
        (lines.iter().map(Line::text).collect(), refused)
    }

    fn approving(bytes: &str, lasting: Lasting) -> (Option<Decision>, Vec<String>, bool) {
        let agent = ThreadId::new(std::time::UNIX_EPOCH);
        let fact = |label, text: &str, emphasis| Detail { label, text: Shown::whole(text), emphasis };
        let details = vec![
            fact("command", "rm -rf x\necho \x1b[2J", Emphasis::Subject),
            fact("runs others", "PATH=/tmp", Emphasis::Warning),
        ];
        let (reply, mut answer) = oneshot::channel();
        let (lines, refused) =
            typed(PendingPrompt::Approval(Approval { agent, details, lasting }, reply), bytes);
        (answer.try_recv().ok(), lines, refused)
    }

    fn check(bytes: &str, lasting: Lasting, (expected, stops): (Option<Decision>, bool)) {
        let (decision, lines, refused) = approving(bytes, lasting);
        assert_eq!((decision, refused), (expected, stops), "{bytes:?}");
        let shown = [
            "May this be done?",
            "  command      │ rm -rf x",
            "               │ echo <U+001B>[2J",
            " !runs others  │ PATH=/tmp",
        ];
        assert_eq!(lines[..4], shown);
    }

    #[test]
    fn approvals_are_given_and_refused_with_reasons() {
        let no = |reason: &str| Some(Decision::No(reason.into()));
        check("yes\r", Lasting::No, (Some(Decision::Yes), false));
        check(" Yes \r", Lasting::No, (Some(Decision::Yes), false));
        check("always\r", Lasting::Possible, (Some(Decision::Always), false));
        check("no\r", Lasting::No, (no(""), false));
        check("no, use git\r", Lasting::No, (no("use git"), false));
        check("no: yes\r", Lasting::No, (no("yes"), false));
        check("\x1b\x03", Lasting::No, (no(""), true));
        check("no why\x03", Lasting::No, (no(""), true));
    }

    #[test]
    fn nothing_but_a_whole_word_approves() {
        for bytes in [
            "y",
            "a",
            "n",
            "y\r",
            "a\r",
            "yes",
            "yes please\r",
            "yesyes\r",
            "\r",
            "x\r\t",
            "yes.\r",
            "so yes\r",
        ] {
            check(bytes, Lasting::Possible, (None, false));
        }
        check("always\r", Lasting::No, (None, false));
        check("\x1b[200~yes\r\x1b[201~", Lasting::Possible, (None, false));
    }

    #[test]
    fn a_secret_goes_to_who_asked_and_is_not_shown() {
        let ask = |bytes: &str| {
            let question =
                Question { session: "1".into(), command: "sudo x".into(), prompt: "Password:".into() };
            let (reply, mut answer) = oneshot::channel();
            let (lines, _) = typed(PendingPrompt::Secret(question, reply), bytes);
            assert!(!lines.join("\n").contains("hunter"), "{lines:?}");
            answer.try_recv().ok().flatten()
        };
        assert_eq!(ask("hunterx\x7f2\r"), Some("hunter2".to_owned()));
        assert_eq!(ask("\x1b[200~hunter2\r\n\x1b[201~\r"), Some("hunter2".to_owned()));
        assert_eq!(ask("hunter\x03"), None);
    }

    #[test]
    fn a_secret_that_is_being_typed_is_not_in_debugging_output() {
        let question = Question { session: "1".into(), command: "sudo x".into(), prompt: "Password:".into() };
        let (reply, _answer) = oneshot::channel();
        let (dialog, _) = Dialog::of(PendingPrompt::Secret(question, reply));
        let step = dialog.key(Key::Paste("hunter2".into()));
        assert!(
            matches!(&step, DialogStep::Open(..)) && !format!("{step:?}").contains("hunter2"),
            "{step:?}"
        );
    }

    #[test]
    fn questions_are_answered_by_number_or_in_own_words() {
        let option = |label: &str| Choice { label: label.into(), description: "what it means".into() };
        let question = |id: &str, options| UserQuestion {
            id: id.into(),
            header: String::new(),
            question: format!("{id}?"),
            options,
        };
        let ask = |bytes: &str| {
            let asked =
                vec![question("one", vec![option("left"), option("right")]), question("two", Vec::new())];
            let (reply, mut answer) = oneshot::channel();
            let (lines, _) = typed(PendingPrompt::Questions(asked, reply), bytes);
            let answers = answer.try_recv().ok().flatten();
            (answers.map(|all| all.into_iter().map(|one| one.text).collect::<Vec<_>>()), lines)
        };
        let (answers, lines) = ask("2\r7\r");
        assert_eq!(answers.unwrap(), ["right", "7"]);
        assert_eq!(lines[..3], ["one?", "  1. left  what it means", "  2. right  what it means"]);
        assert!(lines.contains(&"two?".to_owned()));
        assert_eq!(ask("neither\rno\r").0.unwrap(), ["neither", "no"]);
        assert_eq!(ask("2\r\x03").0, None);
    }
}
