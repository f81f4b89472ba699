// Made by `windlass exec-server generate-ts`; do not edit.

/**
 * Every message of `windlass exec-server`: JSON-RPC 2.0 without the member `jsonrpc`. A client attaches to a
 * session, starts processes under names of its own choosing, hears of them by notifications that are numbered
 * per process, and reads and writes files. Bytes are base64, paths are `file:` URIs.
 */
export const DIALECT = "exec-server";

/** What the server can do beyond the methods that every server of this dialect has. */
export interface Capabilities {
  /** `process/closeStdin`. Added by Windlass. Default: `false`. */
  processCloseStdin?: boolean;
  /** `process/list`. Added by Windlass. Default: `false`. */
  processList?: boolean;
  /**
   * `process/resize`, and a terminal's first size in `process/start`. Added by Windlass. Default: `false`.
   */
  processResize?: boolean;
  /** Signals other than `interrupt` in `process/signal`. Added by Windlass. Default: `false`. */
  processSignals?: boolean;
}

/**
 * `process/closeStdin`: ends the input after what was written before. Answered like a write. Added by
 * Windlass.
 */
export interface CloseStdinParams {
  /** Of which process. */
  processId: string;
}

/** An answer that says nothing but that it was done. */
export interface Done {}

/** The place where processes run; also what `environment/info` gives. */
export interface EnvironmentInfo {
  /**
   * What the server can do beyond the methods that every server of this dialect has. What is not named it
   * cannot.
   */
  capabilities: Capabilities;
  /** The folder in which the server was started. */
  cwd: PathUri;
  /** The operating system, as in `linux`. */
  platformOs: string;
  /** Folders that go before the client's own search path: none. */
  prependPathDirs: PathUri[];
  /** Who serves. Added by Windlass. */
  server: ServerInfo;
  /** The user's shell. */
  shell: ShellInfo;
  /** The folder for temporary files. */
  tempDir: PathUri;
  /** Folders for temporary files beside `tempDir`: none. */
  temporaryDirectories: PathUri[];
  /** The user's home. */
  userHomeDir?: PathUri | null;
}

/** Whether processes can be started. */
export type EnvironmentStatus =
  /** They can. */
  | "ready";

/** What `environment/status` gives. */
export interface EnvironmentStatusResponse {
  /** Whether processes can be started. */
  status: EnvironmentStatus;
}

/** `process/closed`: no more output can come, also not from what the process left running. */
export interface ExecClosedNotification {
  /** Which process. */
  processId: string;
  /** Its number among the events of the process: the last one. */
  seq: number;
}

/** Which variables of the server a process has. */
export interface ExecEnvPolicy {
  /** Names that go; `*` stands for any characters, `?` for one, and case does not matter. */
  exclude: string[];
  /** Whether variables whose names contain `KEY`, `SECRET` or `TOKEN` stay. */
  ignoreDefaultExcludes: boolean;
  /** If not empty, only names that match one of these stay. */
  includeOnly: string[];
  /** What to begin with. */
  inherit: Inherit;
  /** Variables that are set then. */
  set: { [key: string]: string };
}

/** `process/exited`: the process itself is gone, and everything it printed has been told. */
export interface ExecExitedNotification {
  /** Its code, or 128 and the number of the signal that ended it. */
  exitCode: number;
  /** Which process. */
  processId: string;
  /** Whether a sandbox kept it from something. */
  sandboxDenied: boolean;
  /** Its number among the events of the process. */
  seq: number;
  /** The number of the signal that ended it. Added by Windlass, and left out when none did. */
  signal?: number | null;
}

/** `process/output`: some output, as it comes. */
export interface ExecOutputDeltaNotification {
  /** The bytes, as base64. */
  chunk: string;
  /** Of which process. */
  processId: string;
  /** Its number among the events of the process. */
  seq: number;
  /** Where it was printed. */
  stream: ExecOutputStream;
  /**
   * So many bytes stood here and are kept no longer. Added by Windlass, and left out when nothing is missing.
   */
  droppedBytes?: number | null;
}

/** Where output was printed. */
export type ExecOutputStream =
  /** The pipe of standard output. */
  | "stdout"
  /** The pipe of standard error. */
  | "stderr"
  /** The terminal. */
  | "pty";

