//! A client of the load: connects, sends several requests at once, and leaves in one of the ways that clients leave.

use super::Server;
use super::job::Job;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_testkit::bytes::Noise;
use windlass_testkit::wire::{Message, RequestId, Wire};
use windlass_testkit::{HANG, survivors};

/// Counts of everything that the clients did.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    rounds: u64,
    vanished: u64,
    stalled: u64,
    programs: u64,
    answers: u64,
    bytes: u64,
    nonsense: u64,
}

pub(super) struct Client {
    socket: PathBuf,
    marker: String,
    noise: Noise,
    tally: Tally,
}

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Everything is read and checked.
    Orderly,
    /// Nothing is read for a while, then everything.
    Stalling,
    /// The client disconnects in the middle.
    Vanishing,
}

/// Lines that have no answer.
const NONSENSE: &[&[u8]] = &[
    b"null\n",
    b"[]\n",
    b"{}\n",
    b"{\n",
    b"\xff\xfe\n",
    b"{\"method\":\"nothing\"}\n",
    b"\"text\"\n",
    b"{\"id\":null}\n",
];

impl Client {
    pub(super) fn new(server: &Server, seed: u64, number: u64) -> Self {
        Self {
            socket: server.socket(),
            marker: format!("{}{number}", server.marker()),
            noise: Noise::new(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9))),
            tally: Tally::default(),
        }
    }

    /// Round after round until the time is up.
    pub(super) fn work(mut self, until: Instant) -> Result<Tally> {
        while Instant::now() < until {
            self.tally.rounds += 1;
            let marker = format!("{}-{}-", self.marker, self.tally.rounds);
            let manner = match self.noise.word() % 5 {
                0 => Manner::Vanishing,
                1 => Manner::Stalling,
                _ => Manner::Orderly,
            };
            self.round(manner, &marker).with_context(|| format!("{manner:?} round {marker}"))?;
            nothing_survives(&marker)?;
        }
        Ok(self.tally)
    }

    fn round(&mut self, manner: Manner, marker: &str) -> Result<()> {
        let mut wire = Wire::connect_path(&self.socket)?;
        let who = json!({ "name": "soak", "version": "1" });
        wire.request("initialize", &json!({ "clientInfo": who }))??;
        wire.notify("initialized")?;
        let mut round = Round::default();
        for number in 0..=self.noise.word() % 10 {
            round.start(&mut wire, Job::any(&mut self.noise, marker, &number.to_string()))?;
            if self.noise.word().is_multiple_of(4) {
                self.tally.nonsense += 1;
                wire.send_bytes(NONSENSE[(self.noise.word() % NONSENSE.len() as u64) as usize])?;
            }
        }
        self.tally.programs += round.jobs.len() as u64;
        match manner {
            Manner::Vanishing => {
                self.tally.vanished += 1;
                for _ in 0..self.noise.word() % 20 {
                    if round.is_over() {
                        break;
                    }
                    round.take(wire.next_message()?)?;
                }
                return Ok(());
            }
            Manner::Stalling => {
                self.tally.stalled += 1;
                // A clock that is a process: the time in which nothing is read is what is tested.
                let time = format!("0.{}", 1 + self.noise.word() % 9);
                ensure!(Command::new("sleep").arg(time).status()?.success(), "sleep failed");
            }
            Manner::Orderly => {}
        }
        while !round.is_over() {
            round.take(wire.next_message()?)?;
        }
        self.tally.answers += round.answers;
        self.tally.bytes += round.bytes;
        round.nothing_comes_after(&mut wire)
    }
}

/// The jobs and requests under way on one connection.
#[derive(Default)]
struct Round {
    jobs: BTreeMap<String, Job>,
    /// Which job a request started.
    asked: BTreeMap<RequestId, String>,
    /// Requests about jobs.
    controls: BTreeMap<RequestId, &'static str>,
    answers: u64,
    bytes: u64,
}

impl Round {
    fn start(&mut self, wire: &mut Wire, mut job: Job) -> Result<()> {
        let name = match job.params["processId"].as_str() {
            Some(name) => name.to_owned(),
            None => format!("nameless {}", self.jobs.len()),
        };
        self.asked.insert(wire.ask("command/exec", &job.params)?, name.clone());
        for (method, params) in std::mem::take(&mut job.controls) {
            self.controls.insert(wire.ask(method, &params)?, method);
        }
        self.jobs.insert(name, job);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.asked.is_empty() && self.controls.is_empty()
    }

    fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Notice { method, params } if method == "command/exec/outputDelta" => {
                self.output(&params)
            }
            Message::Notice { .. } => Ok(()),
            Message::Answer { id, result } => {
                self.answers += 1;
                let id = id.context("an answer to nothing")?;
                if self.controls.remove(&id).is_some() {
                    // An error because the process has already exited is a valid answer.
                    ensure!(result.as_ref().err().is_none_or(|refusal| refusal.code == -32600), "{result:?}");
                    return Ok(());
                }
                let name = self.asked.remove(&id).with_context(|| format!("{id:?} was answered twice"))?;
                let job = self.jobs.get(&name).context("a job")?;
                self.bytes += job.streamed() as u64;
                job.judge(&result)
            }
        }
    }

    fn output(&mut self, params: &Value) -> Result<()> {
        let name = params["processId"].as_str().context("output of nobody")?;
        ensure!(self.asked.values().any(|asked| asked == name), "output after the answer: {params}");
        self.jobs.get_mut(name).context("output of somebody else")?.take(params)
    }

    /// A later request is answered, and nothing else comes before that.
    fn nothing_comes_after(&self, wire: &mut Wire) -> Result<()> {
        let last = wire.ask("command/exec", &json!({ "command": ["/bin/true"] }))?;
        loop {
            match wire.next_message()? {
                Message::Answer { id, .. } if id == Some(last) => return Ok(()),
                Message::Answer { id, .. } => bail!("{id:?} was answered twice"),
                Message::Notice { method, params } if method == "command/exec/outputDelta" => {
                    bail!("output after the answer: {params}")
                }
                Message::Notice { .. } => {}
            }
        }
    }
}

/// Waits until no process has the marker in its command line.
fn nothing_survives(marker: &str) -> Result<()> {
    let deadline = Instant::now() + HANG;
    loop {
        let found = survivors::bearing(marker);
        if found.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "these are left: {found:?}");
        let pids = found.iter().filter_map(|line| line.split(' ').next()?.parse().ok());
        let held: Vec<Process> = pids.filter_map(|pid| Process::open(Pid::new(pid)).ok()).collect();
        wait_until_gone(&held, HANG);
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.vanished += other.vanished;
        self.stalled += other.stalled;
        self.programs += other.programs;
        self.answers += other.answers;
        self.bytes += other.bytes;
        self.nonsense += other.nonsense;
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { rounds, vanished, stalled, programs, answers, bytes, nonsense } = self;
        json!({
            "rounds": rounds, "vanished": vanished, "stalled": stalled, "programs": programs, "answers": answers,
            "bytes": bytes, "nonsense": nonsense,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, vanished, stalled, programs, answers, bytes, nonsense } = self;
        write!(
            f,
            "{rounds} connections ({vanished} vanished, {stalled} did not read for a while), {programs} programs, \
             {answers} answers, {bytes} bytes streamed and compared, {nonsense} lines of nonsense"
        )
    }
}
