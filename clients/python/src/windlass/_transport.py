"""Ways to a server: a child of ours on pipes, or a WebSocket over TCP or a unix socket.

A transport carries whole messages as bytes. It knows nothing of what they mean.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import Any, Deque, Mapping, Optional, Protocol, Sequence
from urllib.parse import urlsplit

from ._errors import ConnectionLost, ServerError

_READ_AT_ONCE = 256 * 1024
# How much of the server's complaints is kept to be quoted in an error.
_COMPLAINTS_KEPT = 4096
# A server that ends its processes politely needs its grace for that, and a bit.
_EXIT_PATIENCE = 15.0
# From the end of its output to its exit.
_LAST_WORDS = 1.0


class Transport(Protocol):
    """A connection that carries messages, each whole."""

    async def send(self, message: bytes) -> None:
        """Hands a message over. Waits while the server is slow to take it."""

    async def receive(self) -> Optional[bytes]:
        """The next message, or `None` at the end. Never called by two at once."""

    async def close(self) -> None:
        """Ends the connection. Whoever waits in `receive` gets `None`."""

    def why(self) -> str:
        """What is known about why the connection ended, or nothing."""


class ChildTransport:
    """A server that was started for this connection alone, and that ends with it."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        self._child = child
        self._to = child.stdin
        self._from = child.stdout
        self._unread = bytearray()
        self._complaints: Deque[bytes] = deque()
        self._listening = asyncio.create_task(self._listen(child.stderr))

    @classmethod
    async def start(cls, command: Sequence[str], env: Optional[Mapping[str, str]]) -> "ChildTransport":
        """Starts a server. It gets a process group of its own, so that Ctrl-C reaches it through us alone."""
        pipe = asyncio.subprocess.PIPE
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True
            )
        except FileNotFoundError as error:
            raise ServerError(
                f"there is no program {command[0]!r}: install windlass, or say where it is with `program=`"
            ) from error
        except OSError as error:
            raise ServerError(f"cannot start {command[0]!r}: {error}") from error
        return cls(child)

    async def send(self, message: bytes) -> None:
        try:
            self._to.write(message + b"\n")
            await self._to.drain()
        except OSError as error:
            raise ConnectionLost(f"the server takes no more messages: {error}") from error

    async def receive(self) -> Optional[bytes]:
        # Each byte is looked at once, however long the line gets.
        searched = 0
        while True:
            end = self._unread.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                return line
            searched = len(self._unread)
            try:
                more = await self._from.read(_READ_AT_ONCE)
            except OSError:
                more = b""
            if not more:
                await self._learn_why()
                return None
            self._unread += more

    async def _learn_why(self) -> None:
        """A server that says no more is about to exit, and that tells why."""
        exit = asyncio.ensure_future(self._child.wait())
        # timer: unless it only closed its output, which is its end for us all the same.
        await asyncio.wait([exit, self._listening], timeout=_LAST_WORDS)
        exit.cancel()

    async def close(self) -> None:
        self._to.close()
        try:
            # timer: a server that does not end although its input did would keep us for ever.
            await asyncio.wait_for(self._child.wait(), _EXIT_PATIENCE)
        except asyncio.TimeoutError:
            self._child.kill()
            await self._child.wait()
        await self._listening

    def why(self) -> str:
        code = self._child.returncode
        ended = "" if code is None else f"the server exited with {code}"
        said = b"".join(self._complaints).decode(errors="replace").strip()
        return f"{ended}: {said}" if ended and said else ended or said

    async def _listen(self, complaints: asyncio.StreamReader) -> None:
        kept = 0
        while piece := await complaints.read(_COMPLAINTS_KEPT):
            self._complaints.append(piece)
            kept += len(piece)
            while kept - len(self._complaints[0]) >= _COMPLAINTS_KEPT:
                kept -= len(self._complaints.popleft())


class SocketTransport:
    """A WebSocket: over TCP, or over a unix socket."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._why = ""

    @classmethod
    async def open(cls, url: str, token: Optional[str]) -> "SocketTransport":
        """Connects to `ws://HOST:PORT`, `wss://HOST` or `unix://PATH`."""
        try:
            from websockets.asyncio.client import connect, unix_connect
            from websockets.exceptions import WebSocketException
        except ImportError as error:
            raise ServerError(
                "connecting to a socket needs the package `websockets`: pip install 'windlass[websocket]'"
            ) from error
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        # What is sent is bounded by the server's own limits; compressing what goes through loopback only costs time.
        options: Any = {"additional_headers": headers, "max_size": None, "compression": None}
        try:
            scheme = urlsplit(url).scheme
            if scheme == "unix":
                return cls(await unix_connect(url[len("unix://") :], uri="ws://localhost/", **options))
            if scheme in ("ws", "wss"):
                return cls(await connect(url, proxy=None, **options))
        except (OSError, ValueError, asyncio.TimeoutError, WebSocketException) as error:
            raise ServerError(f"cannot connect to {url}: {error}") from error
        raise ServerError(f"{url!r} is no address of a server: use ws://HOST:PORT, wss://HOST or unix://PATH")

    async def send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(message.decode())
        except ConnectionClosed as error:
            raise ConnectionLost(f"the server takes no more messages: {error}") from error

    async def receive(self) -> Optional[bytes]:
        from websockets.exceptions import ConnectionClosed

        try:
            message = await self._socket.recv(decode=False)
        except ConnectionClosed as closed:
            self._why = str(closed)
            return None
        return bytes(message)

    async def close(self) -> None:
        await self._socket.close()

    def why(self) -> str:
        return self._why


def default_program() -> str:
    """The program that serves, unless another is named: `$WINDLASS`, or `windlass` from the search path."""
    return os.environ.get("WINDLASS") or "windlass"
