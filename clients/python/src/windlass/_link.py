"""Requests and answers over one transport, for as long as that lasts."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, Callable, Dict, Mapping, Optional

from ._errors import ConnectionLost, RequestError
from ._transport import Transport

Hear = Callable[[str, Any], None]
"""Takes a notification: its method and its params. It must not block."""


class Link:
    """One connection. When it ends, whatever was not answered fails with `ConnectionLost`."""

    def __init__(self, transport: Transport, hear: Hear) -> None:
        self._transport = transport
        self._hear = hear
        self._ids = itertools.count(1)
        self._waiting: Dict[int, asyncio.Future[Any]] = {}
        self.over = False
        """Whether nothing can be sent any more."""
        self.ended: asyncio.Task[str] = asyncio.create_task(self._read())
        """Finished once the connection has ended, with what is known about why."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Sends a request and waits for its answer. Whoever stops waiting leaves nothing behind here."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # It may fail while the message is still being handed over, when nobody looks.
        answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        except _Refused as refused:
            raise RequestError(method, refused.code, refused.message) from None
        except _Ended as ended:
            raise ConnectionLost(f"{method}: the connection ended before the answer came{ended}") from None
        finally:
            self._waiting.pop(number, None)

    async def tell(self, method: str) -> None:
        """Sends a notification."""
        await self._send({"method": method})

    async def order(self, method: str, params: Mapping[str, Any]) -> None:
        """Sends a request whose answer nobody waits for."""
        await self._send({"id": next(self._ids), "method": method, "params": params})

    async def close(self) -> None:
        """Ends the connection, and waits until that is done."""
        await self._transport.close()
        await self.ended

    async def _send(self, message: Mapping[str, Any]) -> None:
        if self.over:
            raise ConnectionLost(f"the connection has ended{_because(self._transport.why())}")
        await self._transport.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())

    async def _read(self) -> str:
        try:
            while (message := await self._transport.receive()) is not None:
                self._take(message)
        finally:
            self.over = True
            why = self._transport.why()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(_Ended(_because(why)))
        return why

    def _take(self, message: bytes) -> None:
        try:
            read = json.loads(message)
        except (ValueError, RecursionError):
            return  # Nothing that can be answered or understood; the protocol has no place for complaints.
        if not isinstance(read, dict):
            return
        method = read.get("method")
        if isinstance(method, str):
            try:
                self._hear(method, read.get("params"))
            except (AttributeError, KeyError, TypeError, ValueError):
                pass  # Not of the shape that is promised, and no reason to leave everything else unread.
            return
        number = read.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = read.get("error")
        if error is None:
            answer.set_result(read.get("result"))
        else:
            answer.set_exception(_refused(error))


class _Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message


def _refused(error: Any) -> _Refused:
    """Whatever is said instead of a result, as far as it has the shape of an error."""
    if not isinstance(error, dict):
        return _Refused(0, str(error))
    code = error.get("code")
    return _Refused(code if isinstance(code, int) else 0, str(error.get("message", error)))


class _Ended(Exception):
    pass


def _because(why: Optional[str]) -> str:
    return f": {why}" if why else ""
