# Made by windlass from the shapes of its app-server dialect; do not edit.
"""Every message of `windlass app-server`: JSON-RPC 2.0 without the member `jsonrpc`. A client
runs commands and processes under names of its own, hears of their output by notifications,
and controls them. With `session/*`, which is Windlass's own, everything that was printed is
read, searched, waited for and followed from any offset. Bytes are base64. Every notification
of the server also has `emittedAtMs`, the time in milliseconds since 1970, beside its params.
"""
from __future__ import annotations

from typing import Any, Dict, List, Literal, TypeAlias, TypedDict, Union


AbsolutePath: TypeAlias = "str"
"""A path from the root on."""


class Capabilities(TypedDict, total=False):
    """What a client can take, or wants otherwise than usual."""
    experimentalApi: bool
    """Whether `process/*` and `permissionProfile` may be used. Default: `false`."""
    optOutNotificationMethods: Union[List[str], None]
    """The exact names of notifications that are not to be sent."""
    resume: Union[ResumeRequest, None]
    """Windlass's own: processes shall outlive this connection for a while, or those of an
    earlier one be taken over.
    """


class _ClientInfoRequired(TypedDict):
    name: str
    """Its name for programs; must be usable as the value of an HTTP header."""
    version: str
    """Its version."""


class ClientInfo(_ClientInfoRequired, total=False):
    """Who the client is."""
    title: Union[str, None]
    """Its name for people."""


class _CommandExecOutputDeltaRequired(TypedDict):
    capReached: bool
    """Whether this delta fills the cap of its stream, and so is its last one. Whether anything
    was cut is said in the result.
    """
    deltaBase64: str
    """The bytes, as base64 with padding. Characters may be split between two deltas."""
    processId: str
    """The command."""
    stream: OutputStream
    """Where it was printed. A terminal's output is `stdout`."""


class CommandExecOutputDelta(_CommandExecOutputDeltaRequired, total=False):
    """Notification `command/exec/outputDelta`: output as it comes."""
    offset: int
    """Windlass's own: where the first of the bytes is in everything the command printed, for
    `session/read` and `session/subscribe`. Default: `0`.
    """
    seq: int
    """Windlass's own: the number of this delta among all of the command's, from 1 on. Default:
    `0`.
    """


class _CommandExecParamsRequired(TypedDict):
    command: List[str]
    """The program and its arguments, not a line for a shell. Must not be empty."""


class CommandExecParams(_CommandExecParamsRequired, total=False):
    """Parameters of `command/exec`: runs a command and answers when it has ended."""
    cwd: Union[str, None]
    """Where it runs: absolute, or seen from the server's directory, which is also the default. A
    leading `~` is the home directory.
    """
    disableOutputCap: bool
    """Whether output is returned or sent however much it is. Excludes `outputBytesCap`. Default:
    `false`.
    """
    disableTimeout: bool
    """Whether it may take as long as it likes. Excludes `timeoutMs`. Default: `false`."""
    env: Union[Dict[str, Union[str, None]], None]
    """Changes to the server's environment; `null` removes a variable."""
    outputBytesCap: Union[int, None]
    """The most bytes of each stream that are returned or sent. 1 MiB where it is left out. What
    comes after is read, kept in the session, and not sent.
    """
    permissionProfile: Union[str, None]
    """What it may touch, by the name of a profile. Experimental; excludes `sandboxPolicy`."""
    processId: Union[str, None]
    """The client's name for it on this connection. Needed with `tty`, `streamStdin` and
    `streamStdoutStderr`, and by the requests that control it.
    """
    sandboxPolicy: Union[SandboxPolicy, None]
    """What it may touch. What cannot be enforced on the server's machine is refused. Where it is
    left out, the server's operator chooses it (`--sandbox`, or `sandbox_mode` in the
    settings): read-only without a network, if neither names one.
    """
    size: Union[TerminalSize, None]
    """The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out."""
    streamStdin: bool
    """Whether its input stays open for `command/exec/write`. Otherwise there is nothing to read.
    Default: `false`.
    """
    streamStdoutStderr: bool
    """Whether its output comes in `command/exec/outputDelta` notifications. `stdout` and
    `stderr` of the result are empty then. Default: `false`.
    """
    timeoutMs: Union[int, None]
    """When it is ended, in milliseconds after its start. 10 seconds where it is left out; 0 is
    at once.
    """
    tty: bool
    """Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`. Default:
    `false`.
    """


class CommandExecResizeParams(TypedDict):
    """Parameters of `command/exec/resize`: another size for a command's terminal."""
    processId: str
    """The command."""
    size: TerminalSize
    """The size."""


