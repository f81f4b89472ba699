// Made by `windlass app-server generate-ts`; do not edit.

/**
 * Every message of `windlass app-server`: JSON-RPC 2.0 without the member `jsonrpc`. A client runs commands
 * and processes under names of its own, hears of their output by notifications, and controls them. With
 * `session/*`, which is Windlass's own, everything that was printed is read, searched, waited for and
 * followed from any offset. Bytes are base64. Every notification of the server also has `emittedAtMs`, the
 * time in milliseconds since 1970, beside its params.
 */
export const DIALECT = "app-server";

/** A path from the root on. */
export type AbsolutePath = string;

/** What a client can take, or wants otherwise than usual. */
export interface Capabilities {
  /** Whether `process/*` and `permissionProfile` may be used. Default: `false`. */
  experimentalApi?: boolean;
  /** The exact names of notifications that are not to be sent. */
  optOutNotificationMethods?: string[] | null;
  /**
   * Windlass's own: processes shall outlive this connection for a while, or those of an earlier one be taken
   * over.
   */
  resume?: ResumeRequest | null;
}

/** Who the client is. */
export interface ClientInfo {
  /** Its name for programs; must be usable as the value of an HTTP header. */
  name: string;
  /** Its version. */
  version: string;
  /** Its name for people. */
  title?: string | null;
}

/** Notification `command/exec/outputDelta`: output as it comes. */
export interface CommandExecOutputDelta {
  /**
   * Whether this delta fills the cap of its stream, and so is its last one. Whether anything was cut is said
   * in the result.
   */
  capReached: boolean;
  /** The bytes, as base64 with padding. Characters may be split between two deltas. */
  deltaBase64: string;
  /** The command. */
  processId: string;
  /** Where it was printed. A terminal's output is `stdout`. */
  stream: OutputStream;
  /**
   * Windlass's own: where the first of the bytes is in everything the command printed, for `session/read` and
   * `session/subscribe`. Default: `0`.
   */
  offset?: number;
  /** Windlass's own: the number of this delta among all of the command's, from 1 on. Default: `0`. */
  seq?: number;
}

/** Parameters of `command/exec`: runs a command and answers when it has ended. */
export interface CommandExecParams {
  /** The program and its arguments, not a line for a shell. Must not be empty. */
  command: string[];
  /**
   * Where it runs: absolute, or seen from the server's directory, which is also the default. A leading `~` is
   * the home directory.
   */
  cwd?: string | null;
  /** Whether output is returned or sent however much it is. Excludes `outputBytesCap`. Default: `false`. */
  disableOutputCap?: boolean;
  /** Whether it may take as long as it likes. Excludes `timeoutMs`. Default: `false`. */
  disableTimeout?: boolean;
  /** Changes to the server's environment; `null` removes a variable. */
  env?: { [key: string]: string | null } | null;
  /**
   * The most bytes of each stream that are returned or sent. 1 MiB where it is left out. What comes after is
   * read, kept in the session, and not sent.
   */
  outputBytesCap?: number | null;
  /** What it may touch, by the name of a profile. Experimental; excludes `sandboxPolicy`. */
  permissionProfile?: string | null;
  /**
   * The client's name for it on this connection. Needed with `tty`, `streamStdin` and `streamStdoutStderr`,
   * and by the requests that control it.
   */
  processId?: string | null;
  /**
   * What it may touch. What cannot be enforced on the server's machine is refused. Where it is left out, the
   * server's operator chooses it (`--sandbox`, or `sandbox_mode` in the settings): read-only without a
   * network, if neither names one.
   */
  sandboxPolicy?: SandboxPolicy | null;
  /** The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out. */
  size?: TerminalSize | null;
  /**
   * Whether its input stays open for `command/exec/write`. Otherwise there is nothing to read. Default:
   * `false`.
   */
  streamStdin?: boolean;
  /**
   * Whether its output comes in `command/exec/outputDelta` notifications. `stdout` and `stderr` of the result
   * are empty then. Default: `false`.
   */
  streamStdoutStderr?: boolean;
  /** When it is ended, in milliseconds after its start. 10 seconds where it is left out; 0 is at once. */
  timeoutMs?: number | null;
  /** Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`. Default: `false`. */
  tty?: boolean;
}

