//! Scene 2: a server. It is ready when it has printed its address and its port answers, and its port is closed after
//! the stop.

use std::ffi::OsStr;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use windlass_engine::Session;
use windlass_output::Offset;

use super::stage::{DemoOutput, Scene, milliseconds};
use super::{DemoEngine, PATIENCE, Saving, printed, settled_text};
use crate::failure::Exit;
use crate::printing::print;
use crate::report;

const GREETING: &str = "hello from a dev server";

/// `windlass demo-server`, never typed by people: a server that works on every machine.
pub(crate) fn serve() -> Result<Exit> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on the loopback address")?;
    print(format!("compiling 12 modules\nlistening on {}\n", listener.local_addr()?))?;
    for visitor in listener.incoming() {
        let visitor = visitor.context("cannot accept a connection")?;
        print("GET / 200\n")?;
        // An error means that the client has disconnected.
        let _ = (&visitor).write_all(GREETING.as_bytes());
    }
    Ok(Exit::SUCCESS)
}

pub(crate) async fn play(theatre: &DemoEngine, stage: &DemoOutput) -> Result<Saving> {
    let begun = Instant::now();
    let session = theatre.start(&[theatre.own_program.as_os_str(), OsStr::new("demo-server")])?;
    let (address, ready, answer) = visit(&session, begun).await?;
    printed(&session, "GET", Offset::ZERO).await?;
    let stopping = Instant::now();
    session.stop().await;
    let stopped = stopping.elapsed();
    ensure!(TcpStream::connect(address).await.is_err(), "{address} still answers");
    let ending = report::ending(session.exited().await?.as_ref());
    let seen = settled_text(session.journal(), Offset::ZERO);
    let facts = [
        format!("ready after {}: it printed its address, which answered {answer:?}", milliseconds(ready)),
        format!("it {ending} within {}; {address} is closed", milliseconds(stopped)),
    ];
    stage.show(&Scene {
        number: 2,
        title: "a server is ready",
        actor: "demo-server",
        seen: &seen,
        facts: &facts,
    })?;
    Ok(Saving::between(&seen, &seen))
}

/// Waits for the address and connects to it.
async fn visit(session: &Session, begun: Instant) -> Result<(SocketAddr, Duration, String)> {
    let line = printed(session, r"listening on [0-9.:]+$", Offset::ZERO).await?;
    let address: SocketAddr = line.trim_start_matches("listening on ").parse().context("no address")?;
    let answer =
        tokio::time::timeout(PATIENCE, ask(address)).await.context("the server does not answer")??;
    ensure!(answer == GREETING, "the server answered {answer:?}");
    Ok((address, begun.elapsed(), answer))
}

async fn ask(address: SocketAddr) -> Result<String> {
    let connection = TcpStream::connect(address).await?;
    let mut answer = vec![0; GREETING.len()];
    let mut filled = 0;
    while filled < answer.len() {
        connection.readable().await?;
        match connection.try_read(&mut answer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(String::from_utf8_lossy(&answer[..filled]).into_owned())
}
