//! Command lines of real programs that can write files or run others: options in every spelling (short, bundled,
//! attached, long, shortened), in any order and between the operands.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A program: options as `short,long=value`, short options without a value for bundles, and sets of operands.
struct Tool {
    name: &'static str,
    /// How long options begin.
    dashes: &'static str,
    options: &'static [&'static str],
    letters: &'static [&'static str],
    operands: &'static [&'static [&'static str]],
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "sort",
        dashes: "--",
        options: &[
            "o,output=file",
            "u,unique",
            "r,reverse",
            "k,key=1",
            "S,buffer-size=1k",
            ",compress-program=cmd",
            "T,temporary-directory=.",
        ],
        letters: &["u", "r", "n", "b"],
        operands: &[&["x"], &["x", "x"], &[]],
    },
    Tool {
        name: "uniq",
        dashes: "--",
        options: &["c,count", "d,repeated", "f,skip-fields=1", "w,check-chars=2", "z,zero-terminated"],
        letters: &["c", "d", "i"],
        operands: &[&["x"], &["x", "file"], &["-", "file"], &[]],
    },
    Tool {
        name: "shuf",
        dashes: "--",
        options: &["o,output=file", "n,head-count=1", "z,zero-terminated", "i,input-range=1-3"],
        letters: &["z", "e"],
        operands: &[&["x"], &[]],
    },
    Tool {
        name: "split",
        dashes: "--",
        options: &[
            "l,lines=1",
            "a,suffix-length=3",
            "d",
            ",filter=cmd",
            ",additional-suffix=z",
            "t,separator=a",
        ],
        letters: &["d", "x", "e", "u"],
        operands: &[&["x"], &["x", "file"], &["-"]],
    },
    Tool {
        name: "csplit",
        dashes: "--",
        options: &["f,prefix=file", "n,digits=1", "k,keep-files", "s,quiet", "b,suffix-format=%d"],
        letters: &["k", "s", "z"],
        operands: &[&["x", "2"], &["x", "/a/"]],
    },
    Tool {
        name: "sed",
        dashes: "--",
        options: &[
            "i,in-place",
            "n,quiet",
            "e,expression=p",
            "e,expression=1efile",
            "e,expression=1ecmd",
            "e,expression=wfile",
            "E,regexp-extended",
            "s,separate",
            "f,file=x",
        ],
        letters: &["n", "E", "s", "i"],
        operands: &[&["x"], &["p", "x"], &["1ecmd", "x"], &["s/a/cmd/e", "x"], &["wfile", "x"]],
    },
    Tool {
        name: "find",
        dashes: "-",
        options: &[
            ",name=x",
            ",fprint=file",
            ",fls=file",
            ",delete",
            ",exec=cmd ;",
            ",execdir=cmd ;",
            ",maxdepth=1",
            ",type=f",
            ",print",
            ",ok=cmd ;",
        ],
        letters: &[],
        operands: &[&["."], &["x"], &[]],
    },
    Tool {
        name: "iconv",
        dashes: "--",
        options: &["o,output=file", "f,from-code=UTF-8", "t,to-code=UTF-8", "c", "s,silent"],
        letters: &["c", "s"],
        operands: &[&["x"], &[]],
    },
    Tool {
        name: "xxd",
        dashes: "-",
        options: &["c,cols=8", "l,len=4", "p,ps", "r", "s,seek=0", "u"],
        letters: &[],
        operands: &[&["x"], &["x", "file"], &["-", "file"]],
    },
    Tool {
        name: "ptx",
        dashes: "--",
        options: &["G,traditional", "w,width=20", "f,ignore-case", "r,references"],
        letters: &["f", "r", "G"],
        operands: &[&["x"], &["x", "file"]],
    },
    Tool {
        name: "tree",
        dashes: "--",
        options: &["o=file", "L=1", "a", "P=x", "I=x", ",noreport", ",charset=utf-8", "R"],
        letters: &["a", "d", "L", "o", "f"],
        operands: &[&["."], &["1", "file"], &[]],
    },
    Tool {
        name: "sdiff",
        dashes: "--",
        options: &[
            "o,output=file",
            "s,suppress-common-lines",
            ",diff-program=cmd",
            "w,width=20",
            "i,ignore-case",
        ],
        letters: &["s", "i", "t"],
        operands: &[&["x", "x"]],
    },
    Tool {
        name: "diff3",
        dashes: "--",
        options: &["m,merge", ",diff-program=cmd", "L,label=a", "A,show-all", "e,ed"],
        letters: &["m", "a", "T"],
        operands: &[&["x", "x", "x"]],
    },
    Tool {
        name: "awk",
        dashes: "--",
        options: &["v=a=1", "F=:", "f=x"],
        letters: &[],
        operands: &[
            &["{ print }", "x"],
            &["BEGIN { system(\"cmd\") }"],
            &["{ print > \"file\" }", "x"],
            &["{ print | \"cmd\" }", "x"],
            &["BEGIN { \"cmd\" | getline }"],
        ],
    },
    Tool {
        name: "sqlite3",
        dashes: "-",
        options: &[
            ",readonly",
            ",cmd=.shell cmd",
            ",cmd=.once file",
            ",csv",
            ",header",
            ",init=x",
            ",separator=|",
            ",batch",
        ],
        letters: &[],
        operands: &[
            &[":memory:", "select 1"],
            &["file", "create table t(a)"],
            &[":memory:", "select writefile('file', 'a')"],
            &[":memory:", "select 1; attach 'file' as f; create table f.t(a)"],
            &[":memory:", ".output file", "select 1"],
            &[":memory:", ".shell cmd"],
            &[":memory:", "select edit('a', 'cmd')"],
            &[":memory:", "vacuum/**/into 'file'"],
            &[":memory:", ".import '|cmd' t"],
        ],
    },
    Tool {
        name: "zstd",
        dashes: "--",
        options: &[
            "c,stdout",
            "o=file",
            "q,quiet",
            "f,force",
            ",output-dir-flat=.",
            "T0",
            "19",
            "d,decompress",
            ",fast=3",
        ],
        letters: &["c", "q", "f", "T0", "3"],
        operands: &[&["x", "-c"], &["-c", "x"]],
    },
    Tool {
        name: "strace",
        dashes: "--",
        options: &[
            "o,output=file",
            "o,output=|cmd",
            "f,follow-forks",
            "c,summary-only",
            "e=trace=openat",
            "s,string-limit=9",
            "q",
            "E,env=PATH=.",
        ],
        letters: &["f", "c", "t", "v"],
        operands: &[&["cat", "x"], &["cmd"]],
    },
    Tool {
        name: "rg",
        dashes: "--",
        options: &[
            ",pre=cmd",
            "n,line-number",
            "i,ignore-case",
            "g,glob=x",
            "e,regexp=a",
            "l,files-with-matches",
            "C,context=1",
        ],
        letters: &["n", "i", "l", "w"],
        operands: &[&["a", "x"], &["a"], &["a", "."]],
    },
    Tool {
        name: "fdfind",
        dashes: "--",
        options: &[
            "x,exec=cmd",
            "X,exec-batch=cmd",
            "t,type=f",
            "H,hidden",
            "d,max-depth=1",
            "e,extension=rs",
        ],
        letters: &["H", "I", "l", "x"],
        operands: &[&["x"], &["."], &[]],
    },
    Tool {
        name: "dc",
        dashes: "--",
        options: &["e,expression=1p", "e,expression=!cmd", "f,file=x"],
        letters: &[],
        operands: &[&["x"], &[]],
    },
    Tool {
        name: "file",
        dashes: "--",
        options: &["b,brief", "C,compile", "m,magic-file=x", "i,mime", "f,files-from=x"],
        letters: &["b", "i", "C"],
        operands: &[&["x"], &[]],
    },
];