/** Parameters of `command/exec/resize`: another size for a command's terminal. */
export interface CommandExecResizeParams {
  /** The command. */
  processId: string;
  /** The size. */
  size: TerminalSize;
}

/** Result of `command/exec`. Comes after the last delta, and its `processId` is free by then. */
export interface CommandExecResult {
  /**
   * What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
   */
  exitCode: number;
  /** Its standard error, likewise. */
  stderr: string;
  /** Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced one by one. */
  stdout: string;
  /**
   * Windlass's own: whether something it had started still held its output when waiting for the end of that
   * was given up, 2 seconds after its exit. Default: `false`.
   */
  drainTimedOut?: boolean;
  /** Windlass's own: the whole account of its end. */
  receipt?: Receipt | null;
  /** Windlass's own: the number of the signal that ended it. */
  signal?: number | null;
  /**
   * Windlass's own: whether it printed more to its standard error than was returned or sent. Default:
   * `false`.
   */
  stderrTruncated?: boolean;
  /**
   * Windlass's own: whether it printed more to its standard output, or its terminal, than was returned or
   * sent. Default: `false`.
   */
  stdoutTruncated?: boolean;
  /** Windlass's own: whether it was ended because its time was up. Default: `false`. */
  timedOut?: boolean;
}

/**
 * Parameters of `command/exec/terminate`: ends a command and everything it started, by TERM and, after a
 * grace, KILL. Answered at once; the command's own answer follows.
 */
export interface CommandExecTerminateParams {
  /** The command. */
  processId: string;
}

/**
 * Parameters of `command/exec/write`: input for a command. Answered when the bytes are in the command's
 * queue.
 */
export interface CommandExecWriteParams {
  /** The command. */
  processId: string;
  /**
   * Whether the input ends after them. On a terminal in line mode this ends the line and types the
   * end-of-file character; a terminal in raw mode has no end of input, and the request is refused. Default:
   * `false`.
   */
  closeStdin?: boolean;
  /** The bytes, as base64 with padding. */
  deltaBase64?: string | null;
}

/** A limit that was crossed, and how far. */
export interface CrossedLimit {
  /** The limit, in the unit of the resource. */
  limit: number;
  /** What noticed it. */
  means: LimitMeans;
  /** The most that was measured, in the same unit. */
  peak: number;
  /** Of what. */
  resource: LimitedResource;
  /** Whose limit it was. */
  scope: LimitScope;
}

/** Something that a sandbox refused. */
export interface Denial {
  /**
   * What the command tried: `read`, `write`, `create`, `make directory`, `make node`, `remove`, `rename`,
   * `link`, `change mode`, `change owner`, `change times`, `change attributes`, `truncate`, `connect`,
   * `send`, `socket`, `execute`, `watch` (inotify) or `call` (a system call that no sandbox allows). `more`,
   * last: there were too many different things to list, and this is how often others were refused.
   */
  operation: string;
  /** Which rule of the policy said no. */
  rule: string;
  /** On what: a path, an address or a kind of socket. */
  target: string;
  /** How often. */
  times: number;
}

/** An answer that says nothing but that it was done. */
export interface Done {}

/** Why a session ended. */
export type EndCause =
  /** Nobody asked: it returned, or something outside the server signalled it. */
  | "itself"
  /** Its time was up. */
  | "timeout"
  /** Somebody asked for it to be ended. */
  | "stopped"
  /** It crossed a resource limit. */
  | "limit"
  /** The server was shutting down. */
  | "shutdown"
  /** There were too many sessions, and this one had to make room. */
  | "evicted"
  /** The connection that started it went away. */
  | "dropped";

