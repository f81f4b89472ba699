//! The table of comparisons: each work, its reference, and its bar. The bars are promises: they are not moved to be
//! met.

use crate::order::WorkSpec;
use std::fmt;

/// Two sides doing the same work, and the rows of the table for it.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) reference: Reference,
    pub(crate) ours: WorkSpec,
    pub(crate) rows: Vec<Row>,
}

/// The reference with which ours is compared.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// The bare program, doing this.
    Bare(WorkSpec),
    /// Ours as well, under other circumstances.
    Ours(WorkSpec),
    /// Nothing: the bars are absolute.
    Nothing,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Which of the figures that a side prints.
    pub(crate) figure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) bar: Bar,
}

/// How good a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// At most so many times the reference.
    MostTimes(f64),
    /// At least so many times the reference.
    LeastTimes(f64),
    /// At most this, whatever the reference.
    Most(f64),
    /// At least this, whatever the reference.
    Least(f64),
}

impl Bar {
    pub(crate) fn is_met(self, ours: f64, ratio: Option<f64>) -> bool {
        match self {
            Self::MostTimes(most) => ratio.is_some_and(|ratio| ratio <= most),
            Self::LeastTimes(least) => ratio.is_some_and(|ratio| ratio >= least),
            Self::Most(most) => ours <= most,
            Self::Least(least) => ours >= least,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MostTimes(most) => write!(f, "<= {}x", rounded(*most)),
            Self::LeastTimes(least) => write!(f, ">= {least}x"),
            Self::Most(most) => write!(f, "<= {most}"),
            Self::Least(least) => write!(f, ">= {least}"),
        }
    }
}

/// Rounds to three decimals, so that no meaningless digits are printed.
fn rounded(times: f64) -> f64 {
    (times * 1e3).round() / 1e3
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.rows.iter().map(|row| row.name).collect();
        f.write_str(&names.join(", "))
    }
}

/// How much is done in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Full,
    Tiny,
}

impl Scale {
    fn of(self, full: u64, tiny: u64) -> u64 {
        match self {
            Self::Full => full,
            Self::Tiny => tiny,
        }
    }
}

const MIB: u64 = 1 << 20;

/// Everything that is measured, in the order of the table.
pub(crate) fn all(scale: Scale) -> Vec<Comparison> {
    vec![
        spawn_on_pipes(scale),
        spawn_on_terminals(scale),
        spawn_when_large(scale, "pipe"),
        spawn_when_large(scale, "terminal"),
        flood_through_a_pipe(scale),
        flood_through_a_terminal(scale),
        echo(scale, 0),
        echo(scale, scale.of(1000, 10)),
        idle_on_pipes(scale),
        idle_on_terminals(scale),
        exit(scale),
        settle(scale, "plain"),
        settle(scale, "colour"),
        tokens_of_a_log(scale),
        tokens(scale, "code"),
        tokens(scale, "prose"),
        tokens(scale, "cjk"),
        tokens(scale, "base64"),
    ]
}

fn spawn(scale: Scale, io: &str) -> WorkSpec {
    WorkSpec::new("spawn").with("io", io).with("count", scale.of(100, 5))
}

fn spawn_on_pipes(scale: Scale) -> Comparison {
    let row = Row {
        name: "spawn-pipe",
        what: "start and wait for /bin/true, pipes",
        figure: "micros",
        unit: "us",
        bar: Bar::MostTimes(1.25),
    };
    against_bare(&spawn(scale, "pipe"), vec![row])
}

fn spawn_on_terminals(scale: Scale) -> Comparison {
    let row = Row {
        name: "spawn-terminal",
        what: "start and wait for /bin/true, terminal",
        figure: "micros",
        unit: "us",
        bar: Bar::MostTimes(1.35),
    };
    against_bare(&spawn(scale, "terminal"), vec![row])
}

/// A runtime that forked would pay for every page it has.
fn spawn_when_large(scale: Scale, io: &str) -> Comparison {
    let ballast = scale.of(512 * MIB, 4 * MIB);
    let (name, what) = match io {
        "pipe" => ("spawn-pipe-512", "the same, 512 MB resident, against itself when small"),
        _ => ("spawn-terminal-512", "the same on a terminal"),
    };
    let row = Row { name, what, figure: "micros", unit: "us", bar: Bar::MostTimes(1.3) };
    Comparison {
        reference: Reference::Ours(spawn(scale, io).with("ballast", 0)),
        ours: spawn(scale, io).with("ballast", ballast),
        rows: vec![row],
    }
}

fn flood_through_a_pipe(scale: Scale) -> Comparison {
    let speed = Row {
        name: "flood-pipe",
        what: "1 GiB through a pipe into the journal",
        figure: "mb_per_s",
        unit: "MB/s",
        bar: Bar::LeastTimes(0.4),
    };
    let memory = Row {
        name: "flood-pipe-memory",
        what: "resident memory gained by that",
        figure: "gained_mib",
        unit: "MiB",
        bar: Bar::Most(32.0),
    };
    let order = WorkSpec::new("flood").with("io", "pipe").with("bytes", scale.of(1024 * MIB, MIB));
    against_bare(&order, vec![speed, memory])
}

