//! The messages between the two processes of a cell: a length in four bytes, and JSON of that length.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cells::Options;
use crate::host::ToolInfo;
use crate::transcript::End;

/// Messages to the process that runs the script.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToHelper {
    /// The first message: the script and its limits.
    Start { source: String, limits: CellLimits, tools: Vec<ToolShape> },
    /// A tool has answered.
    Answer { number: u32, succeeded: bool, value: Value },
    /// Asks the script to end.
    Stop,
    /// The reply to the last request that expects one.
    Reply(Reply),
}

/// The limits that the engine enforces itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellLimits {
    memory: usize,
    time: Duration,
    output: usize,
    pending_calls: usize,
}

/// A tool, as a script sees it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToolShape {
    name: String,
    description: String,
    parameters: Option<Value>,
}

/// The reply to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Whether the output fits.
    Said(bool),
    Call(Result<u32, String>),
    Store(Result<(), String>),
    Load(Option<String>),
}

/// Messages from that process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromHelper {
    /// The first message: the script is about to run.
    Begun,
    Text(String),
    Image(String),
    Yield,
    Notify(String),
    Call {
        tool: usize,
        payload: String,
    },
    /// The script has received the answer of this call.
    Finished(u32),
    Store {
        key: String,
        json: String,
    },
    Forget(String),
    Load(String),
    /// The last message: the end of the script.
    End {
        end: End,
        reason: Option<String>,
    },
}

impl ToHelper {
    pub(crate) fn start(source: String, options: &Options, tools: &[ToolInfo]) -> Self {
        let limits = CellLimits {
            memory: options.memory_limit,
            time: options.time_limit,
            output: options.most_output,
            pending_calls: options.most_pending_calls,
        };
        let shape = |tool: &ToolInfo| ToolShape {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        Self::Start { source, limits, tools: tools.iter().map(shape).collect() }
    }
}

impl CellLimits {
    pub(crate) fn options(&self) -> Options {
        Options {
            memory_limit: self.memory,
            time_limit: self.time,
            most_output: self.output,
            most_pending_calls: self.pending_calls,
            ..Options::default()
        }
    }
}

impl ToolShape {
    pub(crate) fn info(self) -> ToolInfo {
        ToolInfo { name: self.name, description: self.description, parameters: self.parameters }
    }
}

/// Writes one message.
pub(crate) fn write_frame(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(bytes.len() + 4);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&bytes);
    stream.write_all(&frame)
}

/// Reads one message of at most so many bytes. Memory grows with the received bytes, not with the announced length.
pub(crate) fn read_frame<T: DeserializeOwned>(stream: &mut impl Read, largest: usize) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > largest as u64 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    stream.take(length).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_one_that_is_too_long_is_not() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &FromHelper::Text("a\u{0}é".into())).expect("memory takes it");
        let read: FromHelper = read_frame(&mut &bytes[..], 100).expect("it is whole");
        assert!(matches!(read, FromHelper::Text(text) if text == "a\u{0}é"));
        assert!(read_frame::<FromHelper>(&mut &bytes[..], 3).is_err(), "it is longer");
        assert!(read_frame::<FromHelper>(&mut &bytes[..bytes.len() - 1], 100).is_err(), "it is cut off");
    }
}