class _CommandExecResultRequired(TypedDict):
    exitCode: int
    """What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it
    is not known.
    """
    stderr: str
    """Its standard error, likewise."""
    stdout: str
    """Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced
    one by one.
    """


class CommandExecResult(_CommandExecResultRequired, total=False):
    """Result of `command/exec`. Comes after the last delta, and its `processId` is free by then."""
    drainTimedOut: bool
    """Windlass's own: whether something it had started still held its output when waiting for
    the end of that was given up, 2 seconds after its exit. Default: `false`.
    """
    receipt: Union[Receipt, None]
    """Windlass's own: the whole account of its end."""
    signal: Union[int, None]
    """Windlass's own: the number of the signal that ended it."""
    stderrTruncated: bool
    """Windlass's own: whether it printed more to its standard error than was returned or sent.
    Default: `false`.
    """
    stdoutTruncated: bool
    """Windlass's own: whether it printed more to its standard output, or its terminal, than was
    returned or sent. Default: `false`.
    """
    timedOut: bool
    """Windlass's own: whether it was ended because its time was up. Default: `false`."""


class CommandExecTerminateParams(TypedDict):
    """Parameters of `command/exec/terminate`: ends a command and everything it started, by TERM
    and, after a grace, KILL. Answered at once; the command's own answer follows.
    """
    processId: str
    """The command."""


class _CommandExecWriteParamsRequired(TypedDict):
    processId: str
    """The command."""


class CommandExecWriteParams(_CommandExecWriteParamsRequired, total=False):
    """Parameters of `command/exec/write`: input for a command. Answered when the bytes are in
    the command's queue.
    """
    closeStdin: bool
    """Whether the input ends after them. On a terminal in line mode this ends the line and types
    the end-of-file character; a terminal in raw mode has no end of input, and the request is
    refused. Default: `false`.
    """
    deltaBase64: Union[str, None]
    """The bytes, as base64 with padding."""


class CrossedLimit(TypedDict):
    """A limit that was crossed, and how far."""
    limit: int
    """The limit, in the unit of the resource."""
    means: LimitMeans
    """What noticed it."""
    peak: int
    """The most that was measured, in the same unit."""
    resource: LimitedResource
    """Of what."""
    scope: LimitScope
    """Whose limit it was."""


class Denial(TypedDict):
    """Something that a sandbox refused."""
    operation: str
    """What the command tried: `read`, `write`, `create`, `make directory`, `make node`,
    `remove`, `rename`, `link`, `change mode`, `change owner`, `change times`, `change
    attributes`, `truncate`, `connect`, `send`, `socket`, `execute`, `watch` (inotify) or
    `call` (a system call that no sandbox allows). `more`, last: there were too many different
    things to list, and this is how often others were refused.
    """
    rule: str
    """Which rule of the policy said no."""
    target: str
    """On what: a path, an address or a kind of socket."""
    times: int
    """How often."""


class Done(TypedDict):
    """An answer that says nothing but that it was done."""


EndCause: TypeAlias = "Literal['itself', 'timeout', 'stopped', 'limit', 'shutdown', 'evicted', 'dropped']"
"""Why a session ended.

- `Literal['itself']`: Nobody asked: it returned, or something outside the server signalled
it.

- `Literal['timeout']`: Its time was up.

- `Literal['stopped']`: Somebody asked for it to be ended.

- `Literal['limit']`: It crossed a resource limit.

- `Literal['shutdown']`: The server was shutting down.

- `Literal['evicted']`: There were too many sessions, and this one had to make room.

- `Literal['dropped']`: The connection that started it went away.
"""


class EnforcedLimit(TypedDict):
    """A limit that was in force."""
    limit: int
    """The limit, in the unit of the resource."""
    means: LimitMeans
    """What kept it."""
    resource: LimitedResource
    """Of what."""
    scope: LimitScope
    """Whose limit it was."""


class _GrepRequired(TypedDict):
    pattern: str
    """A regular expression."""


class Grep(_GrepRequired, total=False):
    """Lines that match."""
    context: int
    """How many lines around each match are given, too; at most 1000. Default: `0`."""
    first: Union[int, None]
    """The first line that is given; they are counted from 1. To go on after an answer that was
    truncated: the number after that of its last line.
    """


class _InitializeParamsRequired(TypedDict):
    clientInfo: ClientInfo
    """Who the client is."""