/** `process/start`. */
export interface ExecParams {
  /**
   * The program and its arguments; not empty. A program without a slash is looked for in the process's own
   * `PATH`.
   */
  argv: string[];
  /** Where it runs. */
  cwd: PathUri;
  /** Its variables. */
  env: { [key: string]: string };
  /** What the client calls it, for as long as the session knows it. Any text. */
  processId: string;
  /** Whether it has a terminal of its own. Otherwise it has pipes. */
  tty: boolean;
  /** The name the program sees itself under, where it is not `argv[0]`. */
  arg0?: string | null;
  /** Whether its network is to be controlled. Without `managedNetwork`, it has none. Default: `false`. */
  enforceManagedNetwork?: boolean;
  /** Which variables of the server it has, before `env` is laid over them. Left out or null: none. */
  envPolicy?: ExecEnvPolicy | null;
  /** How its network is to be controlled. */
  managedNetwork?: ManagedNetwork | null;
  /** A proxy to start for it. Refused unless null. */
  networkProxy?: unknown;
  /** Whether its input stays open for `process/write`. A terminal's always does. Default: `false`. */
  pipeStdin?: boolean;
  /** What it is to be kept from. What cannot be enforced is refused. */
  sandbox?: SandboxContext | null;
  /** The terminal's first size; 24 rows of 80 columns, if it is left out. Added by Windlass. */
  size?: TerminalSize | null;
}

/** What `process/start` gives. */
export interface ExecResponse {
  /** As it was asked for. */
  processId: string;
  /** What it is kept from by what. */
  sandboxType: SandboxType;
}

