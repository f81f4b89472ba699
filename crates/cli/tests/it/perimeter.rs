//! The perimeter of the servers: which callers they serve, and what callers and commands can learn about them.

mod callers;
mod half_open;
mod impostors;
mod owners;
mod secret_files;
mod secrets;
mod tls;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;

use crate::rig::Home;

/// The user that runs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    /// The user that runs the tests.
    Own,
    /// A user without privileges, if root runs the tests.
    Ordinary,
}

/// A server that listens, and ends with the test.
struct Server {
    child: Child,
    url: String,
    said: Receiver<String>,
}

impl Server {
    /// Starts one, and waits until it prints its address, on either stream.
    fn start(home: &Home, words: &[&str]) -> Self {
        Self::of(home.windlass(words).current_dir(home.path()))
    }

    /// The same for a command that starts one.
    fn of(command: &mut Command) -> Self {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("windlass starts");
        let (said, lines) = std::sync::mpsc::channel();
        let streams: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("it is piped")),
            Box::new(child.stderr.take().expect("it is piped")),
        ];
        for stream in streams {
            let said = said.clone();
            drop(std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = said.send(line);
                }
            }));
        }
        drop(said);
        let in_line = |line: String| line.split(' ').find(|word| word.contains("://")).map(str::to_owned);
        let url = lines.iter().find_map(in_line).expect("it says where it listens");
        Self { child, url, said: lines }
    }

    /// Waits until it prints this.
    fn said(&self, text: &str) -> bool {
        self.said.iter().any(|line| line.contains(text))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
