//! Files and folders. Every request may say what it is to be kept from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PathUri, SandboxContext};

/// `fs/readFile`: a whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadFileParams {
    /// Which one.
    pub path: PathUri,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// What `fs/readFile` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadFileResponse {
    /// Its bytes, as base64.
    pub data_base64: String,
}

/// `fs/writeFile`: makes a file, or replaces what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsWriteFileParams {
    /// Which one.
    pub path: PathUri,
    /// Its bytes, as base64.
    pub data_base64: String,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// `fs/createDirectory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsCreateDirectoryParams {
    /// Which one.
    pub path: PathUri,
    /// Whether missing folders above it are made, and one that is there is no error. It is so unless said otherwise.
    pub recursive: Option<bool>,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// `fs/getMetadata`: what a path leads to, through symbolic links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsGetMetadataParams {
    /// Which one.
    pub path: PathUri,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// What `fs/getMetadata` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsGetMetadataResponse {
    /// Whether it leads to a folder.
    pub is_directory: bool,
    /// Whether it leads to a file.
    pub is_file: bool,
    /// Whether the path itself is a symbolic link.
    pub is_symlink: bool,
    /// In bytes.
    pub size: u64,
    /// When it was made, in milliseconds since 1970; 0 where that is not known.
    pub created_at_ms: i64,
    /// When it was last written, likewise.
    pub modified_at_ms: i64,
}

/// `fs/canonicalize`: the path without symbolic links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsCanonicalizeParams {
    /// Which one; it must be there.
    pub path: PathUri,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// What `fs/canonicalize` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsCanonicalizeResponse {
    /// The path without symbolic links.
    pub path: PathUri,
}

/// `fs/readDirectory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadDirectoryParams {
    /// Which one.
    pub path: PathUri,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// What `fs/readDirectory` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadDirectoryResponse {
    /// What is in it, by name.
    pub entries: Vec<FsReadDirectoryEntry>,
}

/// One thing in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadDirectoryEntry {
    /// Its name in the folder.
    pub file_name: String,
    /// Whether it leads to a folder.
    pub is_directory: bool,
    /// Whether it leads to a file.
    pub is_file: bool,
}

/// `fs/walk`: everything below a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsWalkParams {
    /// Below which one.
    pub path: PathUri,
    /// How far.
    pub options: WalkOptions,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WalkOptions {
    /// The most folders between the first and the last one that is looked into. At 0 only the first is.
    pub max_depth: usize,
    /// The most folders that are looked into.
    pub max_directories: usize,
    /// The most things that are looked at.
    pub max_entries: usize,
    /// Whether folders behind symbolic links are looked into, each once.
    pub follow_directory_symlinks: bool,
    /// Whether folders whose names begin with a dot are named and not looked into.
    #[serde(default)]
    pub prune_hidden_directories: bool,
}

/// What `fs/walk` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsWalkResponse {
    /// Files and folders: those of one folder by name, and near ones before far ones.
    pub entries: Vec<WalkEntry>,
    /// What could not be looked at.
    pub errors: Vec<WalkError>,
    /// Whether a limit ended the walk.
    pub truncated: bool,
}

/// A file or a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WalkEntry {
    /// Where it is.
    pub path: PathUri,
    /// Which of both.
    pub kind: WalkKind,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WalkKind {
    /// A folder.
    Directory,
    /// A file.
    File,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WalkError {
    /// Where it is.
    pub path: PathUri,
    /// What the system said.
    pub message: String,
}

/// `fs/remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsRemoveParams {
    /// Which one. A symbolic link goes itself, not what it leads to.
    pub path: PathUri,
    /// Whether a folder goes with what is in it. It is so unless said otherwise.
    pub recursive: Option<bool>,
    /// Whether one that is not there is no error. It is so unless said otherwise.
    pub force: Option<bool>,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// `fs/copy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsCopyParams {
    /// From where.
    pub source_path: PathUri,
    /// To where.
    pub destination_path: PathUri,
    /// Must be set for folders.
    pub recursive: bool,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// `fs/open`: opens a file to be read in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsOpenParams {
    /// What the client calls the opened file; at most 32 bytes.
    pub handle_id: String,
    /// Which file.
    pub path: PathUri,
    /// What for.
    #[serde(default)]
    pub mode: FsOpenMode,
    /// What may be touched.
    pub sandbox: Option<SandboxContext>,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FsOpenMode {
    /// Reading.
    #[default]
    Read,
    /// Writing it anew, which is refused: use `fs/writeFile`.
    Replace,
}

/// What `fs/open` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsOpenResponse {
    /// As it was asked for.
    pub handle_id: String,
}

/// `fs/readBlock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsReadBlockParams {
    /// Which opened file.
    pub handle_id: String,
    /// Where the block begins.
    pub offset: u64,
    /// How long it is at most: 1 byte to 1 MiB.
    pub len: usize,
}

/// What `fs/readBlock` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadBlockResponse {
    /// The bytes, as base64.
    pub chunk: String,
    /// Whether the file ends here.
    pub eof: bool,
}

/// `fs/close`. Closing what is not open is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsCloseParams {
    /// Which opened file.
    pub handle_id: String,
}