class InitializeParams(_InitializeParamsRequired, total=False):
    """Parameters of `initialize`, the first request of a connection."""
    capabilities: Union[Capabilities, None]
    """What the client can take, or wants otherwise than usual."""


class _InitializeResultRequired(TypedDict):
    codexHome: str
    """The absolute path of the directory in which the server keeps what it remembers."""
    platformFamily: str
    """`unix`."""
    platformOs: str
    """`linux`."""
    userAgent: str
    """The server's name and version."""


class InitializeResult(_InitializeResultRequired, total=False):
    """Result of `initialize`. Requests may follow at once; the notification `initialized` is
    welcome and not required.
    """
    resume: Union[Resumable, None]
    """Windlass's own: how to come back after the connection is lost, if the client asked for
    that.
    """


LimitMeans: TypeAlias = "Literal['cgroupV2', 'cgroupV1', 'rlimit', 'watcher', 'reader']"
"""By what a limit is kept.

- `Literal['cgroupV2']`: A control group of version 2.

- `Literal['cgroupV1']`: Control groups of version 1.

- `Literal['rlimit']`: A resource limit of each process.

- `Literal['watcher']`: The server looks again and again.

- `Literal['reader']`: The server counts what it reads.
"""


LimitScope: TypeAlias = "Literal['session', 'runtime']"
"""Whose limit it was.

- `Literal['session']`: The session's own.

- `Literal['runtime']`: That of all sessions of the server together.
"""


LimitedResource: TypeAlias = "Literal['memory', 'processes', 'cpuTime', 'openFiles', 'output', 'outputRate', 'disk']"
"""What can be limited, each in its own unit.

- `Literal['memory']`: Memory, in bytes.

- `Literal['processes']`: Processes and threads at a time.

- `Literal['cpuTime']`: CPU time, in microseconds.

- `Literal['openFiles']`: Files that one process has open at a time.

- `Literal['output']`: Bytes printed.

- `Literal['outputRate']`: Bytes printed in a second.

- `Literal['disk']`: Bytes written to disks.
"""


class _LineChoiceRequired(TypedDict):
    first: int
    """The first line; they are counted from 1."""


class LineChoice(_LineChoiceRequired, total=False):
    """Lines by number."""
    last: Union[int, None]
    """The last line; what there is now, where it is left out."""


NetworkAccess: TypeAlias = "Literal['restricted', 'enabled']"
"""Whether a sandbox around the server lets its commands use the network.

- `Literal['restricted']`: It does not.

- `Literal['enabled']`: It does.
"""


class OutputChunk(TypedDict):
    """Bytes of one stream."""
    atUs: int
    """When the first of them was printed, in microseconds after the session's start."""
    deltaBase64: str
    """The bytes, as base64 with padding."""
    offset: int
    """Where the first of them is."""
    stream: OutputStream
    """Where they were printed. A terminal's output is `stdout`."""


class _OutputLineRequired(TypedDict):
    number: int
    """Its number; lines are counted from 1, among those that are kept: what was dropped has
    none, see `dropped`.
    """
    span: OutputSpan
    """The bytes it came from, the end of line among them: what to read by span for all of it as
    it was printed.
    """
    text: str
    """Its text, without the end of line."""


class OutputLine(_OutputLineRequired, total=False):
    """A line as a terminal would finally show it."""
    cut: bool
    """Whether `text` is only a part of it, because all of it is more than the answer may have
    or, of a search, more than 64 KiB: what is around the match, or else the beginning. So is
    the last line before output that is no longer kept. Default: `false`.
    """
    matches: bool
    """Whether it matches, as opposed to standing around a match. Default: `false`."""


_OutputMatchWords = TypedDict(
    "_OutputMatchWords",
    {
        # The offset of its first byte.
        "from": "int",
    },
)


class OutputMatch(_OutputMatchWords):
    """What a pattern matched."""
    text: str
    """The text."""
    to: int
    """The offset after its last byte."""


_OutputSpanWords = TypedDict(
    "_OutputSpanWords",
    {
        # The offset of the first byte.
        "from": "int",
    },
)


class OutputSpan(_OutputSpanWords):
    """Output between two offsets."""
    to: int
    """The offset after the last byte."""


OutputStream: TypeAlias = "Literal['stdout', 'stderr']"
"""Where output was printed.

- `Literal['stdout']`: Standard output, or the terminal.

- `Literal['stderr']`: Standard error.
"""