fn flood_through_a_terminal(scale: Scale) -> Comparison {
    let row = Row {
        name: "flood-terminal",
        what: "100 MB through a terminal into the journal",
        figure: "mb_per_s",
        unit: "MB/s",
        bar: Bar::LeastTimes(0.9),
    };
    let order = WorkSpec::new("flood").with("io", "terminal").with("bytes", scale.of(100 * MIB, MIB));
    against_bare(&order, vec![row])
}

fn echo(scale: Scale, idle: u64) -> Comparison {
    let (name, what) = match idle {
        0 => ("echo", "a line typed and printed back by cat"),
        _ => ("echo-1000", "the same beside 1000 idle terminals"),
    };
    let row = Row { name, what, figure: "micros", unit: "us", bar: Bar::MostTimes(4.0) };
    let count = scale.of(2000, 20);
    let order = WorkSpec::new("echo").with("io", "terminal").with("count", count).with("idle", idle);
    against_bare(&order, vec![row])
}

fn idle(scale: Scale, io: &str) -> WorkSpec {
    WorkSpec::new("idle").with("io", io).with("count", scale.of(1000, 10))
}

fn idle_on_pipes(scale: Scale) -> Comparison {
    let rows = vec![
        memory_each("idle-pipe-memory", "resident memory per idle session, pipes", 32.0),
        threads("idle-pipe-threads"),
        ending("idle-pipe-end", "ending 1000 of them"),
    ];
    against_bare(&idle(scale, "pipe"), rows)
}

fn idle_on_terminals(scale: Scale) -> Comparison {
    let rows = vec![
        memory_each("idle-terminal-memory", "resident memory per idle session, terminals", 48.0),
        threads("idle-terminal-threads"),
        ending("idle-terminal-end", "ending 1000 of them"),
    ];
    against_bare(&idle(scale, "terminal"), rows)
}

fn memory_each(name: &'static str, what: &'static str, most: f64) -> Row {
    Row { name, what, figure: "each_kib", unit: "KiB", bar: Bar::Most(most) }
}

fn threads(name: &'static str) -> Row {
    Row { name, what: "threads gained by 1000 of them", figure: "threads", unit: "", bar: Bar::Most(0.0) }
}

fn ending(name: &'static str, what: &'static str) -> Row {
    Row { name, what, figure: "end_ms", unit: "ms", bar: Bar::MostTimes(3.0) }
}

fn exit(scale: Scale) -> Comparison {
    let row = Row {
        name: "exit",
        what: "from the child's exit to the answer",
        figure: "micros",
        unit: "us",
        bar: Bar::MostTimes(2.0),
    };
    against_bare(&WorkSpec::new("exit").with("count", scale.of(100, 5)), vec![row])
}

fn settle(scale: Scale, text: &str) -> Comparison {
    let (name, what, least) = match text {
        "plain" => ("settle-plain", "settled text of a plain log", 500.0),
        _ => ("settle-colour", "settled text of a coloured log", 250.0),
    };
    let row = Row { name, what, figure: "mb_per_s", unit: "MB/s", bar: Bar::Least(least) };
    let order = WorkSpec::new("settle").with("text", text).with("bytes", scale.of(64 * MIB, MIB));
    Comparison { reference: Reference::Nothing, ours: order, rows: vec![row] }
}

/// Beside the same with the `tiktoken` crate.
fn tokens(scale: Scale, text: &str) -> Comparison {
    let (name, what, least) = match text {
        "log" => ("tokens-log", "tokens of a log, against the tiktoken crate", 1.4),
        "code" => ("tokens-code", "tokens of source code", 1.5),
        "prose" => ("tokens-prose", "tokens of English text", 1.5),
        "cjk" => ("tokens-cjk", "tokens of Japanese, Chinese and Korean", 0.8),
        _ => ("tokens-base64", "tokens of base64", 1.3),
    };
    let row = Row { name, what, figure: "mb_per_s", unit: "MB/s", bar: Bar::LeastTimes(least) };
    let order = WorkSpec::new("tokens").with("text", text).with("bytes", scale.of(8 * MIB, MIB / 16));
    let reference = Reference::Ours(order.clone().with("by", "tiktoken"));
    Comparison { reference, ours: order.with("by", "ours"), rows: vec![row] }
}

fn tokens_of_a_log(scale: Scale) -> Comparison {
    let first = Row {
        name: "tokens-first",
        what: "the first count of a process",
        figure: "first_micros",
        unit: "us",
        bar: Bar::MostTimes(0.05),
    };
    let memory = Row {
        name: "tokens-memory",
        what: "resident memory gained by counting a log",
        figure: "gained_mib",
        unit: "MiB",
        bar: Bar::Most(4.0),
    };
    let mut comparison = tokens(scale, "log");
    comparison.rows.extend([first, memory]);
    comparison
}

fn against_bare(order: &WorkSpec, rows: Vec<Row>) -> Comparison {
    Comparison { reference: Reference::Bare(order.clone()), ours: order.clone(), rows }
}
