//! A file operation as the client requested it: its method, its paths, and its permissions.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_protocol::envelope::{INVALID_PARAMS, Refusal};
use windlass_protocol::exec::{
    Done, FsCanonicalizeParams, FsCanonicalizeResponse, FsCopyParams, FsCreateDirectoryParams,
    FsGetMetadataParams, FsGetMetadataResponse, FsReadDirectoryParams, FsReadDirectoryResponse,
    FsReadFileParams, FsReadFileResponse, FsRemoveParams, FsWalkParams, FsWalkResponse, FsWriteFileParams,
    PathUri, SandboxContext,
};

/// An operation with its parameters.
#[derive(Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase")]
pub(in crate::exec) enum Operation {
    ReadFile(FsReadFileParams),
    WriteFile(FsWriteFileParams),
    CreateDirectory(FsCreateDirectoryParams),
    GetMetadata(FsGetMetadataParams),
    Canonicalize(FsCanonicalizeParams),
    ReadDirectory(FsReadDirectoryParams),
    Walk(FsWalkParams),
    Remove(FsRemoveParams),
    Copy(FsCopyParams),
}

/// A path that an operation accesses.
#[derive(Clone, Copy)]
pub(super) enum PathSubject<'a> {
    /// The entry at this path, without following a link.
    Itself(&'a PathUri),
    /// The target, if this path is a link.
    Behind(&'a PathUri),
}

/// The result of an operation.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::exec) enum Response {
    Done(Done),
    File(FsReadFileResponse),
    Metadata(FsGetMetadataResponse),
    Path(FsCanonicalizeResponse),
    Directory(FsReadDirectoryResponse),
    Tree(FsWalkResponse),
    /// The result as JSON, from the confined copy.
    Told(Value),
}

impl Operation {
    /// Parses the operation of this method; `None` for other methods.
    pub(in crate::exec) fn read(method: &str, params: Value) -> Option<Result<Self, Refusal>> {
        Some(match method {
            "fs/readFile" => parse(params).map(Self::ReadFile),
            "fs/writeFile" => parse(params).map(Self::WriteFile),
            "fs/createDirectory" => parse(params).map(Self::CreateDirectory),
            "fs/getMetadata" => parse(params).map(Self::GetMetadata),
            "fs/canonicalize" => parse(params).map(Self::Canonicalize),
            "fs/readDirectory" => parse(params).map(Self::ReadDirectory),
            "fs/walk" => parse(params).map(Self::Walk),
            "fs/remove" => parse(params).map(Self::Remove),
            "fs/copy" => parse(params).map(Self::Copy),
            _ => return None,
        })
    }

    /// Takes the permissions out of the parameters: the copy gets none.
    pub(super) fn take_sandbox(&mut self) -> Option<SandboxContext> {
        let sandbox = match self {
            Self::ReadFile(params) => &mut params.sandbox,
            Self::WriteFile(params) => &mut params.sandbox,
            Self::CreateDirectory(params) => &mut params.sandbox,
            Self::GetMetadata(params) => &mut params.sandbox,
            Self::Canonicalize(params) => &mut params.sandbox,
            Self::ReadDirectory(params) => &mut params.sandbox,
            Self::Walk(params) => &mut params.sandbox,
            Self::Remove(params) => &mut params.sandbox,
            Self::Copy(params) => &mut params.sandbox,
        };
        sandbox.take()
    }

    /// The paths that it accesses.
    pub(super) fn subjects(&self) -> Vec<PathSubject<'_>> {
        match self {
            Self::ReadFile(params) => vec![PathSubject::Behind(&params.path)],
            Self::WriteFile(params) => vec![PathSubject::Behind(&params.path)],
            Self::CreateDirectory(params) => vec![PathSubject::Behind(&params.path)],
            Self::GetMetadata(params) => vec![PathSubject::Behind(&params.path)],
            Self::Canonicalize(params) => vec![PathSubject::Behind(&params.path)],
            Self::ReadDirectory(params) => vec![PathSubject::Behind(&params.path)],
            Self::Walk(params) => vec![PathSubject::Behind(&params.path)],
            Self::Remove(params) => vec![PathSubject::Itself(&params.path)],
            Self::Copy(params) => {
                vec![PathSubject::Itself(&params.source_path), PathSubject::Behind(&params.destination_path)]
            }
        }
    }

    /// Carries it out with the rights of this process.
    pub(super) fn perform(&self) -> Result<Response, Refusal> {
        match self {
            Self::ReadFile(params) => super::read_file(params).map(Response::File),
            Self::WriteFile(params) => super::write_file(params).map(Response::Done),
            Self::CreateDirectory(params) => super::create_directory(params).map(Response::Done),
            Self::GetMetadata(params) => super::get_metadata(params).map(Response::Metadata),
            Self::Canonicalize(params) => super::canonicalize(params).map(Response::Path),
            Self::ReadDirectory(params) => super::read_directory(params).map(Response::Directory),
            Self::Walk(params) => super::walk::walk(params).map(Response::Tree),
            Self::Remove(params) => super::remove(params).map(Response::Done),
            Self::Copy(params) => super::copy::copy(params).map(Response::Done),
        }
    }
}

/// Parses the parameters of a method.
pub(in crate::exec) fn parse<P: DeserializeOwned>(params: Value) -> Result<P, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal::new(INVALID_PARAMS, error.to_string()))
}
