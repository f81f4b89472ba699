//! Confined file operations. A copy of this program carries them out in a sandbox, so the same kernel mechanisms decide
//! that decide for processes: the copy reads the operation from standard input, writes the outcome to standard output,
//! and sends an opened file over a channel.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_engine::sandbox::{Access, HIDDEN, Plan};
use windlass_engine::{Brought, How, OneShot, OneShotBounds, hand_over};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_REQUEST, Refusal};
use windlass_protocol::exec::PathUri;

use super::operation::{Operation, PathSubject, Response};
use super::{refusal, regular};
use crate::exec::Shared;

/// A task of the copy.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FileTask<O> {
    /// Carry out this operation.
    Perform(O),
    /// Open a file to read it, and send the descriptor.
    Open(PathUri),
}

/// The outcome of a task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Outcome<R> {
    Result(R),
    Error(Refusal),
}

pub(super) fn perform(server: &Shared, plan: &Arc<Plan>, operation: &Operation) -> Result<Response, Refusal> {
    operation.subjects().into_iter().try_for_each(|subject| check_place(plan, subject))?;
    let brought = send(server, plan, &FileTask::Perform(operation))?;
    heard(&brought).map(Response::Told)
}

pub(super) fn open(server: &Shared, plan: &Arc<Plan>, path: &PathUri) -> Result<File, Refusal> {
    check_place(plan, PathSubject::Behind(path))?;
    let mut brought = send(server, plan, &FileTask::<Operation>::Open(path.clone()))?;
    heard(&brought)?;
    brought.descriptors.pop().map(File::from).ok_or_else(|| silent(&brought.how))
}

/// Rejects paths at which a sandboxed process sees something else than the truth: hidden paths, and private
/// directories, whose contents are gone when the process ends.
fn check_place(plan: &Plan, subject: PathSubject<'_>) -> Result<(), Refusal> {
    let (given, path) = match subject {
        PathSubject::Behind(given) => (given.path(), real(given.path())),
        PathSubject::Itself(given) => (given.path(), real_but_its_name(given.path())),
    };
    let is_hidden = |path: &Path| plan.ruling_at(path).is_some_and(|ruling| ruling.access == Access::Deny);
    // A hidden path seems to be absent, and absent paths count as removed: the client would believe a removal that did
    // not happen. Nor may it learn where links behind a hidden path lead.
    if is_hidden(&path) || given.parent().is_some_and(|above| is_hidden(&real(above))) {
        return Err(refusal(&Errno::ACCESS.into()));
    }
    let is_inside = |path: &Path| HIDDEN.into_iter().find(|hidden| path.starts_with(hidden));
    let Some(own) = is_inside(&path) else { return Ok(()) };
    // Unless the client's permissions name a path in there.
    if plan.ruling_at(&path).is_some_and(|ruling| is_inside(&ruling.path).is_some()) {
        return Ok(());
    }
    let message = format!(
        "sandbox: whatever runs in a sandbox has a `{own}` of its own, so `{}` cannot be worked on in one",
        given.display()
    );
    Err(Refusal::new(INVALID_REQUEST, message))
}

/// Resolves links in the longest part of a path that exists.
fn real(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        // Join by components: a path to which nothing is joined would end in a slash.
        std::fs::canonicalize(above).ok().map(|real| real.components().chain(rest.components()).collect())
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// The same without following a link at the last component.
fn real_but_its_name(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => path.to_owned(),
    }
}

fn send(server: &Shared, plan: &Arc<Plan>, task: &FileTask<impl Serialize>) -> Result<Brought, Refusal> {
    let internal = |reason: String| Refusal::new(INTERNAL_ERROR, format!("sandbox: {reason}"));
    let input = serde_json::to_vec(task).map_err(|error| internal(error.to_string()))?;
    let helper = &server.place.file_helper;
    let (program, arguments) = (helper.program.clone(), helper.arguments.clone());
    let brought = server
        .engine
        .run_errand(plan, OneShot { program, arguments, input: &input, bounds: OneShotBounds::default() });
    brought.map_err(|error| internal(error.to_string()))
}

fn heard(brought: &Brought) -> Result<Value, Refusal> {
    match serde_json::from_slice::<Outcome<Value>>(&brought.output) {
        Ok(Outcome::Result(result)) => Ok(result),
        Ok(Outcome::Error(refusal)) => Err(refusal),
        Err(_) => Err(silent(&brought.how)),
    }
}

fn silent(how: &How) -> Refusal {
    let how = match how {
        How::Exited(code) => format!("it ended with code {code}"),
        How::Signalled(signal) => format!("signal {} ended it", signal.number()),
        How::Unknown => "nobody knows how it ended".to_owned(),
    };
    let message =
        format!("sandbox: the process that was to work on files in it gave no answer; {how}; try it again");
    Refusal::new(INTERNAL_ERROR, message)
}

/// The main function of such a copy.
///
/// # Errors
/// When it cannot read the task, or cannot write the outcome.
pub fn run() -> io::Result<()> {
    let mut task = Vec::new();
    io::stdin().lock().read_to_end(&mut task)?;
    let outcome = match serde_json::from_slice(&task)? {
        FileTask::Perform::<Operation>(operation) => operation.perform(),
        FileTask::Open(path) => open_and_send(&path),
    };
    let outcome = match outcome {
        Ok(response) => Outcome::Result(response),
        Err(refusal) => Outcome::Error(refusal),
    };
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &outcome)?;
    output.flush()
}

fn open_and_send(path: &PathUri) -> Result<Response, Refusal> {
    let file = regular::to_read(path.path()).map_err(|error| refusal(&error))?;
    hand_over(file).map_err(|errno| refusal(&errno.into())).map(|()| Response::Told(Value::Null))
}