/// The names of the programs.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name)
}

/// Command lines, always the same.
pub(super) fn generate(count: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let strategy = command_line();
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).expect("the strategy rejects nothing").current())
        .collect()
}

fn command_line() -> impl Strategy<Value = String> {
    prop::sample::select((0..TOOLS.len()).collect::<Vec<_>>()).prop_flat_map(|tool| {
        let tool = &TOOLS[tool];
        let spelled = (prop::sample::select(tool.options), 0..8_u8, any::<prop::sample::Index>())
            .prop_map(|(option, spelling, cut)| spell(tool, option, (spelling, cut)));
        let options = prop::collection::vec((spelled, any::<prop::sample::Index>()), 0..4);
        (options, prop::sample::select(tool.operands), 0..6_u8).prop_map(|(options, operands, around)| {
            // Words that belong together are moved together.
            let mut words: Vec<String> = operands.iter().map(|word| quoted(word)).collect();
            for (option, place) in options {
                words.insert(place.index(words.len() + 1), option);
            }
            let line = format!("{} {}", tool.name, words.join(" "));
            match around {
                0 => format!("nice {line}"),
                1 => format!("echo '!cmd' | {line}"),
                2 => format!("{line} < x"),
                _ => line,
            }
        })
    })
}

/// An option in one of its spellings.
fn spell(tool: &Tool, option: &str, (spelling, cut): (u8, prop::sample::Index)) -> String {
    let (names, value) = option.split_once('=').map_or((option, None), |(names, value)| (names, Some(value)));
    let (short, long) = names.split_once(',').unwrap_or((names, ""));
    let values =
        value.map(|value| if value.ends_with(" ;") { value.replace(';', "\\;") } else { quoted(value) });
    let attached = |name: String, sign: &str| match &values {
        Some(value) => format!("{name}{sign}{value}"),
        None => name,
    };
    let shortened = &long[..long.len().min(cut.index(long.len() + 1).max(3))];
    let bundled = match tool.letters {
        [] => String::new(),
        letters => letters[cut.index(letters.len())].to_owned(),
    };
    match (short, long, spelling) {
        ("", long, 0..=3) => attached(format!("{}{long}", tool.dashes), " "),
        ("", long, 4 | 5) => attached(format!("{}{long}", tool.dashes), "="),
        ("", _, _) => attached(format!("{}{shortened}", tool.dashes), "="),
        (short, _, 0 | 1) | (short, "", 5..) => attached(format!("-{short}"), " "),
        (short, _, 2) => attached(format!("-{short}"), ""),
        (short, _, 3) => attached(format!("-{bundled}{short}"), " "),
        (short, _, 4) => attached(format!("-{bundled}{short}"), ""),
        (_, long, 5) => attached(format!("{}{long}", tool.dashes), " "),
        (_, long, 6) => attached(format!("{}{long}", tool.dashes), "="),
        (_, _, _) => attached(format!("{}{shortened}", tool.dashes), "="),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