class _ProcessExitedRequired(TypedDict):
    exitCode: int
    """What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it
    is not known.
    """
    outputDrainTimedOut: bool
    """Whether something it had started still held its output when waiting for the end of that
    was given up.
    """
    processHandle: str
    """The process."""
    stderr: str
    """Its standard error, if it was not sent as deltas."""
    stderrCapReached: bool
    """Whether its standard error filled the cap."""
    stdout: str
    """Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced
    one by one.
    """
    stdoutCapReached: bool
    """Whether its standard output, or its terminal's, filled the cap."""


class ProcessExited(_ProcessExitedRequired, total=False):
    """Notification `process/exited`: the end of a process, after its last delta. Its handle is
    free by then.
    """
    receipt: Union[Receipt, None]
    """Windlass's own: the whole account of its end."""
    signal: Union[int, None]
    """Windlass's own: the number of the signal that ended it."""
    stderrTruncated: bool
    """Windlass's own: whether it printed more to its standard error than was sent. Default:
    `false`.
    """
    stdoutTruncated: bool
    """Windlass's own: whether it printed more to its standard output, or its terminal, than was
    sent. Default: `false`.
    """
    timedOut: bool
    """Windlass's own: whether it was ended because its time was up. Default: `false`."""


class ProcessKillParams(TypedDict):
    """Parameters of `process/kill`: ends a process and everything it started, by TERM and, after
    a grace, KILL. Answered at once; `process/exited` follows, on the connection that started
    it. One that came back follows it with `session/subscribe`.
    """
    processHandle: str
    """The process."""


class ProcessLine(TypedDict):
    """One process, as a person would name it."""
    command: str
    """Its command line."""
    pid: int
    """Its process id."""


class _ProcessOutputDeltaRequired(TypedDict):
    capReached: bool
    """Whether this delta fills the cap of its stream, and so is its last one."""
    deltaBase64: str
    """The bytes, as base64 with padding. Characters may be split between two deltas."""
    processHandle: str
    """The process."""
    stream: OutputStream
    """Where it was printed. A terminal's output is `stdout`."""


class ProcessOutputDelta(_ProcessOutputDeltaRequired, total=False):
    """Notification `process/outputDelta`: output as it comes."""
    offset: int
    """Windlass's own: where the first of the bytes is in everything the process printed.
    Default: `0`.
    """
    seq: int
    """Windlass's own: the number of this delta among all of the process's, from 1 on. Default:
    `0`.
    """


class ProcessResizePtyParams(TypedDict):
    """Parameters of `process/resizePty`: another size for a process's terminal."""
    processHandle: str
    """The process."""
    size: TerminalSize
    """The size."""


class _ProcessSpawnParamsRequired(TypedDict):
    command: List[str]
    """The program and its arguments, not a line for a shell. Must not be empty."""
    cwd: AbsolutePath
    """Where it runs. Absolute."""
    processHandle: str
    """The client's name for it on this connection. Must not be empty."""


class ProcessSpawnParams(_ProcessSpawnParamsRequired, total=False):
    """Parameters of `process/spawn`: starts a process and answers at once. The server's operator
    chooses its sandbox (`--sandbox`, or `sandbox_mode` in the settings): none, if neither
    names one. Experimental.
    """
    env: Union[Dict[str, Union[str, None]], None]
    """Changes to the server's environment; `null` removes a variable."""
    outputBytesCap: Union[int, None]
    """The most bytes of each stream that are sent: 1 MiB where it is left out, however many
    where it is `null`.
    """
    size: Union[TerminalSize, None]
    """The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out."""
    streamStdin: bool
    """Whether its input stays open for `process/writeStdin`. Otherwise there is nothing to read.
    Default: `false`.
    """
    streamStdoutStderr: bool
    """Whether its output comes in `process/outputDelta` notifications. Otherwise it comes in
    `process/exited`. Default: `false`.
    """
    timeoutMs: Union[int, None]
    """When it is ended, in milliseconds after its start: 10 seconds where it is left out, never
    where it is `null`.
    """
    tty: bool
    """Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`. Default:
    `false`.
    """


class ProcessSpawnResult(TypedDict):
    """Result of `process/spawn`."""
    pid: int
    """Windlass's own: the process id of its root process."""
    sessionId: int
    """Windlass's own: the number of its session, by which `session/*` finds it."""


class _ProcessWriteStdinParamsRequired(TypedDict):
    processHandle: str
    """The process."""


class ProcessWriteStdinParams(_ProcessWriteStdinParamsRequired, total=False):
    """Parameters of `process/writeStdin`: input for a process. Answered when the bytes are in
    the process's queue.
    """
    closeStdin: bool
    """Whether the input ends after them. On a terminal in line mode this ends the line and types
    the end-of-file character; a terminal in raw mode has no end of input, and the request is
    refused. Default: `false`.
    """
    deltaBase64: Union[str, None]
    """The bytes, as base64 with padding."""


