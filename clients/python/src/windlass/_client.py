"""A client of one server, and the connection it holds for as long as it is wanted."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Type, Union, cast

from ._errors import ConnectionLost, RequestError, ServerError, StartError, WindlassError
from ._link import Link
from ._process import Process, exit_of
from ._transport import ChildTransport, SocketTransport, Transport, default_program
from ._version import VERSION
from .protocol import InitializeResult, SessionInfo

Path = Union[str, "os.PathLike[str]"]
_Open = Callable[[], Awaitable[Transport]]

# What is held of a process's output for a reader that is slow to take it.
_BUFFER_LIMIT = 4 * 1024 * 1024
# Between two attempts to come back.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_SPAWN_FAILED = -32603
# How long a server may take to end everything, and how long it is tried to tell it that it should.
_CLOSE_PATIENCE = 15.0
_REACH_PATIENCE = 2.0


class _TooLate(ServerError):
    """The server is there, and what we come back for is not."""


class Client:
    """A connection to a server. Make one with `Client.launch` or `Client.connect`, and close it at the end:

        async with await windlass.Client.launch() as client: ...
    """

    def __init__(self, open_transport: _Open, resume_for: Optional[float], buffer_limit: int) -> None:
        self._open = open_transport
        self._resume_for = resume_for
        self._buffer_limit = buffer_limit
        self._processes: Dict[str, Process] = {}
        # Handles of processes that nobody waits for, and which may have been started nevertheless.
        self._unwanted: List[str] = []
        # Others may have used the connection before us, so numbers alone would not do.
        self._handles = (f"{secrets.token_hex(4)}-{number}" for number in itertools.count(1))
        self._token: Optional[str] = None
        self._link: Optional[Link] = None
        self._linked = asyncio.Event()
        self._lost: Optional[ConnectionLost] = None
        self._closing = False
        self._keeping: Optional[asyncio.Task[None]] = None
        self._server: Optional[InitializeResult] = None
        # Tasks that nobody waits for; the event loop itself holds them only weakly.
        self._loose: Set[asyncio.Task[None]] = set()

    @classmethod
    async def launch(
        cls,
        *,
        program: Optional[Path] = None,
        arguments: Sequence[str] = (),
        env: Optional[Mapping[str, str]] = None,
        buffer_limit: int = _BUFFER_LIMIT,
    ) -> Client:
        """Starts a server for this client alone, which ends with it, and with it everything it runs.

        `program` is `$WINDLASS`, else `windlass` from the search path; `arguments` come behind `app-server`; `env` is
        the whole environment of the server, else ours.
        """
        command = [os.fspath(program) if program is not None else default_program(), "app-server", *arguments]

        async def start() -> Transport:
            return await ChildTransport.start(command, env)

        return await cls(start, None, buffer_limit)._begin()

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        token: Optional[str] = None,
        resume_for: Optional[float] = 30.0,
        resume_token: Optional[str] = None,
        buffer_limit: int = _BUFFER_LIMIT,
    ) -> Client:
        """Connects to a server that runs already: `ws://HOST:PORT`, `wss://HOST` or `unix://PATH`.

        Should the connection be lost, the server goes on for `resume_for` seconds, and the client comes back meanwhile
        and continues where it was; nothing that was printed is missed. With `None` a lost connection ends everything.
        With `resume_token`, what `detach` gave, it takes over the processes of another client, for `attach`.
        """
        if resume_token is not None and resume_for is None:
            raise ValueError("resume_token needs resume_for")

        async def open_socket() -> Transport:
            return await SocketTransport.open(url, token)

        client = cls(open_socket, resume_for, buffer_limit)
        client._token = resume_token
        return await client._begin()

    @property
    def server(self) -> InitializeResult:
        """What the server says of itself."""
        assert self._server is not None
        return self._server

    async def start(
        self,
        command: Sequence[str],
        *,
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, Optional[str]]] = None,
        stdin: bool = False,
        tty: bool = False,
        size: Optional[Tuple[int, int]] = None,
        timeout: Optional[float] = None,
    ) -> Process:
        """Starts a program with arguments; no shell looks at them.

        `cwd` is our own working directory unless given; `env` is laid over the server's environment, and `None` removes
        a variable. With `stdin` its input stays open for `write`; with `tty` it gets a terminal, of `size` rows and
        columns, and its input is open too. After `timeout` seconds it is ended. Raises `StartError` if it cannot start.
        """
        process = Process(self, next(self._handles), command)
        params: Dict[str, Any] = {
            "command": list(command),
            "processHandle": process._handle,
            "cwd": os.path.abspath(os.fspath(cwd)) if cwd is not None else os.getcwd(),
            "tty": tty,
            "streamStdin": stdin or tty,
            "streamStdoutStderr": True,
            "outputBytesCap": None,
            "timeoutMs": None if timeout is None else round(timeout * 1000),
        }
        if env is not None:
            params["env"] = dict(env)
        if size is not None:
            params["size"] = {"rows": size[0], "cols": size[1]}
        # Before the answer is here, since output may come close behind it.
        self._processes[process._handle] = process
        try:
            process._started(await self.request("process/spawn", params))
        except RequestError as error:
            del self._processes[process._handle]
            if error.code == _SPAWN_FAILED:
                raise StartError(error.method, error.code, error.message, command[0]) from None
            raise
        except BaseException:
            # Nobody will ever hold it, so nobody could end it.
            del self._processes[process._handle]
            self._abandon(process._handle)
            raise
        return process

    async def attach(self, session_id: int, *, start: int = 0) -> Process:
        """A process that was taken over with `resume_token`, by the number of its session.

        Its output is read from the offset `start` on, which is the `cursor` where the other client stopped.
        """
        found = [info for info in await self.list() if info["sessionId"] == session_id]
        if not found:
            raise WindlassError(f"there is no session {session_id} on this connection; `list` names those there are")
        (info,) = found
        handle = info.get("processHandle") or f"session {session_id}"
        if handle in self._processes:
            raise WindlassError(f"session {session_id} has its process in this client already")
        process = Process(self, handle, info["command"], start)
        process._started(info)
        self._processes[handle] = process
        try:
            await self.request("session/subscribe", {**process._target(), "from": start}, again=True)
        except BaseException:
            self._processes.pop(handle, None)
            raise
        return process

    async def list(self) -> List[SessionInfo]:
        """What this connection runs, and the latest that have ended."""
        answer = await self.request("session/list", {}, again=True)
        return cast(List[SessionInfo], answer["sessions"])

    async def request(self, method: str, params: Mapping[str, Any], *, again: bool = False) -> Any:
        """Any request of the protocol, with its result. See `windlass.protocol` for the shapes.

        While the connection is lost and may come back, it waits for that. If it is lost before the answer came, the
        request is made `again` or fails with `ConnectionLost`.
        """
        while True:
            link = await self._current()
            try:
                return await link.ask(method, params)
            except ConnectionLost:
                # Whatever is asked next waits for the next connection, if there is one to come.
                await link.ended
                self._unlink(link)
                if not again or self._resume_for is None or self._closing:
                    raise

    async def close(self) -> None:
        """Ends every process that was started through it, with everything those started, and the connection.

        May be called twice.
        """
        if not self._closing:
            await self._end_processes()
        await self._leave(ConnectionLost("the client was closed"))

    async def detach(self) -> str:
        """Ends the connection and leaves the processes running, for `resume_for` seconds.

        Gives the token with which another client takes them over meanwhile. Whoever has it has the processes.
        """
        if (token := self._token) is None or self._closing:
            raise WindlassError("only an open connection that can be resumed can be left to another client")
        await self._leave(ConnectionLost("the client was detached"))
        return token

    async def _leave(self, error: ConnectionLost) -> None:
        self._closing = True
        if self._link is not None:
            await self._link.close()
        elif self._keeping is not None:
            self._keeping.cancel()
        if self._keeping is not None:
            await asyncio.wait([self._keeping])
        self._give_up(error)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def _end_processes(self) -> None:
        """A server that would wait for us to come back is told that we will not.

        One that cannot be reached is given a moment; what is left then ends when `resume_for` is over.
        """
        if self._token is None or self._lost is not None:
            return
        while True:
            try:
                # timer: nothing tells when a server can be reached that cannot be now.
                link = await asyncio.wait_for(self._current(), _REACH_PATIENCE)
            except (ConnectionLost, asyncio.TimeoutError):
                return
            try:
                # timer: one that does not listen any more would keep us for ever.
                await asyncio.wait_for(link.ask("session/endAll", {}), _CLOSE_PATIENCE)
                return
            except (RequestError, asyncio.TimeoutError):
                return
            except ConnectionLost:
                await link.ended
                self._unlink(link)

    async def _current(self) -> Link:
        """The connection, as soon as there is one."""
        await self._linked.wait()
        if self._link is None:
            raise self._lost or ConnectionLost("the client is closed")
        return self._link

    async def _begin(self) -> Client:
        link = await self._open_link()
        self._keeping = asyncio.create_task(self._keep(link))
        return self

    async def _open_link(self) -> Link:
        """Connects and shakes hands."""
        link = Link(await self._open(), self._hear)
        try:
            self._server = await self._shake_hands(link)
        except BaseException as error:
            await link.close()
            if isinstance(error, ConnectionLost):
                raise ServerError(f"the server did not greet us: {await link.ended or error}") from error
            if isinstance(error, RequestError):
                raise ServerError(f"the server did not greet us: {error}") from error
            if isinstance(error, (AttributeError, KeyError, TypeError)):
                raise ServerError("the server did not greet us: it gave an answer of another kind") from error
            raise
        self._link = link
        self._linked.set()
        return link

    async def _shake_hands(self, link: Link) -> InitializeResult:
        capabilities: Dict[str, Any] = {"experimentalApi": True}
        if self._resume_for is not None:
            capabilities["resume"] = {"graceMs": round(self._resume_for * 1000)}
            if self._token is not None:
                capabilities["resume"]["token"] = self._token
        client = {"name": "windlass-python", "version": VERSION}
        answer = await link.ask("initialize", {"clientInfo": client, "capabilities": capabilities})
        await link.tell("initialized")
        resume = answer.get("resume")
        if self._token is not None and not (resume and resume["resumed"]):
            raise _TooLate("the server has ended the processes of the connection that was lost")
        self._token = resume["token"] if resume else None
        return cast(InitializeResult, answer)

    async def _keep(self, link: Link) -> None:
        """Comes back whenever the connection is lost, until the client is closed or it is too late."""
        while True:
            why = await link.ended
            self._unlink(link)
            error = ConnectionLost(f"the connection ended: {why}" if why else "the connection ended")
            if self._closing or self._token is None:
                return self._give_up(error)
            try:
                link = await self._come_back()
                await self._catch_up(link)
            except (ServerError, RequestError) as reason:
                return self._give_up(ConnectionLost(f"{error}, and could not be resumed: {reason}"))
            except ConnectionLost:
                continue

    def _unlink(self, link: Link) -> None:
        """Whoever hears first that a connection has ended sees to it that nobody takes it for the current one."""
        if self._link is link:
            self._link = None
            self._linked.clear()

    async def _come_back(self) -> Link:
        assert self._resume_for is not None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._resume_for
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._open_link()
            except ServerError as error:
                if isinstance(error, _TooLate) or loop.time() + pause > deadline or self._closing:
                    raise
            # timer: the server cannot be reached now, and nothing tells when it can.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _catch_up(self, link: Link) -> None:
        """Follows every process from where the lost connection left it, and ends those that nobody wants."""
        for process in list(self._processes.values()):
            # One whose start is still to be asked for is followed by that.
            if process.session_id > 0:
                await link.ask("session/subscribe", {**process._target(), "from": process._output.received})
        while self._unwanted:
            await link.order("process/kill", {"processHandle": self._unwanted.pop()})

    def _give_up(self, error: ConnectionLost) -> None:
        self._link = None
        self._lost = self._lost or error
        # Whoever waits for a connection is told that there will be none.
        self._linked.set()
        for process in self._processes.values():
            process._failed(error)
        self._processes.clear()

    def _abandon(self, handle: str) -> None:
        """Ends a process whose start was asked for and whose answer nobody waits for."""
        order = asyncio.create_task(self._kill(handle))
        self._loose.add(order)
        order.add_done_callback(self._loose.discard)

    async def _kill(self, handle: str) -> None:
        try:
            if self._link is None:
                raise ConnectionLost("there is no connection")
            # The server does in order what it is told, so this comes after the start.
            await self._link.order("process/kill", {"processHandle": handle})
        except ConnectionLost:
            self._unwanted.append(handle)

    def _hear(self, method: str, params: Any) -> None:
        if method == "process/outputDelta":
            if process := self._processes.get(params["processHandle"]):
                process._printed(params)
        elif method == "process/exited":
            if process := self._processes.pop(params["processHandle"], None):
                process._exited(exit_of(params))
        elif method == "session/output":
            if process := self._by_session(params):
                process._printed(params)
        elif method == "session/dropped":
            if process := self._by_session(params):
                process._dropped(params["to"])
        elif method == "session/exited":
            if process := self._by_session(params):
                del self._processes[process._handle]
                process._exited(exit_of(params["exit"]))

    def _by_session(self, params: Mapping[str, Any]) -> Optional[Process]:
        number = params["sessionId"]
        return next((process for process in self._processes.values() if process._session == number), None)