/** A limit that was in force. */
export interface EnforcedLimit {
  /** The limit, in the unit of the resource. */
  limit: number;
  /** What kept it. */
  means: LimitMeans;
  /** Of what. */
  resource: LimitedResource;
  /** Whose limit it was. */
  scope: LimitScope;
}

/** Lines that match. */
export interface Grep {
  /** A regular expression. */
  pattern: string;
  /** How many lines around each match are given, too; at most 1000. Default: `0`. */
  context?: number;
  /**
   * The first line that is given; they are counted from 1. To go on after an answer that was truncated: the
   * number after that of its last line.
   */
  first?: number | null;
}

/** Parameters of `initialize`, the first request of a connection. */
export interface InitializeParams {
  /** Who the client is. */
  clientInfo: ClientInfo;
  /** What the client can take, or wants otherwise than usual. */
  capabilities?: Capabilities | null;
}

/**
 * Result of `initialize`. Requests may follow at once; the notification `initialized` is welcome and not
 * required.
 */
export interface InitializeResult {
  /** The absolute path of the directory in which the server keeps what it remembers. */
  codexHome: string;
  /** `unix`. */
  platformFamily: string;
  /** `linux`. */
  platformOs: string;
  /** The server's name and version. */
  userAgent: string;
  /** Windlass's own: how to come back after the connection is lost, if the client asked for that. */
  resume?: Resumable | null;
}

/** By what a limit is kept. */
export type LimitMeans =
  /** A control group of version 2. */
  | "cgroupV2"
  /** Control groups of version 1. */
  | "cgroupV1"
  /** A resource limit of each process. */
  | "rlimit"
  /** The server looks again and again. */
  | "watcher"
  /** The server counts what it reads. */
  | "reader";

/** Whose limit it was. */
export type LimitScope =
  /** The session's own. */
  | "session"
  /** That of all sessions of the server together. */
  | "runtime";

/** What can be limited, each in its own unit. */
export type LimitedResource =
  /** Memory, in bytes. */
  | "memory"
  /** Processes and threads at a time. */
  | "processes"
  /** CPU time, in microseconds. */
  | "cpuTime"
  /** Files that one process has open at a time. */
  | "openFiles"
  /** Bytes printed. */
  | "output"
  /** Bytes printed in a second. */
  | "outputRate"
  /** Bytes written to disks. */
  | "disk";

/** Lines by number. */
export interface LineChoice {
  /** The first line; they are counted from 1. */
  first: number;
  /** The last line; what there is now, where it is left out. */
  last?: number | null;
}

/** Whether a sandbox around the server lets its commands use the network. */
export type NetworkAccess =
  /** It does not. */
  | "restricted"
  /** It does. */
  | "enabled";

/** Bytes of one stream. */
export interface OutputChunk {
  /** When the first of them was printed, in microseconds after the session's start. */
  atUs: number;
  /** The bytes, as base64 with padding. */
  deltaBase64: string;
  /** Where the first of them is. */
  offset: number;
  /** Where they were printed. A terminal's output is `stdout`. */
  stream: OutputStream;
}

/** A line as a terminal would finally show it. */
export interface OutputLine {
  /**
   * Its number; lines are counted from 1, among those that are kept: what was dropped has none, see
   * `dropped`.
   */
  number: number;
  /**
   * The bytes it came from, the end of line among them: what to read by span for all of it as it was printed.
   */
  span: OutputSpan;
  /** Its text, without the end of line. */
  text: string;
  /**
   * Whether `text` is only a part of it, because all of it is more than the answer may have or, of a search,
   * more than 64 KiB: what is around the match, or else the beginning. So is the last line before output that
   * is no longer kept. Default: `false`.
   */
  cut?: boolean;
  /** Whether it matches, as opposed to standing around a match. Default: `false`. */
  matches?: boolean;
}

/** What a pattern matched. */
export interface OutputMatch {
  /** The offset of its first byte. */
  from: number;
  /** The text. */
  text: string;
  /** The offset after its last byte. */
  to: number;
}

