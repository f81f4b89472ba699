//! The task that owns one server: starts it, keeps the list of its tools, notices its end, and restarts it when a call
//! needs it. The task always ends the server that it started.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::client_handler::ClientHandler;
use crate::fault::Fault;
use crate::handshake::{self, Greeted};
use crate::launch::{LaunchContext, LaunchSpec};
use crate::link::{Link, Wire};
use crate::mcp_request::{self, List};
use crate::pipe::Pipe;
use crate::server::{Generation, Level, ServerPhase};
use crate::servers::ServersContext;
use crate::spec::{ServerSpec, Transport};
use crate::tool::{self, Listed};
use crate::web::{Address, Web};

/// Supervises one server.
pub(crate) struct ServerSupervisor {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) surroundings: Arc<ServersContext>,
    pub(crate) handler: Arc<ClientHandler>,
    pub(crate) level: watch::Sender<Level>,
    pub(crate) revive: mpsc::Receiver<Generation>,
    /// Incremented on every change of any server.
    pub(crate) changes: Arc<watch::Sender<u64>>,
    pub(crate) stop: CancellationToken,
}

/// The next step after a server's end.
enum Next {
    /// Restart at once.
    Again,
    /// Restart when a call needs the server.
    WhenWanted,
}

impl ServerSupervisor {
    /// Supervises the server until it is stopped.
    pub(crate) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let next = self.attempt().await;
            if matches!(next, Next::WhenWanted) && !self.is_wanted_again().await {
                break;
            }
        }
        self.publish(|level| level.stage = ServerPhase::ShutDown);
    }

    /// One generation of the server, from its start to its end.
    async fn attempt(&mut self) -> Next {
        self.publish(|level| {
            level.generation = Generation(level.generation.0 + 1);
            level.stage = ServerPhase::Starting;
        });
        let link = match self.open() {
            Ok(wire) => Arc::new(Link::new(wire, Arc::clone(&self.handler), self.stop.clone())),
            Err(reason) => return self.fell(&reason),
        };
        let next = match self.unless_stopped(self.bring_up(&link)).await {
            None => Next::WhenWanted,
            Some(Err(reason)) => self.fell(&reason),
            Some(Ok((greeted, tools))) => {
                self.stood(&link, &greeted, tools);
                self.tend(&link, &greeted).await
            }
        };
        link.end().await;
        next
    }

    fn open(&self) -> Result<Wire, String> {
        let handler = Arc::clone(&self.handler);
        match &self.spec.transport {
            Transport::Stdio { command, args, env, env_vars, cwd } => {
                let order = LaunchSpec { command, args, env, env_vars, cwd: cwd.as_deref() };
                let ServersContext { directory, environment, keeping, engine, .. } = &*self.surroundings;
                let spec = order.spec(&LaunchContext { directory, environment, keeping: *keeping });
                let pipe = Pipe::open(engine, spec, handler);
                pipe.map(Wire::Pipe).map_err(|error| format!("it cannot be started: {error}"))
            }
            Transport::Http { url, bearer, headers } => {
                let http = self.surroundings.http.clone().ok_or("nothing here can reach the web")?;
                let (url, bearer, headers) = (url.clone(), bearer.clone(), headers.clone());
                Ok(Wire::Web(Web::new(http, Address { url, bearer, headers }, handler)))
            }
        }
    }

    /// Greets the server and lists its tools, within its startup timeout.
    async fn bring_up(&self, link: &Link) -> Result<(Greeted, Vec<Listed>), String> {
        let limit = self.spec.startup_timeout.min(LONGEST);
        let deadline = Instant::now() + limit;
        let explain = |what: &'static str| {
            move |fault: Fault| {
                // The reason for a program's end contains its output already.
                let evidence = if matches!(fault, Fault::Ended(_) | Fault::Gone(_)) {
                    String::new()
                } else {
                    link.evidence()
                };
                format!("{}{evidence}", fault.reason(what))
            }
        };
        let late = Fault::TimedOut(limit);
        // timer: a server that hangs at its start must not block its callers.
        let greeted = timeout_at(deadline, handshake::greet(link)).await.unwrap_or(Err(late.clone()));
        let greeted = greeted.map_err(explain("`initialize`"))?;
        let tools = timeout_at(deadline, self.list(link, &greeted)).await.unwrap_or(Err(late));
        Ok((greeted, tools.map_err(explain("`tools/list`"))?))
    }

    async fn list(&self, link: &Link, greeted: &Greeted) -> Result<Vec<Listed>, Fault> {
        match mcp_request::all(link, List::Tools).await {
            Ok(items) => Ok(tool::offered(items, &self.spec.tools, &self.handler.notes)),
            // Some servers have tools but do not declare them. Servers without tools may answer with an error.
            Err(Fault::Refused(_)) if !greeted.has_tools => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }

    /// Watches the server until it ends, must be replaced, or is stopped.
    async fn tend(&mut self, link: &Arc<Link>, greeted: &Greeted) -> Next {
        let generation = self.level.borrow().generation;
        let mut listening = std::pin::pin!(link.listen(greeted.tells_changes));
        let (stop, handler, mut is_listening) = (self.stop.clone(), Arc::clone(&self.handler), true);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Next::WhenWanted,
                how = link.ended() => return self.fell(&how),
                wanted = self.revive.recv() => match wanted {
                    // Late: this generation has replaced that one already.
                    Some(replaced) if replaced < generation => {}
                    Some(_) => return Next::Again,
                    None => return Next::WhenWanted,
                },
                () = handler.tools_changed.notified() => self.list_again(link, greeted).await,
                () = &mut listening, if is_listening => is_listening = false,
            }
        }
    }

    async fn list_again(&self, link: &Link, greeted: &Greeted) {
        let limit = self.spec.startup_timeout.min(LONGEST);
        // timer: if no list arrives in time, the old one stays.
        let listed = tokio::time::timeout(limit, self.list(link, greeted));
        match self.unless_stopped(listed).await {
            Some(Ok(Ok(tools))) => self.publish(|level| level.tools = Arc::new(tools)),
            Some(Ok(Err(fault))) => {
                self.handler.notes.add(&format!("its tools changed: {}", fault.reason("`tools/list`")));
            }
            Some(Err(_)) => self.handler.notes.add("its tools changed, and it did not say how in time"),
            None => {}
        }
    }

    /// Waits for a call that needs the server. Returns false if there can be none any more.
    async fn is_wanted_again(&mut self) -> bool {
        let generation = self.level.borrow().generation;
        let stop = self.stop.clone();
        loop {
            tokio::select! {
                () = stop.cancelled() => return false,
                wanted = self.revive.recv() => match wanted {
                    // A request to replace an older generation, which this one has replaced already.
                    Some(replaced) if replaced < generation => {}
                    Some(_) => return true,
                    None => return false,
                },
            }
        }
    }

    async fn unless_stopped<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        self.stop.run_until_cancelled(what).await
    }

    fn stood(&self, link: &Arc<Link>, greeted: &Greeted, tools: Vec<Listed>) {
        let (link, handshake) = (Arc::clone(link), Arc::new(greeted.handshake.clone()));
        self.publish(|level| {
            level.stage = ServerPhase::Up { link, handshake };
            level.tools = Arc::new(tools);
        });
    }

    fn fell(&self, reason: &str) -> Next {
        let reason = Arc::from(reason);
        self.publish(|level| level.stage = ServerPhase::Down { reason });
        Next::WhenWanted
    }

    fn publish(&self, change: impl FnOnce(&mut Level)) {
        self.level.send_modify(change);
        self.changes.send_modify(|count| *count += 1);
    }
}

/// The most requests for a restart that may be queued. Further callers wait to send theirs.
pub(crate) const REVIVALS: usize = 16;

/// The upper bound of all configured timeouts, because a deadline too far in the future overflows the clock.
pub(crate) const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
