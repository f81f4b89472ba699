//! The runtime's ends of a session's pipes or terminal, registered with the reactor.

use std::sync::Arc;

use rustix::io::Errno;
use tokio::io::Interest;
use windlass_output::QueryScanner;

use crate::Stream;
use crate::command::{Io, Queries};
use crate::reactor;
use crate::session::{Input, Outputs, Source};
use crate::start::Ends;

/// The runtime's ends, registered with the reactor.
pub(super) struct ReactorEnds {
    pub(super) outputs: Outputs,
    pub(super) input: Input,
}

impl ReactorEnds {
    pub(super) fn new(ends: Ends, io: &Io) -> Result<Self, Errno> {
        match ends {
            Ends::Pipes { stdin, stdout, stderr } => {
                let stdout = Source::watched(stdout, Stream::Stdout)?;
                let stderr = stderr.map(|stderr| Source::watched(stderr, Stream::Stderr)).transpose()?;
                let outputs = Outputs::pipes(stdout, stderr);
                let input = match stdin {
                    Some(stdin) => {
                        Input::pipe(reactor::watch(stdin, Interest::WRITABLE).map_err(|(_, errno)| errno)?)
                    }
                    None => Input::closed(),
                };
                Ok(Self { outputs, input })
            }
            Ends::Terminal { master, slave } => {
                let source = Source::watched(master, Stream::Terminal)?;
                let input = Input::terminal(Arc::clone(source.fd()));
                let answered = matches!(io, Io::Terminal(terminal) if terminal.queries == Queries::Answered);
                let outputs = Outputs::terminal(source, slave, answered.then(QueryScanner::default));
                Ok(Self { outputs, input })
            }
        }
    }
}