/** Output between two offsets. */
export interface OutputSpan {
  /** The offset of the first byte. */
  from: number;
  /** The offset after the last byte. */
  to: number;
}

/** Where output was printed. */
export type OutputStream =
  /** Standard output, or the terminal. */
  | "stdout"
  /** Standard error. */
  | "stderr";

/** Notification `process/exited`: the end of a process, after its last delta. Its handle is free by then. */
export interface ProcessExited {
  /**
   * What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
   */
  exitCode: number;
  /** Whether something it had started still held its output when waiting for the end of that was given up. */
  outputDrainTimedOut: boolean;
  /** The process. */
  processHandle: string;
  /** Its standard error, if it was not sent as deltas. */
  stderr: string;
  /** Whether its standard error filled the cap. */
  stderrCapReached: boolean;
  /** Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced one by one. */
  stdout: string;
  /** Whether its standard output, or its terminal's, filled the cap. */
  stdoutCapReached: boolean;
  /** Windlass's own: the whole account of its end. */
  receipt?: Receipt | null;
  /** Windlass's own: the number of the signal that ended it. */
  signal?: number | null;
  /** Windlass's own: whether it printed more to its standard error than was sent. Default: `false`. */
  stderrTruncated?: boolean;
  /**
   * Windlass's own: whether it printed more to its standard output, or its terminal, than was sent. Default:
   * `false`.
   */
  stdoutTruncated?: boolean;
  /** Windlass's own: whether it was ended because its time was up. Default: `false`. */
  timedOut?: boolean;
}

/**
 * Parameters of `process/kill`: ends a process and everything it started, by TERM and, after a grace, KILL.
 * Answered at once; `process/exited` follows, on the connection that started it. One that came back follows
 * it with `session/subscribe`.
 */
export interface ProcessKillParams {
  /** The process. */
  processHandle: string;
}

/** One process, as a person would name it. */
export interface ProcessLine {
  /** Its command line. */
  command: string;
  /** Its process id. */
  pid: number;
}

/** Notification `process/outputDelta`: output as it comes. */
export interface ProcessOutputDelta {
  /** Whether this delta fills the cap of its stream, and so is its last one. */
  capReached: boolean;
  /** The bytes, as base64 with padding. Characters may be split between two deltas. */
  deltaBase64: string;
  /** The process. */
  processHandle: string;
  /** Where it was printed. A terminal's output is `stdout`. */
  stream: OutputStream;
  /** Windlass's own: where the first of the bytes is in everything the process printed. Default: `0`. */
  offset?: number;
  /** Windlass's own: the number of this delta among all of the process's, from 1 on. Default: `0`. */
  seq?: number;
}

/** Parameters of `process/resizePty`: another size for a process's terminal. */
export interface ProcessResizePtyParams {
  /** The process. */
  processHandle: string;
  /** The size. */
  size: TerminalSize;
}

/**
 * Parameters of `process/spawn`: starts a process and answers at once. The server's operator chooses its
 * sandbox (`--sandbox`, or `sandbox_mode` in the settings): none, if neither names one. Experimental.
 */
export interface ProcessSpawnParams {
  /** The program and its arguments, not a line for a shell. Must not be empty. */
  command: string[];
  /** Where it runs. Absolute. */
  cwd: AbsolutePath;
  /** The client's name for it on this connection. Must not be empty. */
  processHandle: string;
  /** Changes to the server's environment; `null` removes a variable. */
  env?: { [key: string]: string | null } | null;
  /**
   * The most bytes of each stream that are sent: 1 MiB where it is left out, however many where it is `null`.
   */
  outputBytesCap?: number | null;
  /** The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out. */
  size?: TerminalSize | null;
  /**
   * Whether its input stays open for `process/writeStdin`. Otherwise there is nothing to read. Default:
   * `false`.
   */
  streamStdin?: boolean;
  /**
   * Whether its output comes in `process/outputDelta` notifications. Otherwise it comes in `process/exited`.
   * Default: `false`.
   */
  streamStdoutStderr?: boolean;
  /**
   * When it is ended, in milliseconds after its start: 10 seconds where it is left out, never where it is
   * `null`.
   */
  timeoutMs?: number | null;
  /** Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`. Default: `false`. */
  tty?: boolean;
}

