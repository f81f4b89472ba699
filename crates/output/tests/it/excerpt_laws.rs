//! Laws of excerpts: never over budget, nothing lost that is not named, spans exact.

use proptest::prelude::*;
use windlass_output::fuzzing::check_excerpt;
use windlass_output::{Budget, ExcerptOptions, Marker, Offset, Tokenizer, Tokens, View, settle};

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-z0-9 ,.:]{0,30}",
        1 => "\\PC{0,20}",
        1 => Just(String::new()),
        1 => (1..700usize).prop_map(|n| "=".repeat(n)),
        1 => (1..300usize).prop_map(|n| "日".repeat(n)),
    ];
    (prop::collection::vec(line, 0..30), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![
        (0..900u64).prop_map(Budget::Bytes),
        (0..900u64).prop_map(Budget::Characters),
        (0..20u64).prop_map(Budget::Lines),
        (0..200u64).prop_map(|n| Budget::Tokens(Tokens::new(n))),
    ]
}

proptest! {
    #[test]
    fn excerpts_in_quarters_keep_their_laws(text in text(), budget in budget(), base in 0..1_000_000u64) {
        let view = View::verbatim(text, Offset::new(base));
        check_excerpt(&view, ExcerptOptions { budget, tokenizer: Tokenizer::Bytes4, marker: Marker::Count });
    }

    #[test]
    fn excerpts_in_real_tokens_keep_their_laws(text in text(), budget in budget()) {
        let view = View::verbatim(text, Offset::ZERO);
        let marker = Marker::Address { session: &1003 };
        check_excerpt(&view, ExcerptOptions { budget, tokenizer: Tokenizer::O200k, marker });
    }

    #[test]
    fn excerpts_of_settled_text_keep_their_laws(bytes in super::settled_laws::printed(), budget in budget()) {
        let view = settle(&bytes, Offset::new(5));
        check_excerpt(&view, ExcerptOptions { budget, tokenizer: Tokenizer::Bytes4, marker: Marker::Count });
    }
}

#[test]
fn hostile_text_is_cut_quickly() {
    for unit in ["a", " ", "=", "\n", "日", "\u{301}"] {
        let view = View::verbatim(unit.repeat(60_000), Offset::ZERO);
        let budget = Budget::Tokens(Tokens::new(100));
        check_excerpt(&view, ExcerptOptions { budget, tokenizer: Tokenizer::O200k, marker: Marker::Count });
    }
}
