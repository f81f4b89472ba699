//! Settled text of what programs print in real life, and of each code on its own.

use windlass_output::{Offset, ScreenSize, Settler, View, settle};

fn check(printed: &str, expected: &str) {
    assert_eq!(settle(printed.as_bytes(), Offset::ZERO).text(), expected, "{printed:?}");
}

fn check_bytes(printed: &[u8], expected: &str) {
    assert_eq!(settle(printed, Offset::ZERO).text(), expected, "{printed:?}");
}

fn check_on_terminal(printed: &str, expected: &str) {
    let mut settler = Settler::on_terminal(Offset::ZERO, ScreenSize::new(24, 80));
    let mut view = View::new(Offset::ZERO);
    settler.feed(printed.as_bytes(), &mut view);
    settler.finish(&mut view);
    assert_eq!(view.text(), expected, "{printed:?}");
}

#[test]
fn plain_text_is_unchanged() {
    for text in ["", "a", "a\n", "a\nb", "\n\n", "tab\tkept\n", "trailing  \n", "日本語 e\u{301} 👩‍👩‍👧\n"]
    {
        check(text, text);
    }
}

#[test]
fn a_carriage_return_before_a_newline_is_part_of_it() {
    check("a\r\nb\r\n", "a\nb\n");
    check("a\r\r\nb", "a\nb");
}

#[test]
fn what_is_overwritten_is_gone() {
    check("10%\r20%\r100%\n", "100%\n");
    check("long text\rshort\n", "shorttext\n");
    check("abc\x08\x08X\n", "aXc\n");
    check("\x08\x08a\n", "a\n");
    check("password: \x08 \x08", "password:");
    check("bold: N\x08NA\x08A\n", "bold: NA\n");
}

#[test]
fn erasing_in_the_line_works_in_all_directions() {
    check("abcdef\x1b[3D\x1b[K\n", "abc\n");
    check("abcdef\x1b[3D\x1b[1K\n", "    ef\n");
    check("abcdef\x1b[2K\rx\n", "x\n");
    check("abc\x1b[K\n", "abc\n");
    check("abc\r\x1b[Kprompt> ", "prompt> ");
    check("abcdef\r\x1b[2X\n", "  cdef\n");
    check("abcdef\r\x1b[2P\n", "cdef\n");
    check("abcdef\r\x1b[2@XY\n", "XYabcdef\n");
}

#[test]
fn the_cursor_moves_inside_the_line() {
    check("abc\x1b[2DX\n", "aXc\n");
    check("abc\x1b[3CX\n", "abc   X\n");
    check("abc\x1b[2GX\n", "aXc\n");
    check("abc\r\tX\n", "abc     X\n");
    check("x\x1b[3b\n", "xxxx\n");
    check("\x1b[999999999999999999999Cx", &format!("{}x", " ".repeat(512)));
}

#[test]
fn the_cursor_moves_between_lines() {
    check("one\ntwo\n\x1b[2AX\n", "Xne\ntwo\n");
    check("one\ntwo\x1b[FX\n", "Xne\ntwo");
    check("one\ntwo\n\x1b[2A\x1b[J", "");
    check("a\x1b[2Bb", "a\n\n b");
    check("one\ntwo\nthree\n\x1b[3A\x1b[M", "two\nthree\n");
    check("one\ntwo\x1b[A\r\x1b[Lzero", "zero\none\ntwo");
    check("a\x1b7b\nc\x1b8X", "aX\nc");
}

#[test]
fn wide_characters_take_two_columns() {
    check("日本\x1b[3GX\n", "日X\n");
    check("日本\x1b[2GX\n", " X本\n");
    check("日本語\r\x1b[2P", "本語");
    check("e\u{301}f\rE", "Ef");
    check("abe\u{301}f\rX", "Xbe\u{301}f");
}

