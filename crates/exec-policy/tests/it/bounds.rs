//! No text makes it panic, overflow the stack or take long.

use proptest::prelude::*;
use windlass_exec_policy::{Rules, ShellKind, Verdict, fuzzing};

/// Pieces of scripts, so that random texts get further than their first character.
const PIECES: [&str; 48] = [
    "git push",
    "git",
    "push",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "((",
    "))",
    "[[",
    "]]",
    "if ",
    "then ",
    "fi",
    "while ",
    "do ",
    "done",
    "case x in ",
    "esac",
    ";;",
    "for x in ",
    "'",
    "\"",
    "`",
    "$(",
    "${",
    "$((",
    "$'",
    "\\",
    "<<EOF\n",
    "EOF\n",
    "<(",
    ">",
    "=",
    "x=",
    "sh -c ",
    "eval ",
    "env ",
    "#",
    "~",
    "é",
];

proptest! {
    #[test]
    fn any_bytes_are_judged(data in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzzing::judge_any(&data);
    }

    #[test]
    fn any_pieces_of_scripts_are_judged(choice in prop::collection::vec(0..PIECES.len(), 0..80)) {
        let script: String = choice.into_iter().map(|place| PIECES[place]).collect();
        fuzzing::judge_any(script.as_bytes());
    }
}

/// Judged on a thread with a small stack; a test that hangs here has failed.
#[track_caller]
fn check_hostile(script: String) {
    let judged = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let rules = Rules::default();
        [ShellKind::Bash, ShellKind::Zsh, ShellKind::Posix]
            .map(|shell| rules.judge_script(&script, shell).verdict)
    });
    let verdicts = judged.expect("a thread starts").join().expect("it does not panic");
    assert_eq!(verdicts, [Verdict::Ask; 3]);
}

#[test]
fn what_is_nested_too_deeply_is_asked_about() {
    const MANY: usize = 50_000;
    for opening in [
        "(", "{ ", "$(", "`", "${x:-", "\"$(", "$((", "if ", "while ", "! ", "time ", "coproc ", "f() ", "<(",
    ] {
        check_hostile(opening.repeat(MANY / opening.len()));
    }
    check_hostile("$(".repeat(20_000) + &")".repeat(20_000));
    check_hostile("( ".repeat(20_000) + "ls" + &")".repeat(20_000));
    check_hostile("env ".repeat(10_000) + "ls");
    check_hostile("eval ".repeat(10_000) + "ls");
    check_hostile("perf ".repeat(5_000));
    check_hostile("parallel ".repeat(5_000));
    check_hostile("tmux sh -c ".repeat(5_000));
}

#[test]
fn what_is_too_long_is_asked_about() {
    check_hostile("ls; ".repeat(100_000));
    check_hostile("ls; ".repeat(50_000));
    check_hostile("x".repeat(300_000));
}

#[test]
fn long_words_do_not_take_long() {
    let rules = Rules::default();
    for unit in ["[", "]", "{,", "a[", "x=", "1", "{x", "\\\n", "$x", "*", "''", "<<<x ", "2>x ", "[x]= "] {
        let script = format!("ls {}", unit.repeat(200_000 / unit.len()));
        let _judgement = rules.judge_script(&script, ShellKind::Bash);
    }
    for script in [
        format!("rsync -{} x", "a".repeat(200_000)),
        format!("env -{} x", "i".repeat(200_000)),
        format!("tar {} x", "v".repeat(200_000)),
        format!("tar {}", "-v ".repeat(60_000)),
        format!("gcc {}", "-O2 ".repeat(50_000)),
        format!("sed '{}'", "s/[/]/x/;".repeat(20_000)),
        format!("awk '{}'", "x / y ".repeat(30_000)),
        format!("let {}", "'a[$(x)]' ".repeat(10_000)),
        (0..15_000).map(|n| format!("v{n}=v{} ", n + 1)).collect::<String>() + "; echo $((v0))",
        format!("echo {}", "$((x)) ".repeat(30_000)),
    ] {
        let _judgement = rules.judge_script(&script, ShellKind::Bash);
    }
    for script in ["cat <<A\n".repeat(20_000), "cat <<A <<B\nA\nB\n".repeat(10_000), "'".repeat(200_000)] {
        let _judgement = rules.judge_script(&script, ShellKind::Bash);
    }
}
