//! Which methods and notifications there are, and what each carries. Whatever a server answers stands here.

use schemars::JsonSchema;

use super::Dialect;
use crate::exec;

/// Nothing is asked with.
#[derive(JsonSchema)]
struct NoParams {}

const EXEC_SERVER: &str = "Every message of `windlass exec-server`: JSON-RPC 2.0 without the member `jsonrpc`. A client \
    attaches to a session, starts processes under names of its own choosing, hears of them by notifications that are \
    numbered per process, and reads and writes files. Bytes are base64, paths are `file:` URIs.";

/// What `windlass exec-server` speaks.
pub fn exec_server() -> Dialect {
    let dialect = Dialect::new("exec-server", EXEC_SERVER)
        .method::<exec::InitializeParams, exec::InitializeResponse>("initialize")
        .method::<NoParams, exec::EnvironmentInfo>("environment/info")
        .method::<NoParams, exec::EnvironmentStatusResponse>("environment/status")
        .sent_by_client("initialized");
    exec_files(exec_processes(dialect))
}

fn exec_processes(dialect: Dialect) -> Dialect {
    dialect
        .method::<exec::ExecParams, exec::ExecResponse>("process/start")
        .method::<exec::ReadParams, exec::ReadResponse>("process/read")
        .method::<exec::WriteParams, exec::WriteResponse>("process/write")
        .method::<exec::CloseStdinParams, exec::WriteResponse>("process/closeStdin")
        .method::<exec::ResizeParams, exec::Done>("process/resize")
        .method::<exec::SignalParams, exec::Done>("process/signal")
        .method::<exec::TerminateParams, exec::TerminateResponse>("process/terminate")
        .method::<NoParams, exec::ListResponse>("process/list")
        .sent_by_server::<exec::ExecOutputDeltaNotification>("process/output")
        .sent_by_server::<exec::ExecExitedNotification>("process/exited")
        .sent_by_server::<exec::ExecClosedNotification>("process/closed")
}

fn exec_files(dialect: Dialect) -> Dialect {
    dialect
        .method::<exec::FsReadFileParams, exec::FsReadFileResponse>("fs/readFile")
        .method::<exec::FsWriteFileParams, exec::Done>("fs/writeFile")
        .method::<exec::FsCreateDirectoryParams, exec::Done>("fs/createDirectory")
        .method::<exec::FsGetMetadataParams, exec::FsGetMetadataResponse>("fs/getMetadata")
        .method::<exec::FsCanonicalizeParams, exec::FsCanonicalizeResponse>("fs/canonicalize")
        .method::<exec::FsReadDirectoryParams, exec::FsReadDirectoryResponse>("fs/readDirectory")
        .method::<exec::FsWalkParams, exec::FsWalkResponse>("fs/walk")
        .method::<exec::FsRemoveParams, exec::Done>("fs/remove")
        .method::<exec::FsCopyParams, exec::Done>("fs/copy")
        .method::<exec::FsOpenParams, exec::FsOpenResponse>("fs/open")
        .method::<exec::FsReadBlockParams, exec::FsReadBlockResponse>("fs/readBlock")
        .method::<exec::FsCloseParams, exec::Done>("fs/close")
}
