//! Mixed random load with faults on one `windlass app-server`, for any length of time: clients that connect and leave
//! in every way, programs of every kind, lines that are not messages. No output may be lost, no process may remain,
//! every request is answered once, and the server's memory and descriptors stay flat.
//!
//! The seed is printed; the same seed makes the same clients do the same, though not at the same moments.

mod client;
mod job;
mod weight;

use crate::arguments::SoakArguments;
use crate::place::BenchFolder;
use anyhow::{Context, Result, ensure};
use client::{Client, Tally};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use weight::Weight;
use windlass_testkit::{hang_deadline, survivors};

/// How often the server is measured in all: often enough to see a slope.
const WEIGHINGS: u32 = 100;

/// The number of the client that comes before all others.
const WARM_UP: u64 = u64::MAX;

/// Runs the load and prints the result.
pub(crate) fn run(arguments: &SoakArguments) -> Result<()> {
    let place = BenchFolder::beside_this_program()?;
    let server = Server::start(&place)?;
    let seed = arguments.seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("seed {seed}, {} clients, {:?}", arguments.clients(), arguments.length());
    // The server opens the descriptors for its commands' limits with the first of them, and keeps them.
    Client::new(&server, seed, WARM_UP).work(Instant::now() + Duration::from_millis(500))?;
    let at_rest = server.settled()?;
    let (tally, weights) = load(&server, seed, arguments)?;
    let in_the_end = server.settled()?;
    let left = survivors::bearing(&server.marker());
    println!("{tally}\nat rest before {at_rest}\nat rest after  {in_the_end}");
    let (early, late) = weight::halves(&weights);
    println!("at work: at most {early:.1} MiB in the first half, {late:.1} MiB in the second");
    if let Some(path) = &arguments.json {
        let told = json!({ "seed": seed, "tally": tally.to_json(), "early_mib": early, "late_mib": late, "left": left.len() });
        std::fs::write(path, format!("{told:#}\n")).with_context(|| format!("writing {}", path.display()))?;
    }
    ensure!(left.is_empty(), "these are left: {left:?}");
    ensure!(in_the_end.descriptors <= at_rest.descriptors + 2, "descriptors were lost");
    ensure!(late <= early * 1.25 + 16.0, "memory grows");
    server.end()
}

/// All clients at once, until the time is up or one of them finds a fault.
fn load(server: &Server, seed: u64, arguments: &SoakArguments) -> Result<(Tally, Vec<Weight>)> {
    let until = Instant::now() + arguments.length();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for number in 0..arguments.clients() {
            let (sender, client) = (sender.clone(), Client::new(server, seed, number));
            // The receiver is there until every client has sent its tally, so the error is ignored.
            scope.spawn(move || drop(sender.send(client.work(until))));
        }
        drop(sender);
        let mut tally = Tally::default();
        let mut weights = Vec::new();
        loop {
            match receiver.recv_timeout(arguments.length() / WEIGHINGS) {
                Ok(told) => tally.add(&told?),
                Err(RecvTimeoutError::Timeout) => weights.push(server.weight()?),
                Err(RecvTimeoutError::Disconnected) => return Ok((tally, weights)),
            }
        }
    })
}

/// The server, listening on a socket in a folder of its own.
struct Server {
    child: Child,
    folder: PathBuf,
    token: String,
}

impl Server {
    fn start(place: &BenchFolder) -> Result<Self> {
        let program = place.program.with_file_name("windlass");
        ensure!(program.exists(), "{} is missing: build the workspace first", program.display());
        let folder = place.state_directory()?;
        let token = survivors::token("soak");
        let mut command = Command::new(program);
        command.args(["app-server", "--sandbox", "danger-full-access"]);
        command.arg("--listen").arg(format!("unix://{}", folder.join("socket").display()));
        command.env("HOME", &folder).env("WINDLASS_STATE_DIR", folder.join("store")).stdin(Stdio::null());
        command.env(survivors::TOKEN_VARIABLE, &token).stdout(Stdio::null());
        let child = command.spawn().context("starting windlass app-server")?;
        let server = Self { child, folder, token };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn wait_until_it_listens(&self) -> Result<()> {
        let deadline = hang_deadline();
        while windlass_testkit::wire::Wire::connect_path(&self.socket()).is_err() {
            ensure!(Instant::now() < deadline, "nobody listens at {}", self.socket().display());
            std::thread::yield_now();
        }
        Ok(())
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// A word in the command lines of all programs that clients start.
    fn marker(&self) -> String {
        format!("job-{}-", self.token)
    }

    fn weight(&self) -> Result<Weight> {
        Weight::of(self.child.id())
    }

    /// The weight of the server when no client is connected and all processes have ended.
    fn settled(&self) -> Result<Weight> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut least = self.weight()?;
        while Instant::now() < deadline
            && (least.descriptors > 32 || !survivors::bearing(&self.marker()).is_empty())
        {
            least = self.weight()?;
        }
        Ok(least)
    }

    /// Ends it by the signal that service managers send.
    fn end(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.context("a process")?, rustix::process::Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended badly: {status}");
        let left = survivors::bearing(&self.token);
        ensure!(left.is_empty(), "the server left {left:?}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has exited needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