/** Result of `process/spawn`. */
export interface ProcessSpawnResult {
  /** Windlass's own: the process id of its root process. */
  pid: number;
  /** Windlass's own: the number of its session, by which `session/*` finds it. */
  sessionId: number;
}

/**
 * Parameters of `process/writeStdin`: input for a process. Answered when the bytes are in the process's
 * queue.
 */
export interface ProcessWriteStdinParams {
  /** The process. */
  processHandle: string;
  /**
   * Whether the input ends after them. On a terminal in line mode this ends the line and types the
   * end-of-file character; a terminal in raw mode has no end of input, and the request is refused. Default:
   * `false`.
   */
  closeStdin?: boolean;
  /** The bytes, as base64 with padding. */
  deltaBase64?: string | null;
}

/** Windlass's own: the whole account of how a command or process ended. */
export interface Receipt {
  /** Why it ended. */
  cause: EndCause;
  /** CPU time in the kernel, likewise. */
  cpuSystemUs: number;
  /** CPU time in user mode of its root process and the descendants that one waited for, in microseconds. */
  cpuUserUs: number;
  /** Processes other than its root process that the server ended. */
  ended: ProcessLine[];
  /** Processes it started that were still alive when it ended, and were left so until the connection ends. */
  leftRunning: ProcessLine[];
  /** The most memory that the largest of them had resident, in bytes. */
  peakMemoryBytes: number;
  /** Whether that is only known as a bound: not more than this. */
  peakMemoryIsBound: boolean;
  /** The process id that its root process had. */
  pid: number;
  /** Processes that could not be ended. */
  remaining: ProcessLine[];
  /** The number of its session, by which `session/*` finds it. */
  sessionId: number;
  /** Bytes it printed to its standard error; 0 on a terminal. */
  stderrBytes: number;
  /** Bytes it printed to its standard output; 0 on a terminal. */
  stdoutBytes: number;
  /** Bytes it printed to its terminal; 0 on pipes. */
  terminalBytes: number;
  /** Bytes of input that were taken for it and never reached it. */
  undeliveredInput: number;
  /** From its start to its root process's exit, in microseconds. */
  wallUs: number;
  /** What its sandbox refused it. Default: `[]`. */
  denials?: Denial[];
  /** The limits it was under, and by what each was kept. */
  enforced?: EnforcedLimit[];
  /** The limit that it was ended for, if its cause is one. */
  limit?: CrossedLimit | null;
  /**
   * In which way its sandbox is another than its policy asks for, in sentences: without namespaces, or
   * without a place that is missing.
   */
  notes?: string[];
  /** The most that everything it started used together, as far as that was measured: what is limited is. */
  peaks?: ResourcePeak[];
}

/** The most that was measured of a resource. */
export interface ResourcePeak {
  /** The most, in the unit of the resource. */
  peak: number;
  /** Of what. */
  resource: LimitedResource;
}

/** How to come back after the connection is lost. */
export interface Resumable {
  /** How long the processes wait for it, in milliseconds. */
  graceMs: number;
  /** Whether the processes of the connection that was named are here now. */
  resumed: boolean;
  /**
   * What to send as `capabilities.resume.token` on the next connection. Whoever has it has the processes. Of
   * a connection that was resumed it is the same as before.
   */
  token: string;
}

/** How the processes of a connection survive its loss. */
export interface ResumeRequest {
  /**
   * How long processes go on without a client, in milliseconds; at most ten minutes. 30 seconds where it is
   * left out.
   */
  graceMs?: number | null;
  /** The token of an earlier connection whose processes are taken over. */
  token?: string | null;
}