#[test]
fn codes_that_do_not_move_the_cursor_are_removed() {
    check("\x1b[1;31mred\x1b[0m\n", "red\n");
    check("\x1b[38:2::255:0:0mrgb\x1b[m", "rgb");
    check("\x1b]0;title\x07text", "text");
    check("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
    check("\x1bP1$r0m\x1b\\a\x1b_app\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd");
    check("\x1b(Ba\x1b)0b\x1b#8c\x1b=d\x1b>e", "abcde");
    check("\x1b[?25l\x1b[?2004hx\x1b[?25h\x1b[>4;1m\x1b[6n\x1b[0 q", "x");
    check("a\x00\x07\x0e\x0f\x7fb", "ab");
    check("a\u{9b}b\u{85}c", "abc");
}

#[test]
fn eight_bit_codes_count_only_when_switched_on_and_outside_utf8() {
    check_bytes(b"\x1b G\x9b31mred\x9b0m", "red");
    check_bytes(b"\x1b Ga\x9d0;title\x9cb", "ab");
    check_bytes(b"\x1b Ga\x9d0;never ended\nb", "a\u{241b}]0;never ended\nb");
    check_bytes(b"\x9b31mred\x9b0m", "\u{fffd}31mred\u{fffd}0m");
    check_bytes(b"\x1b G\x1b F\x9b31m", "\u{fffd}31m");
    check_bytes(b"\x1b G\xc3\xa9\x9b31m", "é\u{fffd}31m");
    check_bytes("›\u{201b}\u{1b5b}".as_bytes(), "›\u{201b}\u{1b5b}");
    check_bytes(b"a\x80\xffb", "a\u{fffd}\u{fffd}b");
}

#[test]
fn a_code_that_is_never_ended_does_not_swallow_the_log() {
    check("\x1b]0;title\nnext line\n", "␛]0;title\nnext line\n");
    check("a\x1bPlost FAILED\nnext line\n", "a␛Plost FAILED\nnext line\n");
    check("a\x1b_lost\nFAILED 3 tests\nnext\n", "a␛_lost\nFAILED 3 tests\nnext\n");
    check("\x1bXé\n\x1b^ \nend", "␛Xé\n␛^ \nend");
    check("\x1b[31\nmnext\n", "\nnext\n");
    check("\x1b[31\x18text", "text");
    check("\x1b[12\x1b[1mtext", "text");
}

#[test]
fn text_of_an_older_encoding_loses_nothing() {
    // "Zpracování žádostí: FAILED 3 tests" in CP1250: the byte for "ž" is the 8-bit code that opens a string.
    let printed = b"Zpracov\xe1n\xed \x9e\xe1dost\xed: FAILED 3 tests\n\x9aest \x9d\x8d\nok\n";
    let expected = "Zpracov\u{fffd}n\u{fffd} \u{fffd}\u{fffd}dost\u{fffd}: FAILED 3 tests\n\u{fffd}est \u{fffd}\u{fffd}\nok\n";
    check_bytes(printed, expected);
}

#[test]
fn a_string_without_end_is_shown_at_the_end_of_the_output() {
    check("a\x1bPhidden", "a␛Phidden");
    check("a\x1bPq#0;2;0;0;0\n#0~~@@vv\n-\x1b\\b", "ab");
    check(&format!("a\x1b_G{}", "A".repeat(100_000)), "a␛_…100001 bytes…");
    let picture = format!("a\x1bP{}\x1b\\b", "A\n".repeat(100_000));
    check(&picture, "ab");
}

#[test]
fn the_alternate_screen_of_a_terminal_is_not_log_text() {
    check_on_terminal("$ vim\r\n\x1b[?1049h\x1b[2J\x1b[Htext ~\r\n~\r\n\x1b[?1049l$ ", "$ vim\n$ ");
    check_on_terminal("a\x1b[?47hhidden\n\x1b[?47lb", "ab");
    check_on_terminal("a\x1b[?1047hhidden\x1b[?1047lb", "ab");
    check_on_terminal("a\x1b[?1;1049hhidden\x1b[?25;1049lb", "ab");
}

#[test]
fn a_pipe_has_no_alternate_screen_and_its_text_is_log_text() {
    check("\x1b[?1049hFAILED\n", "FAILED\n");
    check("a\x1b[?1049h\x1b[2J\x1b[1;1HFAILED", "a\nFAILED");
    check("a\x1b[?47hdrawn\n\x1b[?47lb", "a\ndrawn\nb");
    check("a\x1b[?1;1049hdrawn\x1b[?25;1049lb", "a\ndrawn\nb");
    check("a\x1b[?1049h\x1b[?1049l\n$ ", "a\n$ ");
}

#[test]
fn a_pipe_has_no_scroll_region_and_no_status_bar() {
    check("\x1b[2;20r\x1b[HFAILED\nnext\n", "FAILED\nnext\n");
    check("a\n\x1b[2;20r\x1b[24;1HFAILED\n", "a\nFAILED\n");
    check("a\x1b7\x1b[24;1Hstatus\x1b8b\n", "a\nstatus\nb\n");
}

#[test]
fn text_that_is_sent_to_an_address_on_a_pipe_begins_a_new_line() {
    check("one\ntwo\n\x1b[HX\n", "one\ntwo\nX\n");
    check("\x1b[5;1HFAILED\x1b[5;1Hok", "FAILED\nok");
    check("\x1b[1;1HFAILED\n\x1b[1;1Hok\n", "FAILED\nok\n");
    check("\x1b[3;1Hname\x1b[3;9Hsize\x1b[4;1Hx\x1b[4;9H12\n", "name    size\nx       12\n");
    check("FAILED\x1b[9dok", "FAILED\n      ok");
    check("\x1b[5;1HFAILED\x1b[A\rok", "FAILED\nok");
    // A program that asks for the size of its screen moves there and prints nothing.
    check("a\x1b7\x1b[999;999H\x1b[6n\x1b8b", "ab");
}

#[test]
fn lines_of_a_full_page_are_not_pushed_off_or_written_over() {
    let settled = |printed: &str, rows: usize| {
        let mut settler = Settler::with_rows(Offset::ZERO, rows);
        let mut view = View::new(Offset::ZERO);
        settler.feed(printed.as_bytes(), &mut view);
        settler.finish(&mut view);
        view.text().to_owned()
    };
    assert_eq!(settled("a\nb\nFAILED\x1b[Eok\n", 3), "a\nb\nFAILED\nok\n");
    assert_eq!(settled("a\nb\nFAILED\x1b[A\x1b[Lok", 3), "a\nok\nb\nFAILED");
    assert_eq!(settled("FAILED\x1b[Lok", 1), "FAILED\nok");
    assert_eq!(settled("a\x1b7\nb\nFAILED\x1b8ok", 2), "a\nb\nFAILED\nok");
    assert_eq!(settled("a\nb\n\x1b[1Jc", 3), "a\nb\nc");
}

#[test]
fn erasing_the_screen_begins_a_new_page_and_loses_nothing() {
    check("old\n\x1b[H\x1b[2J\x1b[3Jnew\n", "old\nnew\n");
    check("old\x1b[2J\x1b[Hnew\n", "old\nnew\n");
    check("old\n\n\n\n\x1b[H\x1b[Jnew\n", "old\nnew\n");
    check("old\x1bcnew\n", "old\nnew\n");
}

#[test]
fn a_git_clone_shows_its_final_counts() {
    let printed = "Cloning into 'x'...\nremote: Counting objects: 100% (5/5), done.\x1b[K\n\
        Receiving objects:  10% (1/10)\rReceiving objects:  50% (5/10)\rReceiving objects: 100% (10/10), done.\n";
    check(
        printed,
        "Cloning into 'x'...\nremote: Counting objects: 100% (5/5), done.\nReceiving objects: 100% (10/10), done.\n",
    );
}

#[test]
fn a_cargo_build_shows_its_lines_and_no_bar() {
    let printed = "\x1b[1m\x1b[32m   Compiling\x1b[0m a v1.0.0\r\n\
        \x1b[K\x1b[1m\x1b[36m    Building\x1b[0m [===>         ] 1/3: a\r\
        \x1b[K\x1b[1m\x1b[32m   Compiling\x1b[0m b v1.0.0\r\n\
        \x1b[1m\x1b[36m    Building\x1b[0m [======>      ] 2/3: b\r\
        \x1b[K\x1b[1m\x1b[32m    Finished\x1b[0m `dev` profile in 1.02s\r\n";
    check(printed, "   Compiling a v1.0.0\n   Compiling b v1.0.0\n    Finished `dev` profile in 1.02s\n");
}

#[test]
fn a_pip_bar_is_one_line() {
    let printed = "Downloading x.whl (2.0 MB)\r\n\x1b[?25l\
        \x1b[2K   \x1b[38;5;237m━━━━━━━━\x1b[0m \x1b[32m0.0/2.0 MB\x1b[0m \x1b[31m?\x1b[0m eta \x1b[36m-:--:--\x1b[0m\r\
        \x1b[2K   \x1b[38;5;197m━━━━╸\x1b[0m\x1b[38;5;237m━━━\x1b[0m \x1b[32m1.0/2.0 MB\x1b[0m eta \x1b[36m0:00:01\x1b[0m\r\
        \x1b[2K   \x1b[38;5;106m━━━━━━━━\x1b[0m \x1b[32m2.0/2.0 MB\x1b[0m \x1b[31m9.1 MB/s\x1b[0m\r\n\x1b[?25h";
    check(printed, "Downloading x.whl (2.0 MB)\n   ━━━━━━━━ 2.0/2.0 MB 9.1 MB/s\n");
}

#[test]
fn an_npm_spinner_leaves_nothing_behind() {
    let printed = "⠙\x1b[1G\x1b[0K⠹\x1b[1G\x1b[0K⠸\x1b[1G\x1b[0K\nadded 3 packages in 1s\n\x1b[1G\x1b[0K⠸\x1b[1G\x1b[0K";
    check(printed, "\nadded 3 packages in 1s\n");
}

#[test]
fn a_docker_pull_redrawn_over_several_lines_is_its_last_state() {
    let printed = "latest: Pulling from library/x\r\n\
        \x1b[1Baaa: Pulling fs layer \r\x1b[1Bbbb: Pulling fs layer \r\x1b[1B\
        \x1b[2A\x1b[2K\raaa: Downloading [=>    ]  1MB/9MB\r\x1b[2B\
        \x1b[1A\x1b[2K\rbbb: Pull complete \r\x1b[1B\
        \x1b[2A\x1b[2K\raaa: Pull complete \r\x1b[2BDigest: sha256:1\r\n";
    check(
        printed,
        "latest: Pulling from library/x\n\naaa: Pull complete \nbbb: Pull complete \nDigest: sha256:1\n",
    );
}

#[test]
fn a_compose_style_block_redrawn_from_its_top_is_its_last_state() {
    let printed = "[+] Running 0/2\n ⠋ db Pulling 0.1s\n ⠋ web Pulling 0.1s\n\
        \x1b[3A\x1b[?25l[+] Running 1/2\x1b[K\n ✔ db Pulled\x1b[K\n ⠙ web Pulling 0.2s\x1b[K\n\
        \x1b[3A[+] Running 2/2\x1b[K\n ✔ db Pulled\x1b[K\n ✔ web Pulled\x1b[K\n\x1b[?25h";
    check(printed, "[+] Running 2/2\n ✔ db Pulled\n ✔ web Pulled\n");
}

#[test]
fn lines_erased_one_by_one_upwards_are_drawn_anew() {
    let printed = "⠋ build\n  step 1\n\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G✔ build\n  step 2\n";
    check(printed, "✔ build\n  step 2\n");
}

/// The text between is what `apt-get` prints on a terminal of 24 rows.
fn with_status_bar_of_apt(rest: &str) -> String {
    let begin = "Reading lists\r\n\n\x1b7\x1b[0;23r\x1b8\x1b[1A\
        \x1b7\x1b[24;0f\x1b[42m\x1b[30mProgress: [ 10%]\x1b[49m\x1b[39m [#.....] \x1b8\
        Unpacking a ...\r\n\
        \x1b7\x1b[24;0f\x1b[42m\x1b[30mProgress: [ 60%]\x1b[49m\x1b[39m [###...] \x1b8\
        Setting up a ...\r\n";
    format!("{begin}{rest}")
}

#[test]
fn the_status_bar_of_apt_is_not_log_text_of_a_terminal() {
    let printed = with_status_bar_of_apt("\x1b7\x1b[0;24r\x1b8\x1b[1A\x1b[J");
    check_on_terminal(&printed, "Reading lists\nUnpacking a ...\n");
}

#[test]
fn the_status_bar_of_apt_on_a_pipe_is_lines_between_the_others() {
    let printed = with_status_bar_of_apt("\x1b7\x1b[0;24r\x1b8Done\r\n");
    let expected = "Reading lists\nProgress: [ 10%] [#.....] \nUnpacking a ...\n\
        Progress: [ 60%] [###...] \nSetting up a ...\nDone\n";
    check(&printed, expected);
}

#[test]
fn a_wget_bar_and_a_coloured_listing_read_plainly() {
    check(
        "\rx.bin   0%[        ]       0  --.-KB/s    \rx.bin 100%[=======>]  1.00M  --.-KB/s    in 0.1s \n",
        "x.bin 100%[=======>]  1.00M  --.-KB/s    in 0.1s\n",
    );
    check("\x1b[0m\x1b[01;34mdir\x1b[0m  \x1b[01;32mrun.sh\x1b[0m\r\n", "dir  run.sh\n");
}

#[test]
fn lines_know_their_numbers_and_addresses() {
    let printed = b"\x1b[31mone\x1b[0m\r\ntwo\r\n\x1b[1mthree";
    let view = settle(printed, Offset::new(1000));
    let lines: Vec<_> =
        view.lines().map(|l| (l.number.get(), l.text, l.raw.from().get(), l.raw.to().get())).collect();
    assert_eq!(lines, [(1, "one", 1000, 1014), (2, "two", 1014, 1019), (3, "three", 1019, 1028)]);
    assert_eq!(view.raw_at(view.text().len()).get(), 1028);
}

#[test]
fn the_pending_line_shows_the_prompt_as_it_stands() {
    let mut settler = Settler::with_rows(Offset::ZERO, 2);
    let mut settled = View::new(Offset::ZERO);
    settler.feed(b"one\ntwo\nPassword: ", &mut settled);
    assert_eq!(settled.text(), "one\n");
    let pending = settler.pending(&settled);
    assert_eq!(pending.text(), "two\nPassword: ");
    assert_eq!(pending.first_line().get(), 2);
    assert_eq!(pending.raw_at(4).get(), 8);
}

#[test]
fn a_line_without_end_streams_out_in_bounded_memory() {
    let mut settler = Settler::new(Offset::ZERO);
    let mut view = View::new(Offset::ZERO);
    let chunk = vec![b'x'; 1 << 16];
    let mut total = 0;
    for _ in 0..64 {
        settler.feed(&chunk, &mut view);
        assert!(view.lines().all(|line| line.number.get() == 1 && !line.ends));
        total += view.text().len();
        view.clear();
    }
    assert!(settler.pending(&view).text().len() <= 4096);
    assert_eq!(view.first_line().get(), 1);
    assert!(view.begins_mid_line());
    settler.finish(&mut view);
    assert_eq!(total + view.text().len(), 64 << 16);
}
