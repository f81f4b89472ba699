"""Servers to test against: the real program, named by `$WINDLASS`, in a state directory of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import unittest
from typing import AsyncIterator, Awaitable, Dict, List, Optional, Sequence, Set, TypeVar
from urllib.parse import urlsplit

from windlass import Chunk, Client, Process

# However busy the machine is; to run out of it is a failure.
DEADLINE = 60.0

# Where a server of a test keeps its sessions and finds its settings.
_OWN_FOLDERS = {"WINDLASS_STATE_DIR": "state", "XDG_CONFIG_HOME": "config"}

T = TypeVar("T")


class ServerTest(unittest.IsolatedAsyncioTestCase):
    """A test with a folder that goes away with it, and servers that end with it."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="windlass-python-")
        self.addCleanup(shutil.rmtree, self.folder)

    @property
    def environment(self) -> Dict[str, str]:
        own = {name: os.path.join(self.folder, folder) for name, folder in _OWN_FOLDERS.items()}
        return {**os.environ, **own}

    def configure(self, settings: str) -> None:
        """Writes the settings of the server's user."""
        folder = os.path.join(self.folder, "config", "windlass")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
            file.write(settings)

    async def launch(self, buffer_limit: int = 4 * 1024 * 1024, arguments: Sequence[str] = ()) -> Client:
        launched = Client.launch(env=self.environment, buffer_limit=buffer_limit, arguments=arguments)
        client = await soon(launched)
        self.addAsyncCleanup(client.close)
        return client

    async def connect(self, url: str, token: Optional[str] = None, resume_for: Optional[float] = 60.0) -> Client:
        client = await soon(Client.connect(url, token=token, resume_for=resume_for))
        self.addAsyncCleanup(client.close)
        return client

    @contextlib.asynccontextmanager
    async def server(self, listen: str, *words: str) -> AsyncIterator[str]:
        """A server that listens, by its address."""
        program = os.environ["WINDLASS"]
        if listen.startswith("ws:") and "--ws-token-file" not in words:
            words = (*words, "--insecure-loopback")
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            program, "app-server", "--listen", listen, *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=self.environment,
        )  # fmt: skip
        try:
            assert child.stdout is not None
            found = None
            # It may say more than where it is.
            while found is None and (line := await soon(child.stdout.readline())):
                found = re.search(r"\b(ws|unix)://\S+", line.decode())
            assert found is not None, "it says nowhere where it is"
            yield found.group()
        finally:
            child.terminate()
            await soon(child.wait())


class Cutter:
    """Passes bytes between a client and a server on TCP, and cuts every connection when told to."""

    def __init__(self, url: str) -> None:
        self.lead_to(url)
        self._writers: Set[asyncio.StreamWriter] = set()
        self._server: Optional[asyncio.Server] = None
        self.accepted = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Cutter:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def lead_to(self, url: str) -> None:
        """Where the next connection leads."""
        self._port = urlsplit(url).port

    def cut(self) -> None:
        """Ends all connections, without a word to either side."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def reached(self, connections: int) -> None:
        """Until so many connections have come through."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.accepted >= connections)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, far_writer}
        async with self._changed:
            self.accepted += 1
            self._changed.notify_all()
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def soon(awaitable: Awaitable[T]) -> T:
    """What comes of it, unless it hangs."""
    return await asyncio.wait_for(awaitable, DEADLINE)


async def everything(process: Process) -> bytes:
    """All that it prints until its end."""

    async def collect() -> bytes:
        return b"".join([chunk.data async for chunk in process.output()])

    return await soon(collect())


async def until(process: Process, text: bytes) -> List[Chunk]:
    """What it prints until this text was printed."""

    async def collect() -> List[Chunk]:
        chunks: List[Chunk] = []
        async for chunk in process.output():
            chunks.append(chunk)
            if text in b"".join(each.data for each in chunks):
                return chunks
        raise AssertionError(f"it ended without {text!r}: {chunks}")

    return await soon(collect())