/** What a command may touch. */
export type SandboxPolicy =
  /** Everything the server may. */
  | {
    type: "dangerFullAccess";
  }
  /** Reading only. */
  | {
    type: "readOnly";
    /** Whether it may use the network. Default: `false`. */
    networkAccess?: boolean;
  }
  /** The server is inside a sandbox already: nothing more is enforced. */
  | {
    type: "externalSandbox";
    /** Whether that sandbox lets it use the network. Default: `"restricted"`. */
    networkAccess?: NetworkAccess;
  }
  /** Writing below the server's directory, some roots and the temporary directories; reading everywhere. */
  | {
    type: "workspaceWrite";
    /** Whether `/tmp` is not writable. Default: `false`. */
    excludeSlashTmp?: boolean;
    /** Whether `$TMPDIR` is not writable. Default: `false`. */
    excludeTmpdirEnvVar?: boolean;
    /** Whether it may use the network. Default: `false`. */
    networkAccess?: boolean;
    /** Further absolute directories it may write below. Default: `[]`. */
    writableRoots?: AbsolutePath[];
  };

/** Notification `session/closed`: nothing more can be printed. The last about its session. */
export interface SessionClosed {
  /** How many bytes it printed. */
  end: number;
  /** The session. */
  sessionId: number;
}

/** Notification `session/dropped`: this part of the output is no longer kept, or cannot be read. */
export interface SessionDropped {
  /** The offset of the first byte that is gone. */
  from: number;
  /** The session. */
  sessionId: number;
  /** The offset after the last byte that is gone. */
  to: number;
  /** Why it cannot be read, if retention did not drop it. */
  reason?: string | null;
}

/**
 * Parameters of `session/endAll`: ends everything that the connection runs or that its commands left running,
 * and is answered when that has ended. Whoever says so will not come back: a connection that is lost
 * afterwards is not waited for. Where another connection has taken everything over, nothing happens.
 */
export interface SessionEndAllParams {}

/** How a session ended. */
export interface SessionExit {
  /** Whether something it had started still held its output when waiting for the end of that was given up. */
  drainTimedOut: boolean;
  /**
   * What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
   */
  exitCode: number;
  /** The whole account. */
  receipt: Receipt;
  /** Whether it was ended because its time was up. */
  timedOut: boolean;
  /** The number of the signal that ended it. */
  signal?: number | null;
}

/**
 * Notification `session/exited`: a session that is followed has ended. Only what it left running can still
 * print.
 */
export interface SessionExited {
  /** How it ended. */
  exit: SessionExit;
  /** The session. */
  sessionId: number;
}

/** One session. */
export interface SessionInfo {
  /** The program and its arguments. */
  command: string[];
  /** Where it was started. */
  cwd: string;
  /** How many bytes it has printed so far. */
  end: number;
  /** The process id of its root process. */
  pid: number;
  /** Its number. */
  sessionId: number;
  /** When it was started, in milliseconds since 1970. */
  startedAtMs: number;
  /** Where it is in its life. */
  state: SessionState;
  /** Whether it runs on a terminal. */
  tty: boolean;
  /** How it ended, once it has. */
  exit?: SessionExit | null;
  /** The handle that the client gave it in `process/spawn`. */
  processHandle?: string | null;
  /** The name that the client gave it in `command/exec`. */
  processId?: string | null;
}

/** Parameters of `session/list`: what the connection runs, and the latest that have ended. */
export interface SessionListParams {}

/** Result of `session/list`. */
export interface SessionListResult {
  /** The sessions, oldest first. */
  sessions: SessionInfo[];
}

/** Notification `session/output`: output of a session that is followed. */
export interface SessionOutput {
  /** The bytes, as base64 with padding. Characters may be split between two notifications. */
  deltaBase64: string;
  /** Where the first of the bytes is. The next one begins where this one ends. */
  offset: number;
  /** The session. */
  sessionId: number;
  /** Where it was printed. A terminal's output is `stdout`. */
  stream: OutputStream;
}

