//! How fast tokens are counted, how soon the first count is there, and what memory it takes; and the same with the
//! `tiktoken` crate, which the program does not contain. Both must come to the same count.

use super::{figure, memory};
use crate::order::WorkSpec;
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;
use windlass_output::Tokenizer;

/// A text is counted this often; the best counts, as with any work that is all processor.
const TIMES: usize = 5;

pub(super) fn measure(order: &WorkSpec) -> Result<()> {
    let text = text(order.text("text")?, order.number("bytes")?)?;
    let count: fn(&str) -> Result<u64> = match order.text("by")? {
        "ours" => ours,
        "tiktoken" => theirs,
        other => bail!("`by={other}` is neither ours nor tiktoken"),
    };
    let resident = memory::resident_kib()?;
    let begun = Instant::now();
    black_box(count("a first count")?);
    figure("first_micros", begun.elapsed().as_secs_f64() * 1e6);
    let mut best = f64::MAX;
    let mut counted = 0;
    for _ in 0..TIMES {
        let begun = Instant::now();
        counted = count(&text)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    figure("gained_mib", (memory::resident_kib()? - resident).max(0.0) / 1024.0);
    figure("mb_per_s", text.len() as f64 / 1e6 / best);
    ensure!(counted == theirs(&text)?, "{counted} tokens, where tiktoken counts otherwise");
    Ok(())
}

fn ours(text: &str) -> Result<u64> {
    Ok(Tokenizer::O200k.count(text).get())
}

fn theirs(text: &str) -> Result<u64> {
    Ok(tiktoken::get_encoding("o200k_base").context("no vocabulary")?.count(text) as u64)
}

fn text(kind: &str, bytes: usize) -> Result<String> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        match kind {
            "log" => log_line(&mut random, &mut text)?,
            "code" => text.push_str(random.one_of(CODE)),
            "prose" => text.push_str(random.one_of(PROSE)),
            "cjk" => cjk_line(&mut random, &mut text)?,
            "base64" => base64_line(&mut random, &mut text),
            other => bail!("there is no text `{other}`"),
        }
    }
    Ok(text)
}

fn log_line(random: &mut Random, log: &mut String) -> std::fmt::Result {
    let (second, micros) = (random.below(60), random.below(1_000_000));
    let level = random.one_of(&["INFO", "WARN", "ERROR", "DEBUG"]);
    write!(log, "2026-11-16T09:14:{second:02}.{micros:06}Z {level:5} [{}]", random.one_of(LOG_WORDS))?;
    for _ in 0..3 + random.below(9) {
        write!(log, " {}", random.one_of(LOG_WORDS))?;
    }
    writeln!(log, " id={:08x} took={}ms", random.below(u32::MAX as usize), random.below(5000))
}

fn cjk_line(random: &mut Random, text: &mut String) -> std::fmt::Result {
    write!(text, "{} ", random.below(10_000))?;
    for _ in 0..1 + random.below(4) {
        text.push_str(random.one_of(CJK));
    }
    text.write_char('\n')
}

fn base64_line(random: &mut Random, text: &mut String) {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.extend((0..76).map(|_| char::from(random.one_of(letters))));
    text.push('\n');
}

const LOG_WORDS: &[&str] = &[
    "connection",
    "accepted",
    "from",
    "10.0.3.17:51234",
    "timeout",
    "waiting",
    "for",
    "upstream",
    "retry",
    "worker-3",
    "GET",
    "/api/v1/users",
    "POST",
    "200",
    "OK",
    "cache",
    "miss",
    "user_id",
    "session",
    "closed",
    "handler",
    "error:",
    "failed",
    "to",
    "parse",
    "config.yaml",
    "module",
    "compiled",
    "Downloading",
    "crate",
    "warning:",
    "unused",
    "variable:",
    "`count`",
    "src/main.rs:42:17",
    "(os error 2)",
    "test",
    "...",
    "ok",
    "1.25s",
    "bytes=48213",
];

const CODE: &[&str] = &[
    include_str!("../comparison.rs"),
    include_str!("../rounds.rs"),
    include_str!("../report.rs"),
    include_str!("../../bare/bare.c"),
];

const PROSE: &[&str] = &[
    include_str!("../../../ARCHITECTURE.md"),
    include_str!("../../../GLOSSARY.md"),
    include_str!("../../../CONTRIBUTING.md"),
    include_str!("../../../docs/gotchas.md"),
];

const CJK: &[&str] = &[
    "処理が完了しました。",
    "次の要求を待っています…",
    "ファイルが見つかりません：",
    "接続がタイムアウトしました、",
    "再試行します。",
    "正在编译模块",
    "，请稍候。",
    "无法打开文件",
    "：权限不够。",
    "测试全部通过。",
    "下载已完成",
    "연결이 거부되었습니다. ",
    "다시 시도하는 중",
];

/// xorshift: the same text every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