class _ReceiptRequired(TypedDict):
    cause: EndCause
    """Why it ended."""
    cpuSystemUs: int
    """CPU time in the kernel, likewise."""
    cpuUserUs: int
    """CPU time in user mode of its root process and the descendants that one waited for, in
    microseconds.
    """
    ended: List[ProcessLine]
    """Processes other than its root process that the server ended."""
    leftRunning: List[ProcessLine]
    """Processes it started that were still alive when it ended, and were left so until the
    connection ends.
    """
    peakMemoryBytes: int
    """The most memory that the largest of them had resident, in bytes."""
    peakMemoryIsBound: bool
    """Whether that is only known as a bound: not more than this."""
    pid: int
    """The process id that its root process had."""
    remaining: List[ProcessLine]
    """Processes that could not be ended."""
    sessionId: int
    """The number of its session, by which `session/*` finds it."""
    stderrBytes: int
    """Bytes it printed to its standard error; 0 on a terminal."""
    stdoutBytes: int
    """Bytes it printed to its standard output; 0 on a terminal."""
    terminalBytes: int
    """Bytes it printed to its terminal; 0 on pipes."""
    undeliveredInput: int
    """Bytes of input that were taken for it and never reached it."""
    wallUs: int
    """From its start to its root process's exit, in microseconds."""


class Receipt(_ReceiptRequired, total=False):
    """Windlass's own: the whole account of how a command or process ended."""
    denials: List[Denial]
    """What its sandbox refused it. Default: `[]`."""
    enforced: List[EnforcedLimit]
    """The limits it was under, and by what each was kept."""
    limit: Union[CrossedLimit, None]
    """The limit that it was ended for, if its cause is one."""
    notes: List[str]
    """In which way its sandbox is another than its policy asks for, in sentences: without
    namespaces, or without a place that is missing.
    """
    peaks: List[ResourcePeak]
    """The most that everything it started used together, as far as that was measured: what is
    limited is.
    """


class ResourcePeak(TypedDict):
    """The most that was measured of a resource."""
    peak: int
    """The most, in the unit of the resource."""
    resource: LimitedResource
    """Of what."""


class Resumable(TypedDict):
    """How to come back after the connection is lost."""
    graceMs: int
    """How long the processes wait for it, in milliseconds."""
    resumed: bool
    """Whether the processes of the connection that was named are here now."""
    token: str
    """What to send as `capabilities.resume.token` on the next connection. Whoever has it has the
    processes. Of a connection that was resumed it is the same as before.
    """


class ResumeRequest(TypedDict, total=False):
    """How the processes of a connection survive its loss."""
    graceMs: Union[int, None]
    """How long processes go on without a client, in milliseconds; at most ten minutes. 30
    seconds where it is left out.
    """
    token: Union[str, None]
    """The token of an earlier connection whose processes are taken over."""


class SandboxPolicyDangerFullAccess(TypedDict):
    type: Literal['dangerFullAccess']


class _SandboxPolicyReadOnlyRequired(TypedDict):
    type: Literal['readOnly']


class SandboxPolicyReadOnly(_SandboxPolicyReadOnlyRequired, total=False):
    networkAccess: bool
    """Whether it may use the network. Default: `false`."""


class _SandboxPolicyExternalSandboxRequired(TypedDict):
    type: Literal['externalSandbox']


class SandboxPolicyExternalSandbox(_SandboxPolicyExternalSandboxRequired, total=False):
    networkAccess: NetworkAccess
    """Whether that sandbox lets it use the network. Default: `"restricted"`."""


class _SandboxPolicyWorkspaceWriteRequired(TypedDict):
    type: Literal['workspaceWrite']


class SandboxPolicyWorkspaceWrite(_SandboxPolicyWorkspaceWriteRequired, total=False):
    excludeSlashTmp: bool
    """Whether `/tmp` is not writable. Default: `false`."""
    excludeTmpdirEnvVar: bool
    """Whether `$TMPDIR` is not writable. Default: `false`."""
    networkAccess: bool
    """Whether it may use the network. Default: `false`."""
    writableRoots: List[AbsolutePath]
    """Further absolute directories it may write below. Default: `[]`."""