/**
 * Parameters of `session/read`: output by its address. At most one of `span`, `lines` and `grep`; without
 * any, everything from the beginning on.
 */
export interface SessionReadParams {
  /** Lines that match, as a terminal would finally show them. */
  grep?: Grep | null;
  /** Lines by number, as a terminal would finally show them. */
  lines?: LineChoice | null;
  /**
   * The most bytes of output in the answer: 1 MiB where it is left out, at most 16 MiB. It has at most 65,536
   * lines, too.
   */
  maxBytes?: number | null;
  /** The process that has this handle now. */
  processHandle?: string | null;
  /** The command that has this name now. */
  processId?: string | null;
  /** By its number, also after it has ended. */
  sessionId?: number | null;
  /** The bytes between two offsets, as they were printed. */
  span?: SpanChoice | null;
}

/** Result of `session/read`. */
export interface SessionReadResult {
  /** Whether it can print no more, so that `end` is final. */
  closed: boolean;
  /** How many bytes it has printed so far. */
  end: number;
  /** The number of the session. */
  sessionId: number;
  /** Whether `maxBytes` kept something out of the answer. */
  truncated: boolean;
  /** What was read by span, in order. */
  chunks?: OutputChunk[];
  /** Output in the requested part that is no longer kept or cannot be read. */
  dropped?: OutputSpan[];
  /** What was read by lines or by matching, in order. */
  lines?: OutputLine[];
  /** Of a span: the offset at which to go on. It is the end of the span when all of it was read. */
  next?: number | null;
  /** Spans of `dropped` that retention did not drop: the file is gone or unreadable, or a write failed. */
  unreadable?: UnreadableOutput[];
}

/**
 * Parameters of `session/signal`: a signal for the process group of the session's root process, and nothing
 * more.
 */
export interface SessionSignalParams {
  /** The signal's name, such as `SIGINT` or `INT`. */
  signal: string;
  /** The process that has this handle now. */
  processHandle?: string | null;
  /** The command that has this name now. */
  processId?: string | null;
  /** By its number, also after it has ended. */
  sessionId?: number | null;
}

/** Where a session is in its life. */
export type SessionState =
  /** Its root process runs. */
  | "running"
  /** It is being ended. */
  | "stopping"
  /** Its root process is gone, and its last output is being read. */
  | "draining"
  /** It has ended. */
  | "exited";

/**
 * Parameters of `session/subscribe`: everything from an offset on as `session/output` notifications, then
 * `session/exited` and `session/closed`. One subscription a session and connection; another one takes its
 * place.
 */
export interface SessionSubscribeParams {
  /** The offset to begin at; what is printed from now on, where it is left out. */
  from?: number | null;
  /** The process that has this handle now. */
  processHandle?: string | null;
  /** The command that has this name now. */
  processId?: string | null;
  /** By its number, also after it has ended. */
  sessionId?: number | null;
}

/** Result of `session/subscribe`. Comes before the first notification. */
export interface SessionSubscribeResult {
  /** The offset at which the output begins. */
  from: number;
  /** The number of the session, as in the notifications. */
  sessionId: number;
}

/**
 * Parameters of `session/unsubscribe`: no more notifications about a session. Fine also where there is no
 * subscription.
 */
export interface SessionUnsubscribeParams {
  /** The process that has this handle now. */
  processHandle?: string | null;
  /** The command that has this name now. */
  processId?: string | null;
  /** By its number, also after it has ended. */
  sessionId?: number | null;
}

/** Parameters of `session/wait`: answered when the first of the conditions holds. */
export interface SessionWaitParams {
  /** The process that has this handle now. */
  processHandle?: string | null;
  /** The command that has this name now. */
  processId?: string | null;
  /** By its number, also after it has ended. */
  sessionId?: number | null;
  /** How long to wait at most, in milliseconds; for ever where it is left out. */
  timeoutMs?: number | null;
  /** What to wait for besides the session's end. Default: `{"input":false,"patternFrom":0}`. */
  until?: WaitUntil;
}

