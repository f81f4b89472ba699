"""What a process printed, on its way to whoever reads it.

The connection is shared by all processes, so it is never left unread: that would stall every one of them for the sake of
one slow reader. Instead, what a reader has not taken is held up to a limit, and beyond it not at all. It is not lost: the
server keeps it, and the reader fetches it, piece by piece and at its own pace, before it goes on with what comes live.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Awaitable, Callable, Deque, List, Literal, Optional

from ._errors import OutputLost

Stream = Literal["stdout", "stderr"]
"""Where a byte was printed. A terminal's output is `stdout`."""


@dataclass(frozen=True)
class Chunk:
    """Some bytes that a process printed one after the other."""

    offset: int
    """The address of the first byte among all that the process printed. It never changes."""
    stream: Stream
    """Where they were printed."""
    data: bytes
    """The bytes. A character may be cut in two at either end."""

    @property
    def end(self) -> int:
        """The address of the byte behind the last one: where to go on reading."""
        return self.offset + len(self.data)

    def __str__(self) -> str:
        return self.data.decode(errors="replace")


Fetch = Callable[[int, int], Awaitable[List[Chunk]]]
"""Asks the server for the bytes from one offset to another.

It gives a piece of them, the first that are still kept; nothing if none is.
"""

# What a chunk costs beside its bytes, so that a flood of tiny ones is bounded too.
_CHUNK_COST = 128


class Output:
    """What one process printed and its reader has not taken."""

    def __init__(self, limit: int, fetch: Fetch, start: int = 0) -> None:
        self._limit = limit
        self._fetch = fetch
        self._held: Deque[Chunk] = deque()
        self._held_bytes = 0
        self._cursor = start
        self._received = start
        # Whether there is something between what is held and what was received.
        self._behind = False
        self._over = False
        self._error: Optional[Exception] = None
        self._changed = asyncio.Event()
        self._reading = False

    @property
    def cursor(self) -> int:
        """The offset of the first byte that the reader has not taken."""
        return self._cursor

    @property
    def received(self) -> int:
        """The offset behind the last byte that the server has told of."""
        return self._received

    def take(self, chunk: Chunk) -> None:
        """Takes what the server tells. What was told before, or comes before what the reader wants, is ignored."""
        wanted = max(self._received, self._cursor)
        known = wanted - chunk.offset
        if known >= len(chunk.data):
            self._received = max(self._received, chunk.end)
            return
        if known > 0:
            chunk = Chunk(wanted, chunk.stream, chunk.data[known:])
        hole = chunk.offset > wanted
        self._received = chunk.end
        full = self._held_bytes > 0 and self._held_bytes + _cost(chunk) > self._limit
        if self._behind or full or hole:
            self._behind = True
        else:
            self._hold(chunk)
        self._changed.set()

    def skip(self, end: int) -> None:
        """Takes it that there is output up to an offset which will not be told. Whoever reads fetches it."""
        if end > self._received:
            self._received = end
            self._behind = self._behind or self._cursor < end
            self._changed.set()

    def finish(self, error: Optional[Exception] = None) -> None:
        """Nothing comes any more."""
        if not self._over:
            self._over = True
            self._error = error
            self._changed.set()

    def go_to(self, offset: int) -> None:
        """Goes on reading elsewhere."""
        if offset == self._cursor:
            return
        self._held.clear()
        self._held_bytes = 0
        self._cursor = offset
        self._behind = offset < self._received
        self._changed.set()

    async def next(self) -> Optional[Chunk]:
        """What comes next, or `None` at the end. May be cancelled at any time and called again: nothing is skipped."""
        if self._reading:
            raise RuntimeError("the output of a process has one reader; another one is waiting for it already")
        self._reading = True
        try:
            return await self._next()
        finally:
            self._reading = False

    async def _next(self) -> Optional[Chunk]:
        while True:
            if self._held:
                return self._release()
            if self._behind:
                await self._catch_up()
            elif self._over:
                if self._error is not None:
                    raise self._error
                return None
            else:
                self._changed.clear()
                await self._changed.wait()

    async def _catch_up(self) -> None:
        start, end = self._cursor, self._received
        chunks = [chunk for chunk in await self._fetch(start, end) if chunk.end > start]
        if start != self._cursor:
            return  # The reader was sent elsewhere meanwhile.
        if not chunks or chunks[0].offset > start:
            raise OutputLost(start, chunks[0].offset if chunks else end)
        for chunk in chunks:
            if chunk.offset > start:
                break  # There is a hole: the reader is told of it when it comes there.
            self._hold(chunk)
            start = chunk.end
        self._behind = start < self._received

    def _hold(self, chunk: Chunk) -> None:
        self._held.append(chunk)
        self._held_bytes += _cost(chunk)

    def _release(self) -> Chunk:
        chunk = self._held.popleft()
        self._held_bytes -= _cost(chunk)
        self._cursor = chunk.end
        return chunk


def _cost(chunk: Chunk) -> int:
    return len(chunk.data) + _CHUNK_COST
