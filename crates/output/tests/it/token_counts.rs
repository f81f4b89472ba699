//! Token counts against the `tiktoken` crate, which the program itself does not contain.

use proptest::prelude::*;
use windlass_output::Tokenizer;

const BOTH: [(Tokenizer, &str); 2] = [(Tokenizer::O200k, "o200k_base"), (Tokenizer::Cl100k, "cl100k_base")];

/// Texts that random characters alone would hardly ever form.
const WORDS: &[&str] = &[
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "/",
    "//",
    ".\n/",
    "'",
    "'s",
    "'S",
    "'ll",
    "'LL",
    "'re",
    "'Ve",
    "'m",
    "'d",
    "'T",
    "'ſ",
    "ſ",
    "'l",
    "'r",
    "K",
    "a",
    "A",
    "aB",
    "Ab",
    "HTTPServer",
    "don't",
    "foo",
    "windlass",
    "0",
    "12",
    "345",
    "67890",
    "²",
    "½",
    "Ⅷ",
    "٣",
    "\u{301}",
    "e\u{301}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{93e}",
    "日",
    "本語",
    "。",
    "한국",
    "ひらがな",
    "カタカナ",
    "ー",
    "é",
    "É",
    "ǅ",
    "ʰ",
    "ª",
    "ß",
    "Я",
    "я",
    "Ω",
    "ك",
    "ไ",
    "😀",
    "👩\u{200d}💻",
    "🇩🇪",
    "…",
    "“",
    "—",
    "\0",
    "\x1b[0m",
    "\u{fffd}",
    "\u{e000}",
    "\u{10ffff}",
    "(",
    "){",
    "=",
    "====",
    "::",
    "_",
    "-",
    "<|endoftext|>",
    "\\n",
    "\"",
    "#!",
];

fn check(text: &str) {
    for (tokenizer, name) in BOTH {
        let reference = tiktoken::get_encoding(name).unwrap().count(text) as u64;
        assert_eq!(tokenizer.count(text).get(), reference, "{name} {:?}", shortened(text));
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

fn log_line() -> impl Strategy<Value = String> {
    let level = prop::sample::select(vec!["INFO", "WARN ", "error:", "[debug]", "\x1b[32mINFO\x1b[0m"]);
    let word = "[a-z]{1,12}|[A-Z][a-z]{1,9}|[a-z]{2,6}_[a-z]{2,6}|0x[0-9a-f]{4,16}|/[a-z]{1,6}/[a-z.]{1,9}";
    (any::<u32>(), level, prop::collection::vec(word, 0..12), any::<u16>()).prop_map(
        |(n, level, words, ms)| format!("2026-01-01T00:00:{n} {level} {} in {ms}ms\n", words.join(" ")),
    )
}

fn code_line() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "let mut ",
        "fn ",
        "snake_case_name",
        "CamelCaseName",
        "x",
        " = ",
        "(",
        ")",
        "{\n",
        "}\n",
        ";\n",
        "::",
        "->",
        " => ",
        "// it's a comment\n",
        "    ",
        "\t",
        "\"text\\n\"",
        "0xff",
        "123_456",
        "&'a str",
        "#[test]",
        "!=",
        "/* ",
        " */",
        "\n\n",
        "self.",
        ".await?",
        "r#\"",
        "$",
        "@",
    ]);
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn random_text_has_the_count_of_the_reference(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn random_characters_of_every_kind_have_it(text in prop::collection::vec(any::<char>(), 0..100)) {
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn random_bytes_as_a_terminal_would_show_them_have_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_ascii_has_it(text in "[ -~\\t\\r\\n]{0,300}") {
        check(&text);
    }

    #[test]
    fn few_characters_in_many_orders_have_it(text in "[ \\t\\n\\r/'.aAsSlL1é\u{301}日ſ]{0,40}") {
        check(&text);
    }

    #[test]
    fn blanks_in_many_orders_have_it(text in "[ \\t\\n\\r\u{b}\u{c}\u{85}\u{a0}\u{2003}\u{3000}x.]{0,30}") {
        check(&text);
    }

    #[test]
    fn strange_words_in_many_orders_have_it(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        check(&words.concat());
    }

    #[test]
    fn logs_have_it(lines in prop::collection::vec(log_line(), 1..20)) {
        check(&lines.concat());
    }

    #[test]
    fn code_has_it(lines in prop::collection::vec(code_line(), 1..20)) {
        check(&lines.concat());
    }

    #[test]
    fn numbers_have_it(text in "([0-9]{1,70}[ .:,a\\n-]{0,2}){1,12}") {
        check(&text);
    }

    #[test]
    fn other_scripts_have_it(text in "[一-龥ぁ-んァ-ヶ、。가-힣а-яА-Яא-ת\u{900}-\u{97f} ]{0,200}") {
        check(&text);
    }

    #[test]
    fn long_pieces_have_it(unit in "[a-c]{1,4}|[ =#*-]{1,3}|[A-Za-z]{5,20}|[一-十]{1,5}", times in 10_usize..200) {
        check(&unit.repeat(times));
    }
}

#[test]
fn every_character_alone_and_among_others_has_the_count_of_the_reference() {
    let plain = '\0'..='\u{ffff}';
    let further = ('\u{10000}'..=char::MAX).step_by(101);
    for (number, character) in plain.chain(further).enumerate() {
        check(&character.to_string());
        if number % 5 == 0 {
            check(&format!("a{character}B {character}'s{character}{character} 1{character}2"));
        }
    }
}

#[test]
fn every_pair_of_ascii_characters_has_it() {
    for first in 0..0x80_u8 {
        for second in 0..0x80_u8 {
            let pair: String = [char::from(first), char::from(second)].into_iter().collect();
            check(&pair);
            check(&format!("{pair}x"));
        }
    }
}

#[test]
fn every_token_that_is_text_has_it() {
    for (tokenizer, name) in BOTH {
        let encoding = tiktoken::get_encoding(name).unwrap();
        for rank in 0..encoding.vocab_size() as u32 {
            let Ok(text) = String::from_utf8(encoding.decode(&[rank])) else { continue };
            assert_eq!(tokenizer.count(&text).get(), encoding.count(&text) as u64, "{name} {text:?}");
        }
    }
}

#[test]
fn hostile_runs_have_it() {
    for unit in
        ["a", "A", " ", "=", "\n", " \n", "\u{301}", "日", "\u{fffd}", "\t", "7", "ab", "aB", "😀", "'", "'s"]
    {
        check(&unit.repeat(40_000 / unit.len()));
    }
}

/// They are merged a stretch at a time, so that no program's output takes much memory to count.
#[test]
fn pieces_too_long_to_be_merged_at_once_have_it() {
    let mut state = 7_u32;
    let mut random_letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    check(&(0..150_000).map(|_| random_letter()).collect::<String>());
    check(&"a".repeat(140_001));
    check(&"the quick brown fox".replace(' ', "").repeat(5_000));
}