/** Result of `session/wait`. */
export interface SessionWaitResult {
  /** How many bytes it has printed so far. */
  end: number;
  /** Which condition held first. */
  met: WaitMet;
  /** The number of the session. */
  sessionId: number;
  /** How the session ended, if it has. */
  exit?: SessionExit | null;
  /** What the pattern matched. */
  match?: OutputMatch | null;
}

/** The bytes between two offsets. */
export interface SpanChoice {
  /** The offset of the first byte. Default: `0`. */
  from?: number;
  /** The offset after the last byte; what there is now, where it is left out. */
  to?: number | null;
}

/** The size of a terminal in character cells. */
export interface TerminalSize {
  /** Its width; more than 0. */
  cols: number;
  /** Its height; more than 0. */
  rows: number;
}

/** Output between two offsets that should be there and cannot be read. */
export interface UnreadableOutput {
  /** The offset of the first byte. */
  from: number;
  /** The file, what the system said, and what to do. */
  reason: string;
  /** The offset after the last byte. */
  to: number;
}

/** What ended a wait. */
export type WaitMet =
  /** The session ended. */
  | "exit"
  /** The pattern was found. */
  | "pattern"
  /** There was silence for long enough. */
  | "idle"
  /** The output got that far. */
  | "offset"
  /** It waits for input. */
  | "input"
  /** It listens on the port. */
  | "port"
  /** Nothing more can be printed, and nothing else of it holds. */
  | "closed"
  /** The time was up. */
  | "timeout";

/** What to wait for besides the session's end. */
export interface WaitUntil {
  /** Nothing was printed for so many milliseconds. */
  idleMs?: number | null;
  /** It has read all its input and waits for more. Default: `false`. */
  input?: boolean;
  /** The output has got as far as this offset. */
  offset?: number | null;
  /** A regular expression that matches what is printed, as a terminal would show it. */
  pattern?: string | null;
  /** The offset from which on the pattern is looked for. Default: `0`. */
  patternFrom?: number;
  /** It listens on this TCP port. */
  port?: number | null;
}

/** What each method takes and gives. */
export interface Methods {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "command/exec": { params: CommandExecParams; result: CommandExecResult };
  "command/exec/write": { params: CommandExecWriteParams; result: Done };
  "command/exec/resize": { params: CommandExecResizeParams; result: Done };
  "command/exec/terminate": { params: CommandExecTerminateParams; result: Done };
  "process/spawn": { params: ProcessSpawnParams; result: ProcessSpawnResult };
  "process/writeStdin": { params: ProcessWriteStdinParams; result: Done };
  "process/resizePty": { params: ProcessResizePtyParams; result: Done };
  "process/kill": { params: ProcessKillParams; result: Done };
  "session/list": { params: SessionListParams; result: SessionListResult };
  "session/read": { params: SessionReadParams; result: SessionReadResult };
  "session/wait": { params: SessionWaitParams; result: SessionWaitResult };
  "session/signal": { params: SessionSignalParams; result: Done };
  "session/subscribe": { params: SessionSubscribeParams; result: SessionSubscribeResult };
  "session/unsubscribe": { params: SessionUnsubscribeParams; result: Done };
  "session/endAll": { params: SessionEndAllParams; result: Done };
}

/** What a client may tell, and what each carries. */
export interface ClientNotifications {
  "initialized": undefined;
}

/** What a server may tell, and what each carries. */
export interface ServerNotifications {
  "command/exec/outputDelta": CommandExecOutputDelta;
  "process/outputDelta": ProcessOutputDelta;
  "process/exited": ProcessExited;
  "session/output": SessionOutput;
  "session/dropped": SessionDropped;
  "session/exited": SessionExited;
  "session/closed": SessionClosed;
}
