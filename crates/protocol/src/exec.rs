//! The exec-server dialect: an execution environment for an agent that runs elsewhere.
//!
//! A client attaches to a session, starts processes under names of its own choosing and hears of them by notifications
//! that are numbered per process, or asks from a number on. Beside that it reads and writes files. Bytes are base64,
//! paths are `file:` URIs. What Windlass adds to the dialect says so; whoever does not know it leaves it out.

mod files;
mod handshake;
mod path;
mod process;
mod sandbox;

pub use self::files::{
    FsCanonicalizeParams, FsCanonicalizeResponse, FsCloseParams, FsCopyParams, FsCreateDirectoryParams,
    FsGetMetadataParams, FsGetMetadataResponse, FsOpenMode, FsOpenParams, FsOpenResponse, FsReadBlockParams,
    FsReadBlockResponse, FsReadDirectoryEntry, FsReadDirectoryParams, FsReadDirectoryResponse,
    FsReadFileParams, FsReadFileResponse, FsRemoveParams, FsWalkParams, FsWalkResponse, FsWriteFileParams,
    WalkEntry, WalkError, WalkKind, WalkOptions,
};
pub use self::handshake::{
    Capabilities, EnvironmentInfo, EnvironmentStatus, EnvironmentStatusResponse, InitializeParams,
    InitializeResponse, ServerInfo, ShellInfo,
};
pub use self::path::{BadUri, PathUri};
pub use self::process::{
    CloseStdinParams, ExecClosedNotification, ExecEnvPolicy, ExecExitedNotification,
    ExecOutputDeltaNotification, ExecOutputStream, ExecParams, ExecResponse, Inherit, ListResponse,
    ListedProcess, ProcessOutputChunk, ProcessSignal, ReadParams, ReadResponse, ResizeParams, SandboxType,
    SignalParams, TerminalSize, TerminateParams, TerminateResponse, WriteParams, WriteResponse, WriteStatus,
};
pub use self::sandbox::{
    ManagedFileSystem, ManagedNetwork, MissingPath, NetworkPermission, PermissionAccess, PermissionEntry,
    PermissionPath, Permissions, SandboxContext, SpecialPath,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer that says nothing but that it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {}

/// A file or folder is not there.
pub const NOT_FOUND: i64 = -32004;