/** `fs/canonicalize`: the path without symbolic links. */
export interface FsCanonicalizeParams {
  /** Which one; it must be there. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/canonicalize` gives. */
export interface FsCanonicalizeResponse {
  /** The path without symbolic links. */
  path: PathUri;
}

/** `fs/close`. Closing what is not open is no error. */
export interface FsCloseParams {
  /** Which opened file. */
  handleId: string;
}

/** `fs/copy`. */
export interface FsCopyParams {
  /** To where. */
  destinationPath: PathUri;
  /** Must be set for folders. */
  recursive: boolean;
  /** From where. */
  sourcePath: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** `fs/createDirectory`. */
export interface FsCreateDirectoryParams {
  /** Which one. */
  path: PathUri;
  /**
   * Whether missing folders above it are made, and one that is there is no error. It is so unless said
   * otherwise.
   */
  recursive?: boolean | null;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** `fs/getMetadata`: what a path leads to, through symbolic links. */
export interface FsGetMetadataParams {
  /** Which one. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/getMetadata` gives. */
export interface FsGetMetadataResponse {
  /** When it was made, in milliseconds since 1970; 0 where that is not known. */
  createdAtMs: number;
  /** Whether it leads to a folder. */
  isDirectory: boolean;
  /** Whether it leads to a file. */
  isFile: boolean;
  /** Whether the path itself is a symbolic link. */
  isSymlink: boolean;
  /** When it was last written, likewise. */
  modifiedAtMs: number;
  /** In bytes. */
  size: number;
}

/** What a file is opened for. */
export type FsOpenMode =
  /** Reading. */
  | "read"
  /** Writing it anew, which is refused: use `fs/writeFile`. */
  | "replace";

/** `fs/open`: opens a file to be read in blocks. */
export interface FsOpenParams {
  /** What the client calls the opened file; at most 32 bytes. */
  handleId: string;
  /** Which file. */
  path: PathUri;
  /** What for. Default: `"read"`. */
  mode?: FsOpenMode;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/open` gives. */
export interface FsOpenResponse {
  /** As it was asked for. */
  handleId: string;
}

/** `fs/readBlock`. */
export interface FsReadBlockParams {
  /** Which opened file. */
  handleId: string;
  /** How long it is at most: 1 byte to 1 MiB. */
  len: number;
  /** Where the block begins. */
  offset: number;
}

/** What `fs/readBlock` gives. */
export interface FsReadBlockResponse {
  /** The bytes, as base64. */
  chunk: string;
  /** Whether the file ends here. */
  eof: boolean;
}

/** One thing in a folder. */
export interface FsReadDirectoryEntry {
  /** Its name in the folder. */
  fileName: string;
  /** Whether it leads to a folder. */
  isDirectory: boolean;
  /** Whether it leads to a file. */
  isFile: boolean;
}

/** `fs/readDirectory`. */
export interface FsReadDirectoryParams {
  /** Which one. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/readDirectory` gives. */
export interface FsReadDirectoryResponse {
  /** What is in it, by name. */
  entries: FsReadDirectoryEntry[];
}

/** `fs/readFile`: a whole file. */
export interface FsReadFileParams {
  /** Which one. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/readFile` gives. */
export interface FsReadFileResponse {
  /** Its bytes, as base64. */
  dataBase64: string;
}

/** `fs/remove`. */
export interface FsRemoveParams {
  /** Which one. A symbolic link goes itself, not what it leads to. */
  path: PathUri;
  /** Whether one that is not there is no error. It is so unless said otherwise. */
  force?: boolean | null;
  /** Whether a folder goes with what is in it. It is so unless said otherwise. */
  recursive?: boolean | null;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** `fs/walk`: everything below a folder. */
export interface FsWalkParams {
  /** How far. */
  options: WalkOptions;
  /** Below which one. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What `fs/walk` gives. */
export interface FsWalkResponse {
  /** Files and folders: those of one folder by name, and near ones before far ones. */
  entries: WalkEntry[];
  /** What could not be looked at. */
  errors: WalkError[];
  /** Whether a limit ended the walk. */
  truncated: boolean;
}

/** `fs/writeFile`: makes a file, or replaces what is in it. */
export interface FsWriteFileParams {
  /** Its bytes, as base64. */
  dataBase64: string;
  /** Which one. */
  path: PathUri;
  /** What may be touched. */
  sandbox?: SandboxContext | null;
}

/** What to begin with. */
export type Inherit =
  /** Home, path, user, locale and the like. */
  | "core"
  /** Everything. */
  | "all"
  /** Nothing. */
  | "none";

/** `initialize`: the first request of a connection. */
export interface InitializeParams {
  /** What the client calls itself. */
  clientName: string;
  /**
   * The session of an earlier connection that was lost; its processes still run for a while. Left out or
   * null, a new session begins.
   */
  resumeSessionId?: string | null;
}

/** What `initialize` gives. */
export interface InitializeResponse {
  /** The place where processes run. */
  environmentInfo: EnvironmentInfo;
  /** The session, by the number to resume it with. */
  sessionId: string;
}

/** What `process/list` gives. Added by Windlass. */
export interface ListResponse {
  /** The processes that the session knows, by name. */
  processes: ListedProcess[];
}

/** One process of a list. */
export interface ListedProcess {
  /** Its program and arguments. */
  argv: string[];
  /** The number its next event will have. */
  nextSeq: number;
  /** What the system calls it. */
  pid: number;
  /** What the client calls it. */
  processId: string;
  /** Whether it has a terminal. */
  tty: boolean;
  /** How it exited; null while it runs. */
  exitCode?: number | null;
}

/** Which files may be touched. */
export type ManagedFileSystem =
  /** Those of a list. */
  | {
    /** The most specific one counts; of two for the same place, `deny` before `write` before `read`. */
    entries: PermissionEntry[];
    type: "restricted";
  }
  /** All that the user may touch. */
  | {
    type: "unrestricted";
  };

/** How a process's network is controlled. */
export interface ManagedNetwork {
  /** Whether it may listen on, and connect to, 127.0.0.1 of its own network. Default: `false`. */
  allowLocalBinding?: boolean;
  /** Sockets at paths that it may connect to. Refused unless empty. Default: `[]`. */
  allowUnixSockets?: string[];
  /** Whether it may connect to any of them. Refused unless false. Default: `false`. */
  dangerouslyAllowAllUnixSockets?: boolean;
  /**
   * Ports of the server's own machine that it may connect to. Refused unless empty: its network is another
   * one. Default: `[]`.
   */
  loopbackPorts?: number[];
}

/** What becomes of an entry about a place that is not there. */
export type MissingPath =
  /** Nothing. */
  | "skip";

/** Whether the network may be used. */
export type NetworkPermission =
  /** It may not. */
  | "restricted"
  /** It may. */
  | "enabled";

/** Nothing is asked with. */
export interface NoParams {}

/** An absolute path, written as a `file:` URI. */
export type PathUri = string;

/** What may be done. */
export type PermissionAccess =
  /** Reading. */
  | "read"
  /** Reading and changing. */
  | "write"
  /** Nothing. */
  | "deny";

/** What may be done at one place and below. */
export interface PermissionEntry {
  /** What may be done there. */
  access: PermissionAccess;
  /** The place. */
  path: PermissionPath;
  /** What becomes of the entry where there is no such place. */
  missing_path_behavior?: MissingPath | null;
}

/** A place. */
export type PermissionPath =
  /** This one. */
  | {
    /** Where it is. */
    path: PathUri;
    type: "path";
  }
  /** All that fit. */
  | {
    /** `*`, `?`, `[…]` within a name, `**` for any folders. */
    pattern: string;
    type: "glob_pattern";
  }
  /** One that is called by what it is for. */
  | {
    type: "special";
    /** What for. */
    value: SpecialPath;
  };

/** Who keeps to what. */
export type Permissions =
  /** The server enforces these. */
  | {
    /** Files. */
    file_system: ManagedFileSystem;
    type: "managed";
    /** The network. Default: `"restricted"`. */
    network?: NetworkPermission;
  }
  /** Nobody enforces anything. */
  | {
    type: "disabled";
  }
  /** Somebody around the server enforces what there is to enforce. */
  | {
    type: "external";
  };

/** Some output of one stream. */
export interface ProcessOutputChunk {
  /** The bytes, as base64. */
  chunk: string;
  /** Its number among the events of the process. */
  seq: number;
  /** Where it was printed. */
  stream: ExecOutputStream;
  /**
   * So many bytes stood here and are kept no longer. Added by Windlass, and left out when nothing is missing.
   */
  droppedBytes?: number | null;
}

/** A signal, by name. All but `interrupt` were added by Windlass. */
export type ProcessSignal =
  /** SIGINT. */
  | "interrupt"
  /** SIGTERM. */
  | "terminate"
  /** SIGHUP. */
  | "hangup"
  /** SIGQUIT. */
  | "quit"
  /** SIGKILL. */
  | "kill"
  /** SIGSTOP. */
  | "stop"
  /** SIGCONT. */
  | "continue";

/** `process/read`: what happened after some event, at once if there is anything, else when it comes. */
export interface ReadParams {
  /** Of which process. */
  processId: string;
  /** The number of the last event that is known; 0 for none. */
  afterSeq?: number | null;
  /** The most bytes of output to give. One chunk is always given, however long. */
  maxBytes?: number | null;
  /** How long to wait for something to happen, in milliseconds. */
  waitMs?: number | null;
}

/** What `process/read` gives. */
export interface ReadResponse {
  /** Output, in order. */
  chunks: ProcessOutputChunk[];
  /** Whether no more output can come. */
  closed: boolean;
  /** Whether the process has exited. */
  exited: boolean;
  /** The number of the first event that is not in this answer. Ask on with `afterSeq` one less. */
  nextSeq: number;
  /** Whether a sandbox kept it from something. */
  sandboxDenied: boolean;
  /** How: its code, or 128 and the number of the signal that ended it. */
  exitCode?: number | null;
  /** Why the process cannot be followed any more. */
  failure?: string | null;
  /** The number of the signal that ended it. Added by Windlass, and left out when none did. */
  signal?: number | null;
}

/** `process/resize`. Added by Windlass. */
export interface ResizeParams {
  /** Which process; it must have a terminal. */
  processId: string;
  /** The new size. */
  size: TerminalSize;
}

/** What may be touched. Members that are not named here concern other systems. */
export interface SandboxContext {
  /** Who keeps to what. */
  permissions: Permissions;
  /** The folder that the permissions are about, if not that of the process. */
  cwd?: PathUri | null;
  /** The folders of the project, if there are others than that. Default: `[]`. */
  workspaceRoots?: PathUri[];
}

/** What keeps a process from what it may not touch. */
export type SandboxType =
  /** Nothing. */
  | "none"
  /** A sandbox of this machine. */
  | "linuxSeccomp";

/** Who serves. */
export interface ServerInfo {
  /** Its name. */
  name: string;
  /** Its version. */
  version: string;
}

/** A shell. */
export interface ShellInfo {
  /** Its name, as in `bash`. */
  name: string;
  /** Its program. */
  path: string;
}

/** `process/signal`. A process that is gone or unknown is no error. */
export interface SignalParams {
  /** To which process; all of its process group is signalled. */
  processId: string;
  /** Which signal. */
  signal: ProcessSignal;
}

/** A place that is called by what it is for. */
export type SpecialPath =
  /** Everything. */
  | {
    kind: "root";
  }
  /** What programs need to run at all. */
  | {
    kind: "minimal";
  }
  /** The folders of the project. */
  | {
    kind: "project_roots";
    /** A place below each of them. */
    subpath?: string | null;
  }
  /** The user's folder for temporary files. */
  | {
    kind: "tmpdir";
  }
  /** `/tmp`. */
  | {
    kind: "slash_tmp";
  }
  /** Something that the client knows and did not explain. */
  | {
    kind: "unknown";
    /** Its name. */
    path: string;
    /** A place below it. */
    subpath?: string | null;
  };

/** The size of a terminal. */
export interface TerminalSize {
  /** Characters in a line; more than none. */
  cols: number;
  /** Lines; more than none. */
  rows: number;
}

/** `process/terminate`: ends a process and everything it started. */
export interface TerminateParams {
  /** Which one. */
  processId: string;
}

/** What `process/terminate` gives. */
export interface TerminateResponse {
  /** Whether it was still running, and is being ended now. */
  running: boolean;
}

/** A file or a folder. */
export interface WalkEntry {
  /** Which of both. */
  kind: WalkKind;
  /** Where it is. */
  path: PathUri;
}

/** Something that could not be looked at. */
export interface WalkError {
  /** What the system said. */
  message: string;
  /** Where it is. */
  path: PathUri;
}

/** What a path leads to. */
export type WalkKind =
  /** A folder. */
  | "directory"
  /** A file. */
  | "file";

/** How far a walk goes. */
export interface WalkOptions {
  /** Whether folders behind symbolic links are looked into, each once. */
  followDirectorySymlinks: boolean;
  /** The most folders between the first and the last one that is looked into. At 0 only the first is. */
  maxDepth: number;
  /** The most folders that are looked into. */
  maxDirectories: number;
  /** The most things that are looked at. */
  maxEntries: number;
  /** Whether folders whose names begin with a dot are named and not looked into. Default: `false`. */
  pruneHiddenDirectories?: boolean;
}

/** `process/write`. */
export interface WriteParams {
  /** The bytes, as base64. */
  chunk: string;
  /** To which process. */
  processId: string;
  /**
   * What the client calls this write; not empty. Asked for again under the same name, it is not written
   * again.
   */
  writeId: string;
}

/** What `process/write` gives. */
export interface WriteResponse {
  /** What became of it. */
  status: WriteStatus;
}

/** What became of a write. */
export type WriteStatus =
  /** It is in the queue for the process, or was written before under the same name. */
  | "accepted"
  /** There is no such process. */
  | "unknownProcess"
  /** The process reads nothing any more, or never did. */
  | "stdinClosed"
  /**
   * The process is being started. Windlass does not answer this: a start is over before the next request is
   * read.
   */
  | "starting";

/** What each method takes and gives. */
export interface Methods {
  "initialize": { params: InitializeParams; result: InitializeResponse };
  "environment/info": { params: NoParams; result: EnvironmentInfo };
  "environment/status": { params: NoParams; result: EnvironmentStatusResponse };
  "process/start": { params: ExecParams; result: ExecResponse };
  "process/read": { params: ReadParams; result: ReadResponse };
  "process/write": { params: WriteParams; result: WriteResponse };
  "process/closeStdin": { params: CloseStdinParams; result: WriteResponse };
  "process/resize": { params: ResizeParams; result: Done };
  "process/signal": { params: SignalParams; result: Done };
  "process/terminate": { params: TerminateParams; result: TerminateResponse };
  "process/list": { params: NoParams; result: ListResponse };
  "fs/readFile": { params: FsReadFileParams; result: FsReadFileResponse };
  "fs/writeFile": { params: FsWriteFileParams; result: Done };
  "fs/createDirectory": { params: FsCreateDirectoryParams; result: Done };
  "fs/getMetadata": { params: FsGetMetadataParams; result: FsGetMetadataResponse };
  "fs/canonicalize": { params: FsCanonicalizeParams; result: FsCanonicalizeResponse };
  "fs/readDirectory": { params: FsReadDirectoryParams; result: FsReadDirectoryResponse };
  "fs/walk": { params: FsWalkParams; result: FsWalkResponse };
  "fs/remove": { params: FsRemoveParams; result: Done };
  "fs/copy": { params: FsCopyParams; result: Done };
  "fs/open": { params: FsOpenParams; result: FsOpenResponse };
  "fs/readBlock": { params: FsReadBlockParams; result: FsReadBlockResponse };
  "fs/close": { params: FsCloseParams; result: Done };
}

/** What a client may tell, and what each carries. */
export interface ClientNotifications {
  "initialized": undefined;
}

/** What a server may tell, and what each carries. */
export interface ServerNotifications {
  "process/output": ExecOutputDeltaNotification;
  "process/exited": ExecExitedNotification;
  "process/closed": ExecClosedNotification;
}