SandboxPolicy: TypeAlias = "Union[SandboxPolicyDangerFullAccess, SandboxPolicyReadOnly, SandboxPolicyExternalSandbox, SandboxPolicyWorkspaceWrite]"
"""What a command may touch.

- `SandboxPolicyDangerFullAccess`: Everything the server may.

- `SandboxPolicyReadOnly`: Reading only.

- `SandboxPolicyExternalSandbox`: The server is inside a sandbox already: nothing more is
enforced.

- `SandboxPolicyWorkspaceWrite`: Writing below the server's directory, some roots and the
temporary directories; reading everywhere.
"""


class SessionClosed(TypedDict):
    """Notification `session/closed`: nothing more can be printed. The last about its session."""
    end: int
    """How many bytes it printed."""
    sessionId: int
    """The session."""


_SessionDroppedWords = TypedDict(
    "_SessionDroppedWords",
    {
        # The offset of the first byte that is gone.
        "from": "int",
    },
)


class _SessionDroppedRequired(_SessionDroppedWords):
    sessionId: int
    """The session."""
    to: int
    """The offset after the last byte that is gone."""


class SessionDropped(_SessionDroppedRequired, total=False):
    """Notification `session/dropped`: this part of the output is no longer kept, or cannot be
    read.
    """
    reason: Union[str, None]
    """Why it cannot be read, if retention did not drop it."""


class SessionEndAllParams(TypedDict):
    """Parameters of `session/endAll`: ends everything that the connection runs or that its
    commands left running, and is answered when that has ended. Whoever says so will not come
    back: a connection that is lost afterwards is not waited for. Where another connection has
    taken everything over, nothing happens.
    """


class _SessionExitRequired(TypedDict):
    drainTimedOut: bool
    """Whether something it had started still held its output when waiting for the end of that
    was given up.
    """
    exitCode: int
    """What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it
    is not known.
    """
    receipt: Receipt
    """The whole account."""
    timedOut: bool
    """Whether it was ended because its time was up."""


class SessionExit(_SessionExitRequired, total=False):
    """How a session ended."""
    signal: Union[int, None]
    """The number of the signal that ended it."""


class SessionExited(TypedDict):
    """Notification `session/exited`: a session that is followed has ended. Only what it left
    running can still print.
    """
    exit: SessionExit
    """How it ended."""
    sessionId: int
    """The session."""


class _SessionInfoRequired(TypedDict):
    command: List[str]
    """The program and its arguments."""
    cwd: str
    """Where it was started."""
    end: int
    """How many bytes it has printed so far."""
    pid: int
    """The process id of its root process."""
    sessionId: int
    """Its number."""
    startedAtMs: int
    """When it was started, in milliseconds since 1970."""
    state: SessionState
    """Where it is in its life."""
    tty: bool
    """Whether it runs on a terminal."""


class SessionInfo(_SessionInfoRequired, total=False):
    """One session."""
    exit: Union[SessionExit, None]
    """How it ended, once it has."""
    processHandle: Union[str, None]
    """The handle that the client gave it in `process/spawn`."""
    processId: Union[str, None]
    """The name that the client gave it in `command/exec`."""


class SessionListParams(TypedDict):
    """Parameters of `session/list`: what the connection runs, and the latest that have ended."""


class SessionListResult(TypedDict):
    """Result of `session/list`."""
    sessions: List[SessionInfo]
    """The sessions, oldest first."""


class SessionOutput(TypedDict):
    """Notification `session/output`: output of a session that is followed."""
    deltaBase64: str
    """The bytes, as base64 with padding. Characters may be split between two notifications."""
    offset: int
    """Where the first of the bytes is. The next one begins where this one ends."""
    sessionId: int
    """The session."""
    stream: OutputStream
    """Where it was printed. A terminal's output is `stdout`."""


class SessionReadParams(TypedDict, total=False):
    """Parameters of `session/read`: output by its address. At most one of `span`, `lines` and
    `grep`; without any, everything from the beginning on.
    """
    grep: Union[Grep, None]
    """Lines that match, as a terminal would finally show them."""
    lines: Union[LineChoice, None]
    """Lines by number, as a terminal would finally show them."""
    maxBytes: Union[int, None]
    """The most bytes of output in the answer: 1 MiB where it is left out, at most 16 MiB. It has
    at most 65,536 lines, too.
    """
    processHandle: Union[str, None]
    """The process that has this handle now."""
    processId: Union[str, None]
    """The command that has this name now."""
    sessionId: Union[int, None]
    """By its number, also after it has ended."""
    span: Union[SpanChoice, None]
    """The bytes between two offsets, as they were printed."""


