"""The way of output from a connection to its reader, without a server."""

from __future__ import annotations

import asyncio
import unittest
from typing import List, Tuple

from windlass import Chunk, OutputLost
from windlass._output import _CHUNK_COST, Output

PRINTED = bytes(range(100))


class OutputTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.fetched: List[Tuple[int, int]] = []
        self.kept_from = 0

    async def fetch(self, start: int, end: int) -> List[Chunk]:
        self.fetched.append((start, end))
        start = max(start, self.kept_from)
        return [Chunk(start, "stdout", PRINTED[start:end])] if start < end else []

    def output(self, chunks: int) -> Output:
        """One that holds so many chunks, however long they are here."""
        return Output(chunks * (_CHUNK_COST + 40), self.fetch)

    async def read(self, output: Output) -> bytes:
        data = b""
        while (chunk := await output.next()) is not None:
            data += chunk.data
        return data

    def print(self, output: Output, *ends: int) -> None:
        for end in ends:
            start = output.received
            output.take(Chunk(start, "stdout", PRINTED[start:end]))

    async def test_within_the_limit_nothing_is_fetched(self) -> None:
        output = self.output(3)
        self.print(output, 10, 50, 90)
        output.finish()
        self.assertEqual((await self.read(output), self.fetched), (PRINTED[:90], []))

    async def test_beyond_the_limit_the_rest_is_fetched_once_it_is_wanted(self) -> None:
        output = self.output(1)
        self.print(output, 15, 40, 60)
        self.assertEqual(self.fetched, [])
        first = await output.next()
        assert first is not None
        self.assertEqual(first.end, 15)
        second = await output.next()
        assert second is not None
        self.assertEqual((second.data, self.fetched), (PRINTED[15:60], [(15, 60)]))
        # It has caught up: from here on it is live again.
        self.print(output, 70)
        output.finish()
        self.assertEqual((await self.read(output), len(self.fetched)), (PRINTED[60:70], 1))

    async def test_what_comes_again_is_taken_once(self) -> None:
        output = self.output(3)
        self.print(output, 30)
        output.take(Chunk(10, "stdout", PRINTED[10:40]))
        output.take(Chunk(0, "stdout", PRINTED[0:20]))
        output.finish()
        self.assertEqual(await self.read(output), PRINTED[:40])

    async def test_what_was_never_told_is_fetched(self) -> None:
        output = self.output(3)
        self.print(output, 10)
        output.take(Chunk(30, "stdout", PRINTED[30:40]))
        output.skip(50)
        output.finish()
        self.assertEqual(await self.read(output), PRINTED[:50])

    async def test_a_hole_in_the_middle_of_what_is_fetched_is_an_error_too(self) -> None:
        """A server keeps the beginning and the end: what it gives may have a hole inside."""

        async def fetch(start: int, end: int) -> List[Chunk]:
            kept = [(0, 30), (70, 100)]
            spans = [(max(first, start), min(last, end)) for first, last in kept]
            return [Chunk(first, "stdout", PRINTED[first:last]) for first, last in spans if first < last]

        output = Output(_CHUNK_COST, fetch)
        output.skip(100)
        output.finish()
        first = await output.next()
        assert first is not None
        self.assertEqual(first.data, PRINTED[:30])
        with self.assertRaises(OutputLost) as lost:
            await output.next()
        self.assertEqual((lost.exception.start, lost.exception.end), (30, 70))
        output.go_to(lost.exception.end)
        self.assertEqual(await self.read(output), PRINTED[70:])

    async def test_who_goes_ahead_of_what_was_told_gets_nothing_before_that(self) -> None:
        output = self.output(3)
        self.print(output, 10)
        output.go_to(25)
        self.print(output, 20, 40)
        output.finish()
        self.assertEqual((await self.read(output), self.fetched), (PRINTED[25:40], []))

    async def test_what_is_gone_is_an_error_and_reading_goes_on_behind_it(self) -> None:
        output = self.output(1)
        self.print(output, 10, 100)
        output.finish()
        self.kept_from = 40
        self.assertEqual(getattr(await output.next(), "end", None), 10)
        with self.assertRaises(OutputLost) as raised:
            await output.next()
        self.assertEqual((raised.exception.start, raised.exception.end), (10, 40))
        output.go_to(raised.exception.end)
        self.assertEqual(await self.read(output), PRINTED[40:])

    async def test_a_reader_that_is_cancelled_misses_nothing(self) -> None:
        output = self.output(3)
        reader = asyncio.create_task(output.next())
        await asyncio.sleep(0)
        reader.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await reader
        self.print(output, 100)
        output.finish()
        self.assertEqual(await self.read(output), PRINTED)

    async def test_there_is_one_reader_at_a_time(self) -> None:
        output = self.output(3)
        reader = asyncio.create_task(output.next())
        await asyncio.sleep(0)
        with self.assertRaisesRegex(RuntimeError, "one reader"):
            await output.next()
        output.finish()
        self.assertIsNone(await reader)
