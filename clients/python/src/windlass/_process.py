"""A process on the server, as its client sees it."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union, cast

from ._errors import ConnectionLost, OutputLost, RequestError
from ._output import Chunk, Output
from .protocol import OutputLine, Receipt, SessionExit, SessionWaitResult

if TYPE_CHECKING:
    from ._client import Client

# How much input is sent at once. The server answers when its queue for the process has taken it.
_WRITTEN_AT_ONCE = 256 * 1024
# How much output is asked for at once by a reader that has to catch up.
_FETCHED_AT_ONCE = 256 * 1024
# The most that the server gives in one answer.
_LARGEST_ANSWER = 16 * 1024 * 1024


@dataclass(frozen=True)
class Exit:
    """How a process ended. A code other than 0 is no error of ours."""

    code: int
    """What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known."""
    signal: Optional[int]
    """The number of the signal that ended it."""
    timed_out: bool
    """Whether it was ended because its time was up."""
    receipt: Optional[Receipt]
    """The whole account: times, memory, bytes, and what became of everything it had started."""


class Process:
    """A process that was started with `Client.start`.

    As a context manager it is stopped at the end, unless it has ended by then.
    """

    def __init__(self, client: Client, handle: str, command: Sequence[str], start: int = 0) -> None:
        self._client = client
        self._handle = handle
        self._command = tuple(command)
        self._session = 0
        self._pid = 0
        self._output = Output(client._buffer_limit, self._fetch, start)
        self._ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        # Nobody has to wait for the end; a failure that nobody heard of is not to be complained about.
        self._ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    @property
    def command(self) -> Tuple[str, ...]:
        """The program and its arguments."""
        return self._command

    @property
    def session_id(self) -> int:
        """The number of its session: everything it printed is found under it, also after its end."""
        return self._session

    @property
    def pid(self) -> int:
        """What the operating system of the server calls it."""
        return self._pid

    @property
    def exit(self) -> Optional[Exit]:
        """How it ended, or `None` while it runs."""
        if self._ended.done() and not self._ended.cancelled() and self._ended.exception() is None:
            return self._ended.result()
        return None

    @property
    def cursor(self) -> int:
        """The offset of the first byte of its output that `output` has not given."""
        return self._output.cursor

    async def output(self, start: Optional[int] = None) -> AsyncIterator[Chunk]:
        """What it prints, from where the last reading stopped, or from the offset `start`, until it has ended.

        There is one reader at a time. A slow one delays nobody and loses nothing that the server still keeps: what it
        has not taken is held up to the client's `buffer_limit`, and fetched from the server beyond that. Breaking off
        and going on later is fine. Raises `OutputLost` where the server had to drop something meanwhile.
        """
        if start is not None:
            self._output.go_to(start)
        while (chunk := await self._output.next()) is not None:
            yield chunk

    async def write(self, data: Union[bytes, str]) -> None:
        """Types or pipes this into it; text is encoded as UTF-8.

        Returns once the server has taken all of it for the process, and waits while the process does not read. If it is
        cancelled, the beginning may have been written.
        """
        raw = data.encode() if isinstance(data, str) else data
        for start in range(0, len(raw), _WRITTEN_AT_ONCE):
            piece = base64.b64encode(raw[start : start + _WRITTEN_AT_ONCE]).decode()
            await self._ask("process/writeStdin", {"deltaBase64": piece})

    async def end_input(self) -> None:
        """Says that no more input comes, for good.

        On a terminal in line mode this types the end-of-file character. To end the input of one program in a shell, and go on
        with the next, write that character yourself: `write(b"\\x04")`.
        """
        await self._ask("process/writeStdin", {"closeStdin": True})

    async def resize(self, rows: int, cols: int) -> None:
        """Gives its terminal another size."""
        await self._ask("process/resizePty", {"size": {"rows": rows, "cols": cols}})

    async def signal(self, name: str) -> None:
        """Sends a signal to its process group, by name: `INT`, `SIGTERM`, `USR1`."""
        await self._client.request("session/signal", {**self._target(), "signal": name})

    async def stop(self) -> Exit:
        """Ends it and everything it started, by TERM and, after a grace, KILL. One that has ended stays as it is."""
        if not self._ended.done():
            try:
                await self._ask("process/kill", {})
            except RequestError:
                # It has ended meanwhile, and the server knows its handle no more; then the end has been told before.
                if not self._ended.done():
                    raise
        return await self.wait()

    async def wait(self, timeout: Optional[float] = None) -> Exit:
        """Waits until it has ended, for at most so many seconds; then raises `asyncio.TimeoutError`."""
        # The end belongs to the process: whoever stops waiting for it leaves it to the others.
        return await asyncio.wait_for(asyncio.shield(self._ended), timeout)

    async def wait_for(
        self,
        pattern: Optional[str] = None,
        *,
        start: int = 0,
        idle: Optional[float] = None,
        input: bool = False,
        port: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SessionWaitResult:
        """Waits for the first of: a regular expression in its output from the offset `start` on, silence for `idle`
        seconds, that it waits for `input`, that it listens on a `port`, or its end. `met` says which one it was.
        """
        until = {
            "pattern": pattern,
            "patternFrom": start,
            "idleMs": _milliseconds(idle),
            "input": input,
            "port": port,
        }
        params = {**self._target(), "until": _given(until), "timeoutMs": _milliseconds(timeout)}
        return cast(SessionWaitResult, await self._client.request("session/wait", _given(params), again=True))

    async def read(self, start: int = 0, end: Optional[int] = None) -> bytes:
        """What it printed between two offsets, or so far: all streams in the order in which they were read.

        Raises `OutputLost` if the server has dropped some of it.
        """
        pieces: List[bytes] = []
        while end is None or start < end:
            answer = await self._read({"span": _given({"from": start, "to": end})})
            for dropped in answer.get("dropped", ()):
                raise OutputLost(dropped["from"], dropped["to"])
            pieces.extend(base64.b64decode(chunk["deltaBase64"]) for chunk in answer.get("chunks", ()))
            start = answer["next"]
            if not answer["truncated"]:
                break
        return b"".join(pieces)

    async def lines(self, first: int = 1, last: Optional[int] = None) -> List[OutputLine]:
        """Lines by number, from 1 on, as a terminal would finally show them; of what the server still keeps.

        One of more than 16 MiB has only its beginning as `text`, and says so: `cut`.
        """
        lines: List[OutputLine] = []
        while True:
            choice = {"lines": _given({"first": first, "last": last})}
            if not await self._more(choice, lines):
                return lines
            first = lines[-1]["number"] + 1
            if last is not None and first > last:
                return lines

    async def grep(self, pattern: str, *, context: int = 0) -> List[OutputLine]:
        """Lines that match a regular expression, with so many lines around each; of what the server still keeps."""
        lines: List[OutputLine] = []
        grep: Dict[str, Any] = {"pattern": pattern, "context": context}
        while await self._more({"grep": grep}, lines):
            grep["first"] = lines[-1]["number"] + 1
        return lines

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            await self.stop()
        except ConnectionLost:
            pass  # Then the server ends it, and there is nobody to ask.

    def __repr__(self) -> str:
        state = "running" if self.exit is None else f"exit code {self.exit.code}"
        return f"<windlass.Process {self._session} {list(self._command)!r}: {state}>"

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._client.request(method, {"processHandle": self._handle, **params})

    def _target(self) -> Mapping[str, Any]:
        return {"sessionId": self._session}

    async def _more(self, choice: Mapping[str, Any], lines: List[OutputLine]) -> bool:
        """Adds lines, and says whether there are more."""
        answer = await self._read({**choice, "maxBytes": _LARGEST_ANSWER})
        lines.extend(answer.get("lines", ()))
        return bool(answer["truncated"] and answer.get("lines"))

    async def _read(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = await self._client.request("session/read", {**self._target(), **params}, again=True)
        return cast(Mapping[str, Any], answer)

    async def _fetch(self, start: int, end: int) -> List[Chunk]:
        answer = await self._read({"span": {"from": start, "to": end}, "maxBytes": _FETCHED_AT_ONCE})
        return [_chunk(chunk) for chunk in answer.get("chunks", ())]

    # What the client hears about it.

    def _started(self, answer: Mapping[str, Any]) -> None:
        self._session = answer["sessionId"]
        self._pid = answer["pid"]

    def _printed(self, delta: Mapping[str, Any]) -> None:
        self._output.take(_chunk(delta))

    def _dropped(self, end: int) -> None:
        self._output.skip(end)

    def _exited(self, exit: Exit) -> None:
        if exit.receipt is not None:
            # What was printed while no connection was there may not have been told.
            self._output.skip(_printed_in_all(exit.receipt))
        if not self._ended.done():
            self._ended.set_result(exit)
        self._output.finish()

    def _failed(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)
        self._output.finish(error)


def exit_of(told: Union[SessionExit, Mapping[str, Any]]) -> Exit:
    """How a process ended, as `process/exited` and `session/exited` tell it."""
    return Exit(told["exitCode"], told.get("signal"), told.get("timedOut", False), told.get("receipt"))


def _printed_in_all(receipt: Receipt) -> int:
    return receipt["stdoutBytes"] + receipt["stderrBytes"] + receipt["terminalBytes"]


def _chunk(told: Mapping[str, Any]) -> Chunk:
    return Chunk(told["offset"], told["stream"], base64.b64decode(told["deltaBase64"]))


def _given(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _milliseconds(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else round(seconds * 1000)
