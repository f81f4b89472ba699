//! Turns in every order of events: by example, and at random.

use proptest::prelude::*;
use windlass_llm::{Input, Role};

use super::*;

const PATIENCE: RetryLimits = RetryLimits { most_tries: 2, compact_at: Some(1000) };

fn call(id: &str) -> Call {
    Call {
        id: CallId(id.into()),
        name: "exec_command".into(),
        namespace: None,
        input: Input::Arguments("{}".into()),
    }
}

fn called(id: &str) -> Happened {
    Happened::Item(Item::call(call(id)))
}

fn said(text: &str) -> Happened {
    Happened::Item(Item::message(Role::Assistant, vec![ContentPart::Text(text.into())]))
}

fn answered(id: &str) -> Happened {
    Happened::Answered(CallId(id.into()), vec![ContentPart::Text(format!("out {id}"))])
}

fn completed(total: u64) -> Happened {
    Happened::Completed(Usage { input: total, ..Usage::default() })
}

fn user(text: &str) -> HistoryEntry {
    HistoryEntry { origin: ItemOrigin::User, item: Item::user(text) }
}

fn nothing() -> Happened {
    Happened::Heard(Vec::new())
}

fn passing() -> Happened {
    Happened::Broke(Failure::passing("cut"))
}

/// The actions in short words.
fn words(orders: &[TurnAction]) -> Vec<String> {
    let word = |order: &TurnAction| match order {
        TurnAction::Keep(HistoryEntry { item, .. }) => match item.content() {
            Content::Call(call) => format!("keep call {}", call.id),
            Content::Output { call, .. } => format!("keep output {call}"),
            _ => format!("keep {}", item.words_of(Role::User).or(item.words_of(Role::Assistant)).unwrap()),
        },
        TurnAction::Listen { called } => format!("listen {called}"),
        TurnAction::Start(call) => format!("start {}", call.id),
        TurnAction::Ask => "ask".into(),
        TurnAction::Rest { attempt, .. } => format!("rest {attempt}"),
        TurnAction::Compact(why) => format!("compact {why:?}"),
        TurnAction::Abandon => "abandon".into(),
        TurnAction::End(ending) => format!("end {ending:?}"),
    };
    orders.iter().map(word).collect()
}

/// Compares the actions of every step, one line for each step.
fn check(steps: Vec<Happened>, expected: &[&str]) {
    let (mut turn, first) = Turn::begin(PATIENCE, vec![user("go")], 0);
    let mut lines = vec![words(&first).join(", ")];
    for step in steps {
        lines.push(words(&turn.on(step)).join(", "));
    }
    assert_eq!(lines, expected);
}

#[test]
fn a_turn_ends_when_the_model_calls_nothing() {
    check(
        vec![said("hi"), completed(5), nothing()],
        &["keep go, ask", "", "keep hi, listen false", "end Completed"],
    );
}

#[test]
fn calls_start_at_once_and_their_outputs_follow_in_call_order() {
    check(
        vec![
            called("a"),
            called("b"),
            answered("b"),
            completed(5),
            answered("a"),
            nothing(),
            said("done"),
            completed(6),
            nothing(),
        ],
        &[
            "keep go, ask",
            "keep call a, start a",
            "keep call b, start b",
            "",
            "",
            "keep output a, keep output b, listen true",
            "ask",
            "",
            "keep done, listen false",
            "end Completed",
        ],
    );
}

#[test]
fn a_broken_stream_drops_messages_and_keeps_calls() {
    check(
        vec![said("I will"), called("a"), said("and"), passing(), answered("a"), Happened::Rested],
        &["keep go, ask", "", "keep I will, keep call a, start a", "", "", "keep output a, rest 1", "ask"],
    );
}

#[test]
fn a_call_that_a_second_stream_repeats_is_not_run_again() {
    check(
        vec![called("a"), passing(), answered("a"), Happened::Rested, called("a"), said("ok"), completed(3)],
        &[
            "keep go, ask",
            "keep call a, start a",
            "",
            "keep output a, rest 1",
            "ask",
            "",
            "",
            "keep ok, listen true",
        ],
    );
}

#[test]
fn tries_are_bounded_and_the_last_failure_is_told() {
    check(
        vec![passing(), Happened::Rested, passing(), Happened::Rested, passing()],
        &["keep go, ask", "rest 1", "ask", "rest 2", "ask", "end Failed(\"cut\")"],
    );
}

