"""Servers that are there already, and connections that are lost."""

from __future__ import annotations

import asyncio
import contextlib
import os

from windlass import Client, ConnectionLost, ServerError, WindlassError

from .support import Cutter, ServerTest, everything, soon, until

LINES = 20000
SCRIPT = f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); done; read x; echo end $x"
EXPECTED = "".join(f"line {number}\n" for number in range(LINES)).encode()


class SocketTest(ServerTest):
    async def test_a_websocket_asks_for_its_token(self) -> None:
        secret = os.path.join(self.folder, "token")
        with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("correct-horse-battery-staple")
        async with self.server("ws://127.0.0.1:0", "--ws-token-file", secret) as url:
            with self.assertRaisesRegex(ServerError, "401"):
                await self.connect(url)
            client = await self.connect(url, token="correct-horse-battery-staple")
            process = await client.start(["echo", "hello"])
            self.assertEqual(await everything(process), b"hello\n")

    async def test_a_socket_at_a_path_is_reached_too(self) -> None:
        async with self.server(f"unix://{self.folder}/socket") as url:
            client = await self.connect(url)
            process = await client.start(["echo", "hello"])
            self.assertEqual(await everything(process), b"hello\n")

    async def test_nobody_there_is_said(self) -> None:
        with self.assertRaisesRegex(ServerError, "cannot connect to unix://"):
            await self.connect(f"unix://{self.folder}/nobody")
        with self.assertRaisesRegex(ServerError, "no address of a server"):
            await self.connect("http://127.0.0.1:1")

    async def test_a_lost_connection_is_resumed_and_nothing_is_missed(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            client = await self.connect(cutter.url)
            process = await client.start(["sh", "-c", SCRIPT], stdin=True)
            seen = b""
            async for chunk in process.output():
                seen += chunk.data
                # Twice: once in the middle of the flood, once when it is quiet.
                if (cutter.accepted, len(seen) >= len(EXPECTED)) in [(1, False), (2, True)]:
                    cutter.cut()
                    await soon(cutter.reached(cutter.accepted + 1))
                if len(seen) >= len(EXPECTED):
                    break
            self.assertTrue(seen == EXPECTED, f"{len(seen)} of {len(EXPECTED)} bytes")
            await soon(process.write("well\n"))
            self.assertEqual(await everything(process), b"end well\n")
            self.assertEqual((await soon(process.wait())).code, 0)

    async def test_whatever_is_asked_during_the_gap_waits_for_its_end(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            client = await self.connect(cutter.url)
            process = await client.start(["sh", "-c", "echo begun; cat"], stdin=True)
            await until(process, b"begun\n")
            for _ in range(3):
                cutter.cut()
                self.assertEqual(await soon(process.read()), b"begun\n")
                self.assertEqual(len(await soon(client.list())), 1)
            cutter.cut()
            # Sent into the gap, it fails and says so; asked again, it waits.
            with contextlib.suppress(ConnectionLost):
                await soon(client.start(["sleep", "1000"]))
            other = await soon(client.start(["echo", "hello"]))
            self.assertEqual(await everything(other), b"hello\n")

    async def test_an_end_during_the_gap_is_learnt_afterwards(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            client = await self.connect(cutter.url)
            process = await client.start(["sh", "-c", "echo begun; read x; echo over; exit 5"], stdin=True)
            await until(process, b"begun\n")
            cutter.cut()
            await soon(cutter.reached(2))
            await soon(process.write("\n"))
            cutter.cut()
            self.assertEqual(await everything(process), b"over\n")
            self.assertEqual((await soon(process.wait())).code, 5)

    async def test_another_client_goes_on_where_one_has_left(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url:
            first = await self.connect(url)
            process = await first.start(["sh", "-c", SCRIPT], stdin=True)
            seen = (await until(process, b"line 1\n"))[-1].end
            token = await soon(first.detach())
            with self.assertRaises(ConnectionLost):
                await soon(process.wait())

            second = await soon(Client.connect(url, resume_token=token))
            self.addAsyncCleanup(second.close)
            with self.assertRaisesRegex(WindlassError, "no session 1 "):
                await second.attach(1)
            again = await second.attach(process.session_id, start=seen)
            self.assertEqual((again.pid, again.cursor), (process.pid, seen))
            await soon(again.write("well\n"))
            self.assertTrue(await everything(again) == EXPECTED[seen:] + b"end well\n")
            self.assertEqual((await soon(again.wait())).code, 0)
            with self.assertRaisesRegex(ServerError, "ended the processes of"):
                await Client.connect(url, resume_token="of nobody")

    async def test_closing_ends_also_what_was_taken_over_and_never_attached_to(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url:
            first = await self.connect(url)
            process = await first.start(["sleep", "1000"])
            gone = os.pidfd_open(process.pid)
            token = await soon(first.detach())
            second = await soon(Client.connect(url, resume_token=token))
            await soon(second.close())
            ended = asyncio.Event()
            asyncio.get_running_loop().add_reader(gone, ended.set)
            await soon(ended.wait())
            asyncio.get_running_loop().remove_reader(gone)
            os.close(gone)

    async def test_an_address_that_is_none_is_said(self) -> None:
        for url in ["ws://", "ws://127.0.0.1:99999", "ws://127.0.0.1:x"]:
            with self.assertRaises(ServerError):
                await self.connect(url)

    async def test_without_resuming_a_lost_connection_ends_everything(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            client = await self.connect(cutter.url, resume_for=None)
            process = await client.start(["sleep", "1000"])
            cutter.cut()
            with self.assertRaises(ConnectionLost):
                await soon(process.wait())

    async def test_a_server_that_forgot_us_is_not_asked_again(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            client = await self.connect(cutter.url)
            process = await client.start(["cat"], stdin=True)
            async with self.server("ws://127.0.0.1:0") as another:
                cutter.lead_to(another)
                cutter.cut()
                with self.assertRaisesRegex(ConnectionLost, "could not be resumed: the server has ended"):
                    await soon(process.wait())
            self.assertEqual(cutter.accepted, 2)

    async def test_closing_a_resumable_connection_leaves_nothing(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url:
            client = await self.connect(url)
            process = await client.start(["sh", "-c", "echo $$; cat"], stdin=True)
            await until(process, b"\n")
            await soon(client.close())
            # Whether its end was still told or not, nobody waits for ever.
            with contextlib.suppress(ConnectionLost):
                await soon(process.wait())
            self.assertTrue(is_gone(process.pid))

    async def test_closing_ends_what_commands_left_running_also_while_the_connection_is_lost(self) -> None:
        async with self.server("ws://127.0.0.1:0") as url, Cutter(url) as cutter:
            for is_lost in (False, True):
                client = await self.connect(cutter.url)
                script = "setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' & read x"
                process = await client.start(["sh", "-c", script], stdin=True)
                left = int(b"".join(chunk.data for chunk in await until(process, b"\n")))
                await process.end_input()
                receipt = (await soon(process.wait())).receipt
                assert receipt is not None
                self.assertEqual([line["pid"] for line in receipt["leftRunning"]], [left])
                self.assertFalse(is_gone(left))
                if is_lost:
                    cutter.cut()
                await soon(client.close())
                self.assertTrue(is_gone(left), f"lost: {is_lost}")


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has collected yet has."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return True
    return False
