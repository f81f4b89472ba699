//! The perimeter of the servers: which callers they serve, and what callers and commands can learn of them.

mod callers;
mod owners;
mod secrets;
mod tls;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::rig::Home;

/// A server that listens, and ends with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts one, and waits until it says where it listens, on whichever stream it says so.
    fn start(home: &Home, words: &[&str]) -> Self {
        let mut command = home.windlass(words);
        let piped = command.current_dir(home.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("windlass starts");
        let (said, url) = std::sync::mpsc::channel();
        let streams: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("it is piped")),
            Box::new(child.stderr.take().expect("it is piped")),
        ];
        for stream in streams {
            let said = said.clone();
            drop(std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if let Some(url) = line.split(' ').find(|word| word.contains("://")) {
                        let _ = said.send(url.to_owned());
                    }
                }
            }));
        }
        drop(said);
        let url = url.recv().expect("it says where it listens");
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