class _SessionReadResultRequired(TypedDict):
    closed: bool
    """Whether it can print no more, so that `end` is final."""
    end: int
    """How many bytes it has printed so far."""
    sessionId: int
    """The number of the session."""
    truncated: bool
    """Whether `maxBytes` kept something out of the answer."""


class SessionReadResult(_SessionReadResultRequired, total=False):
    """Result of `session/read`."""
    chunks: List[OutputChunk]
    """What was read by span, in order."""
    dropped: List[OutputSpan]
    """Output in the requested part that is no longer kept or cannot be read."""
    lines: List[OutputLine]
    """What was read by lines or by matching, in order."""
    next: Union[int, None]
    """Of a span: the offset at which to go on. It is the end of the span when all of it was
    read.
    """
    unreadable: List[UnreadableOutput]
    """Spans of `dropped` that retention did not drop: the file is gone or unreadable, or a write
    failed.
    """


class _SessionSignalParamsRequired(TypedDict):
    signal: str
    """The signal's name, such as `SIGINT` or `INT`."""


class SessionSignalParams(_SessionSignalParamsRequired, total=False):
    """Parameters of `session/signal`: a signal for the process group of the session's root
    process, and nothing more.
    """
    processHandle: Union[str, None]
    """The process that has this handle now."""
    processId: Union[str, None]
    """The command that has this name now."""
    sessionId: Union[int, None]
    """By its number, also after it has ended."""


SessionState: TypeAlias = "Literal['running', 'stopping', 'draining', 'exited']"
"""Where a session is in its life.

- `Literal['running']`: Its root process runs.

- `Literal['stopping']`: It is being ended.

- `Literal['draining']`: Its root process is gone, and its last output is being read.

- `Literal['exited']`: It has ended.
"""


_SessionSubscribeParamsOptionalWords = TypedDict(
    "_SessionSubscribeParamsOptionalWords",
    {
        # The offset to begin at; what is printed from now on, where it is left out.
        "from": "Union[int, None]",
    }, total=False,
)


class SessionSubscribeParams(_SessionSubscribeParamsOptionalWords, total=False):
    """Parameters of `session/subscribe`: everything from an offset on as `session/output`
    notifications, then `session/exited` and `session/closed`. One subscription a session and
    connection; another one takes its place.
    """
    processHandle: Union[str, None]
    """The process that has this handle now."""
    processId: Union[str, None]
    """The command that has this name now."""
    sessionId: Union[int, None]
    """By its number, also after it has ended."""


_SessionSubscribeResultWords = TypedDict(
    "_SessionSubscribeResultWords",
    {
        # The offset at which the output begins.
        "from": "int",
    },
)


class SessionSubscribeResult(_SessionSubscribeResultWords):
    """Result of `session/subscribe`. Comes before the first notification."""
    sessionId: int
    """The number of the session, as in the notifications."""


class SessionUnsubscribeParams(TypedDict, total=False):
    """Parameters of `session/unsubscribe`: no more notifications about a session. Fine also
    where there is no subscription.
    """
    processHandle: Union[str, None]
    """The process that has this handle now."""
    processId: Union[str, None]
    """The command that has this name now."""
    sessionId: Union[int, None]
    """By its number, also after it has ended."""


class SessionWaitParams(TypedDict, total=False):
    """Parameters of `session/wait`: answered when the first of the conditions holds."""
    processHandle: Union[str, None]
    """The process that has this handle now."""
    processId: Union[str, None]
    """The command that has this name now."""
    sessionId: Union[int, None]
    """By its number, also after it has ended."""
    timeoutMs: Union[int, None]
    """How long to wait at most, in milliseconds; for ever where it is left out."""
    until: WaitUntil
    """What to wait for besides the session's end. Default: `{"input":false,"patternFrom":0}`."""


class _SessionWaitResultRequired(TypedDict):
    end: int
    """How many bytes it has printed so far."""
    met: WaitMet
    """Which condition held first."""
    sessionId: int
    """The number of the session."""


class SessionWaitResult(_SessionWaitResultRequired, total=False):
    """Result of `session/wait`."""
    exit: Union[SessionExit, None]
    """How the session ended, if it has."""
    match: Union[OutputMatch, None]
    """What the pattern matched."""


_SpanChoiceOptionalWords = TypedDict(
    "_SpanChoiceOptionalWords",
    {
        # The offset of the first byte. Default: `0`.
        "from": "int",
    }, total=False,
)


class SpanChoice(_SpanChoiceOptionalWords, total=False):
    """The bytes between two offsets."""
    to: Union[int, None]
    """The offset after the last byte; what there is now, where it is left out."""


