//! Which methods and notifications there are, and what each carries. Whatever a server answers stands here.

use schemars::JsonSchema;

use super::Dialect;
use crate::app::{self, Method, notification};
use crate::exec;

/// Nothing is asked with.
#[derive(JsonSchema)]
struct NoParams {}

const APP_SERVER: &str = "Every message of `windlass app-server`: JSON-RPC 2.0 without the member `jsonrpc`. A client runs \
    commands and processes under names of its own, hears of their output by notifications, and controls them. With \
    `session/*`, which is Windlass's own, everything that was printed is read, searched, waited for and followed from \
    any offset. Bytes are base64. Every notification of the server also has `emittedAtMs`, the time in milliseconds \
    since 1970, beside its params.";

/// What `windlass app-server` speaks.
pub fn app_server() -> Dialect {
    let dialect = Dialect::new("app-server", APP_SERVER)
        .method::<app::InitializeParams, app::InitializeResult>(Method::Initialize.name())
        .sent_by_client(notification::INITIALIZED);
    app_sessions(app_processes(app_commands(dialect)))
}

fn app_commands(dialect: Dialect) -> Dialect {
    dialect
        .method::<app::CommandExecParams, app::CommandExecResult>(Method::CommandExec.name())
        .method::<app::CommandExecWriteParams, app::Done>(Method::CommandExecWrite.name())
        .method::<app::CommandExecResizeParams, app::Done>(Method::CommandExecResize.name())
        .method::<app::CommandExecTerminateParams, app::Done>(Method::CommandExecTerminate.name())
        .sent_by_server::<app::CommandExecOutputDelta>(notification::COMMAND_EXEC_OUTPUT_DELTA)
}

fn app_processes(dialect: Dialect) -> Dialect {
    dialect
        .method::<app::ProcessSpawnParams, app::ProcessSpawnResult>(Method::ProcessSpawn.name())
        .method::<app::ProcessWriteStdinParams, app::Done>(Method::ProcessWriteStdin.name())
        .method::<app::ProcessResizePtyParams, app::Done>(Method::ProcessResizePty.name())
        .method::<app::ProcessKillParams, app::Done>(Method::ProcessKill.name())
        .sent_by_server::<app::ProcessOutputDelta>(notification::PROCESS_OUTPUT_DELTA)
        .sent_by_server::<app::ProcessExited>(notification::PROCESS_EXITED)
}

fn app_sessions(dialect: Dialect) -> Dialect {
    dialect
        .method::<app::SessionListParams, app::SessionListResult>(Method::SessionList.name())
        .method::<app::SessionReadParams, app::SessionReadResult>(Method::SessionRead.name())
        .method::<app::SessionWaitParams, app::SessionWaitResult>(Method::SessionWait.name())
        .method::<app::SessionSignalParams, app::Done>(Method::SessionSignal.name())
        .method::<app::SessionSubscribeParams, app::SessionSubscribeResult>(Method::SessionSubscribe.name())
        .method::<app::SessionUnsubscribeParams, app::Done>(Method::SessionUnsubscribe.name())
        .method::<app::SessionEndAllParams, app::Done>(Method::SessionEndAll.name())
        .sent_by_server::<app::SessionOutput>(notification::SESSION_OUTPUT)
        .sent_by_server::<app::SessionDropped>(notification::SESSION_DROPPED)
        .sent_by_server::<app::SessionExited>(notification::SESSION_EXITED)
        .sent_by_server::<app::SessionClosed>(notification::SESSION_CLOSED)
}

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