#[test]
fn what_cannot_pass_ends_the_turn_once_its_calls_are_answered() {
    check(
        vec![called("a"), Happened::Broke(Failure::lasting("no quota")), answered("a")],
        &["keep go, ask", "keep call a, start a", "", "keep output a, end Failed(\"no quota\")"],
    );
}

#[test]
fn what_was_said_before_a_failure_that_lasts_is_kept() {
    let thought = Happened::Item(Item::reasoning("so"));
    check(
        vec![said("half"), thought, Happened::Broke(Failure::lasting("cut short"))],
        &["keep go, ask", "", "", "keep half, end Failed(\"cut short\")"],
    );
}

#[test]
fn an_overflow_shortens_once_and_goes_on() {
    let overflow = || Happened::Broke(Failure { remedy: Remedy::Shorten, message: "too long".into() });
    check(
        vec![overflow(), Happened::Compacted(Ok(())), overflow()],
        &["keep go, ask", "compact Overflow", "ask", "end Failed(\"too long\")"],
    );
}

#[test]
fn a_full_conversation_is_shortened_before_the_next_question() {
    check(
        vec![called("a"), completed(1000), answered("a"), nothing(), Happened::Compacted(Ok(()))],
        &["keep go, ask", "keep call a, start a", "", "keep output a, listen true", "compact Limit", "ask"],
    );
}

#[test]
fn what_others_say_is_heard_at_the_next_boundary_and_asks_again() {
    check(
        vec![said("hi"), completed(5), Happened::Heard(vec![user("stop that")])],
        &["keep go, ask", "", "keep hi, listen false", "keep stop that, ask"],
    );
}

#[test]
fn an_interrupt_answers_every_call_and_ends() {
    check(
        vec![called("a"), called("b"), answered("a"), Happened::Interrupted, answered("b"), completed(1)],
        &[
            "keep go, ask",
            "keep call a, start a",
            "keep call b, start b",
            "",
            "abandon, keep output a",
            "keep output b, end Interrupted",
            "",
        ],
    );
}

/// Any event, in any order.
fn anything() -> impl Strategy<Value = Happened> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    prop_oneof![
        id.clone().prop_map(called),
        id.prop_map(answered),
        Just(said("words")),
        Just(completed(10)),
        Just(completed(2000)),
        Just(passing()),
        Just(Happened::Broke(Failure::lasting("no"))),
        Just(Happened::Broke(Failure { remedy: Remedy::Shorten, message: "long".into() })),
        Just(Happened::Heard(vec![user("more")])),
        Just(nothing()),
        Just(Happened::Rested),
        Just(Happened::Compacted(Ok(()))),
        Just(Happened::Interrupted),
    ]
}

#[test]
fn a_wish_for_a_summary_is_a_turn_of_its_own() {
    let (mut turn, first) = Turn::summing_up(PATIENCE);
    assert_eq!(words(&first), ["compact Wish"]);
    assert_eq!(words(&turn.on(Happened::Compacted(Ok(())))), ["end Completed"]);
    assert!(turn.is_over());
    let (mut turn, _) = Turn::summing_up(PATIENCE);
    assert_eq!(words(&turn.on(Happened::Interrupted)), ["abandon", "end Interrupted"]);
}

proptest! {
    #[test]
    fn calls_and_outputs_are_paired_whatever_happens(steps in proptest::collection::vec(anything(), 0..40)) {
        let (mut turn, first) = Turn::begin(PATIENCE, vec![user("go")], 0);
        let (mut open, mut started) = (Vec::new(), 0);
        let mut ended = 0;
        let mut look = |orders: Vec<TurnAction>| {
            for order in orders {
                assert_eq!(ended, 0, "nothing comes after the end");
                match order {
                    TurnAction::Keep(HistoryEntry { item, .. }) => match item.content() {
                        Content::Call(call) => open.push(call.id.clone()),
                        Content::Output { call, .. } => assert_eq!(&open.remove(0), call, "in call order"),
                        _ => {}
                    },
                    TurnAction::Start(_) => started += 1,
                    TurnAction::Ask => assert!(open.is_empty(), "the model is asked while {open:?} have no output"),
                    TurnAction::End(_) => {
                        assert!(open.is_empty(), "the turn ends while {open:?} have no output");
                        ended += 1;
                    }
                    TurnAction::Rest { .. } | TurnAction::Compact(_) | TurnAction::Listen { .. } | TurnAction::Abandon => {}
                }
            }
        };
        look(first);
        for step in steps {
            look(turn.on(step));
        }
        prop_assert!(ended <= 1 && turn.is_over() == (ended == 1));
    }
}