class TerminalSize(TypedDict):
    """The size of a terminal in character cells."""
    cols: int
    """Its width; more than 0."""
    rows: int
    """Its height; more than 0."""


_UnreadableOutputWords = TypedDict(
    "_UnreadableOutputWords",
    {
        # The offset of the first byte.
        "from": "int",
    },
)


class UnreadableOutput(_UnreadableOutputWords):
    """Output between two offsets that should be there and cannot be read."""
    reason: str
    """The file, what the system said, and what to do."""
    to: int
    """The offset after the last byte."""


WaitMet: TypeAlias = "Literal['exit', 'pattern', 'idle', 'offset', 'input', 'port', 'closed', 'timeout']"
"""What ended a wait.

- `Literal['exit']`: The session ended.

- `Literal['pattern']`: The pattern was found.

- `Literal['idle']`: There was silence for long enough.

- `Literal['offset']`: The output got that far.

- `Literal['input']`: It waits for input.

- `Literal['port']`: It listens on the port.

- `Literal['closed']`: Nothing more can be printed, and nothing else of it holds.

- `Literal['timeout']`: The time was up.
"""


class WaitUntil(TypedDict, total=False):
    """What to wait for besides the session's end."""
    idleMs: Union[int, None]
    """Nothing was printed for so many milliseconds."""
    input: bool
    """It has read all its input and waits for more. Default: `false`."""
    offset: Union[int, None]
    """The output has got as far as this offset."""
    pattern: Union[str, None]
    """A regular expression that matches what is printed, as a terminal would show it."""
    patternFrom: int
    """The offset from which on the pattern is looked for. Default: `0`."""
    port: Union[int, None]
    """It listens on this TCP port."""


Method: TypeAlias = Literal[
    "initialize",
    "command/exec",
    "command/exec/write",
    "command/exec/resize",
    "command/exec/terminate",
    "process/spawn",
    "process/writeStdin",
    "process/resizePty",
    "process/kill",
    "session/list",
    "session/read",
    "session/wait",
    "session/signal",
    "session/subscribe",
    "session/unsubscribe",
    "session/endAll",
]
"""Every method."""


ClientNotification: TypeAlias = Literal[
    "initialized",
]
"""Every notification of a client."""


ServerNotification: TypeAlias = Literal[
    "command/exec/outputDelta",
    "process/outputDelta",
    "process/exited",
    "session/output",
    "session/dropped",
    "session/exited",
    "session/closed",
]
"""Every notification of a server."""

__all__ = [
    "AbsolutePath",
    "Capabilities",
    "ClientInfo",
    "ClientNotification",
    "CommandExecOutputDelta",
    "CommandExecParams",
    "CommandExecResizeParams",
    "CommandExecResult",
    "CommandExecTerminateParams",
    "CommandExecWriteParams",
    "CrossedLimit",
    "Denial",
    "Done",
    "EndCause",
    "EnforcedLimit",
    "Grep",
    "InitializeParams",
    "InitializeResult",
    "LimitMeans",
    "LimitScope",
    "LimitedResource",
    "LineChoice",
    "Method",
    "NetworkAccess",
    "OutputChunk",
    "OutputLine",
    "OutputMatch",
    "OutputSpan",
    "OutputStream",
    "ProcessExited",
    "ProcessKillParams",
    "ProcessLine",
    "ProcessOutputDelta",
    "ProcessResizePtyParams",
    "ProcessSpawnParams",
    "ProcessSpawnResult",
    "ProcessWriteStdinParams",
    "Receipt",
    "ResourcePeak",
    "Resumable",
    "ResumeRequest",
    "SandboxPolicy",
    "SandboxPolicyDangerFullAccess",
    "SandboxPolicyExternalSandbox",
    "SandboxPolicyReadOnly",
    "SandboxPolicyWorkspaceWrite",
    "ServerNotification",
    "SessionClosed",
    "SessionDropped",
    "SessionEndAllParams",
    "SessionExit",
    "SessionExited",
    "SessionInfo",
    "SessionListParams",
    "SessionListResult",
    "SessionOutput",
    "SessionReadParams",
    "SessionReadResult",
    "SessionSignalParams",
    "SessionState",
    "SessionSubscribeParams",
    "SessionSubscribeResult",
    "SessionUnsubscribeParams",
    "SessionWaitParams",
    "SessionWaitResult",
    "SpanChoice",
    "TerminalSize",
    "UnreadableOutput",
    "WaitMet",
    "WaitUntil",
]
