"""One process at a time, and two, over pipes to a server of their own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import unittest

from windlass import Client, ConnectionLost, RequestError, ServerError, StartError

from .support import ServerTest, everything, soon, until


class ProcessTest(ServerTest):
    async def test_output_comes_with_its_stream_and_its_address(self) -> None:
        client = await self.launch()
        process = await client.start(["sh", "-c", "echo out; read x; echo $x >&2"], stdin=True)
        first = await until(process, b"out\n")
        await process.write("in\n")
        rest = [chunk async for chunk in process.output()]
        self.assertEqual([(c.offset, c.stream, c.data) for c in first], [(0, "stdout", b"out\n")])
        self.assertEqual([(c.offset, c.stream, c.data) for c in rest], [(4, "stderr", b"in\n")])
        self.assertEqual(process.cursor, 7)
        exit = await soon(process.wait())
        self.assertEqual((exit.code, exit.signal, exit.timed_out), (0, None, False))
        assert exit.receipt is not None
        self.assertEqual((exit.receipt["stdoutBytes"], exit.receipt["pid"]), (4, process.pid))

    async def stranger(self, *lines: str) -> Client:
        """A client of a server that greets as it should and answers the next request with these lines."""
        program = os.path.join(self.folder, "stranger")
        greeting = '{"id":1,"result":{"userAgent":"a","codexHome":"/","platformFamily":"unix","platformOs":"linux"}}'
        said = "\n".join(f"printf '%s\\n' '{line}'" for line in lines)
        with open(program, "w") as file:
            file.write(f"#!/bin/sh\nread a; echo '{greeting}'; read b; read c\n{said}\nexec cat > /dev/null\n")
        os.chmod(program, 0o755)
        client = await soon(Client.launch(program=program))
        self.addAsyncCleanup(client.close)
        return client

    async def test_nothing_that_a_server_says_is_the_end_of_a_client(self) -> None:
        deep = "[" * 100000
        nonsense = ["{", "[]", "null", '{"id":[1]}', '{"id":{}}', '{"method":1}', '{"method":"process/outputDelta"}', deep]
        nonsense += ['{"method":"process/exited","params":[]}', '{"method":"session/output","params":{"sessionId":{}}}']
        client = await self.stranger(*nonsense, '{"id":2,"error":null,"result":{"sessions":[]}}')
        self.assertEqual(await soon(client.list()), [])
        for _ in range(2):
            await soon(client.close())

    async def test_an_error_of_any_shape_is_an_error(self) -> None:
        for error in ['"boom"', "7", '{"code":"x","message":"m"}', "[]", '{"message":[]}']:
            client = await self.stranger(f'{{"id":2,"error":{error}}}')
            with self.assertRaises(RequestError):
                await soon(client.list())

    async def test_a_greeting_of_another_kind_is_none(self) -> None:
        program = os.path.join(self.folder, "rude")
        for greeting in ["null", "7", "[]"]:
            with open(program, "w") as file:
                file.write(f"#!/bin/sh\nread a; echo '{{\"id\":1,\"result\":{greeting}}}'; exec cat > /dev/null\n")
            os.chmod(program, 0o755)
            with self.assertRaisesRegex(ServerError, "did not greet us"):
                await soon(Client.launch(program=program))

    async def test_input_ends_when_it_is_said_to(self) -> None:
        client = await self.launch()
        process = await client.start(["sha256sum"], stdin=True)
        data = bytes(range(256)) * 8192
        await soon(process.write(data))
        await process.end_input()
        digest = (await everything(process)).split()[0]
        self.assertEqual(digest.decode(), hashlib.sha256(data).hexdigest())

    async def test_without_input_there_is_nothing_to_read(self) -> None:
        client = await self.launch()
        process = await client.start(["cat"])
        self.assertEqual(await everything(process), b"")
        with self.assertRaises(RequestError):
            await process.write("too late")

    async def test_a_terminal_gets_another_size(self) -> None:
        client = await self.launch()
        command = ["sh", "-c", "stty size; read x; stty size"]
        process = await client.start(command, tty=True, size=(30, 90))
        await until(process, b"30 90")
        await process.resize(40, 100)
        await process.write("\n")
        self.assertIn(b"40 100", await everything(process))

    async def test_exit_codes_and_signals_are_told_apart(self) -> None:
        client = await self.launch()
        for script, expected in [("exit 3", (3, None)), ("kill -KILL $$", (137, 9))]:
            process = await client.start(["sh", "-c", script])
            exit = await soon(process.wait())
            self.assertEqual((exit.code, exit.signal), expected)

    async def test_a_process_is_ended_when_its_time_is_up(self) -> None:
        client = await self.launch()
        process = await client.start(["sleep", "1000"], timeout=0.1)
        exit = await soon(process.wait())
        self.assertEqual((exit.code, exit.timed_out), (124, True))

    async def test_stop_ends_the_whole_tree(self) -> None:
        client = await self.launch()
        process = await client.start(["sh", "-c", "sleep 1000 & echo $!; wait"])
        child = int((await until(process, b"\n"))[0].data)
        exit = await soon(process.stop())
        self.assertEqual((exit.code, exit.signal), (143, 15))
        self.assertFalse(exists(child))
        self.assertEqual(await soon(process.stop()), exit)

    async def test_a_context_stops_what_it_started(self) -> None:
        client = await self.launch()
        async with await client.start(["sleep", "1000"]) as process:
            self.assertIsNone(process.exit)
        self.assertIsNotNone(process.exit)

    async def test_a_signal_can_be_caught(self) -> None:
        client = await self.launch()
        script = "trap 'exit 7' USR1; sleep 1000 & echo ready; wait"
        process = await client.start(["sh", "-c", script])
        await until(process, b"ready")
        await process.signal("USR1")
        self.assertEqual((await soon(process.wait())).code, 7)

    async def test_waiting_may_be_given_up_and_taken_up_again(self) -> None:
        client = await self.launch()
        process = await client.start(["cat"], stdin=True)
        with self.assertRaises(asyncio.TimeoutError):
            await process.wait(timeout=0.01)
        await process.end_input()
        self.assertEqual((await soon(process.wait())).code, 0)

    async def test_waiting_for_a_pattern_says_where_it_was(self) -> None:
        client = await self.launch()
        process = await client.start(["sh", "-c", "echo one; echo port 4711; cat"], stdin=True)
        result = await soon(process.wait_for(r"port \d+"))
        self.assertEqual((result["met"], result.get("match")), ("pattern", {"text": "port 4711", "from": 4, "to": 13}))
        self.assertEqual((await soon(process.wait_for("no such", idle=0.01)))["met"], "idle")
        await process.stop()

    async def test_what_was_printed_is_read_again_by_span_line_and_pattern(self) -> None:
        client = await self.launch()
        process = await client.start(["seq", "1", "1000"])
        whole = await everything(process)
        self.assertEqual(await process.read(), whole)
        self.assertEqual(await process.read(10, 20), whole[10:20])
        lines = await process.lines(7, 9)
        self.assertEqual([(line["number"], line["text"]) for line in lines], [(7, "7"), (8, "8"), (9, "9")])
        many = await client.start(["seq", "1", "300000"])
        await soon(many.wait())
        self.assertEqual([int(line["text"]) for line in await soon(many.lines())], list(range(1, 300001)))
        # More than one answer may have.
        every = await soon(many.grep("^[0-9]+$", context=1))
        self.assertEqual([line["number"] for line in every], list(range(1, 300001)))
        found = await process.grep("^99.$", context=0)
        self.assertEqual([line["text"] for line in found], [str(number) for number in range(990, 1000)])
        again = [chunk.data async for chunk in process.output(start=10)]
        self.assertEqual(b"".join(again), whole[10:])

    async def test_environment_and_directory_are_given(self) -> None:
        client = await self.launch()
        env = {"GREETING": "hello", "HOME": None}
        process = await client.start(["sh", "-c", 'echo "$GREETING ${HOME-none}"; pwd'], cwd=self.folder, env=env)
        self.assertEqual((await everything(process)).decode(), f"hello none\n{os.path.realpath(self.folder)}\n")

    async def test_a_program_that_is_not_there_is_named_in_the_error_with_what_to_do(self) -> None:
        client = await self.launch()
        with self.assertRaisesRegex(StartError, "cannot start no-such-program-anywhere: .*No such file or directory.*check its name") as raised:
            await client.start(["no-such-program-anywhere"])
        self.assertEqual(raised.exception.program, "no-such-program-anywhere")
        self.assertEqual((raised.exception.method, raised.exception.code), ("process/spawn", -32603))
        self.assertEqual(await client.list(), [])

    async def test_a_process_has_the_sandbox_of_the_servers_user(self) -> None:
        script = "(: > file) 2>/dev/null && echo written || echo refused"
        for settings, arguments, expected in [
            ("", [], b"written\n"),
            ('sandbox_mode = "read-only"', [], b"refused\n"),
            ('sandbox_mode = "read-only"', ["--sandbox", "danger-full-access"], b"written\n"),
        ]:
            self.configure(settings)
            client = await self.launch(arguments=arguments)
            process = await client.start(["sh", "-c", script], cwd=self.folder)
            self.assertEqual(await everything(process), expected, (settings, arguments))

    async def test_sessions_are_listed_also_when_they_are_over(self) -> None:
        client = await self.launch()
        process = await client.start(["true"])
        await soon(process.wait())
        (info,) = await client.list()
        self.assertEqual((info["sessionId"], info["command"], info["state"]), (process.session_id, ["true"], "exited"))

    async def test_a_slow_reader_loses_nothing_and_delays_nobody(self) -> None:
        client = await self.launch(buffer_limit=64 * 1024)
        flood = await client.start(["seq", "1", "1500000"])
        first = await soon(flood.output().__anext__())
        echo = await client.start(["cat"], stdin=True)
        for word in ["one", "two", "three"]:
            await echo.write(word + "\n")
            await until(echo, word.encode())
        await soon(flood.wait())
        expected = "".join(f"{number}\n" for number in range(1, 1500001)).encode()
        self.assertTrue(first.data + await everything(flood) == expected)
        await echo.stop()

    async def test_a_start_that_nobody_waits_for_leaves_nothing(self) -> None:
        client = await self.launch()
        start = asyncio.create_task(client.start(["sleep", "1000"]))
        while not client._processes:
            await asyncio.sleep(0)
        start.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await start
        # If it was started at all, it is being ended.
        for info in await client.list():
            ended = await soon(client.request("session/wait", {"sessionId": info["sessionId"]}))
            self.assertEqual((ended["met"], ended["exit"]["signal"]), ("exit", 15))


class ConnectionTest(ServerTest):
    async def test_closing_ends_what_was_started(self) -> None:
        client = await self.launch()
        process = await client.start(["sleep", "1000"])
        await soon(client.close())
        self.assertFalse(exists(process.pid))
        for call in (client.start(["true"]), process.write("x"), process.read()):
            with self.assertRaises(ConnectionLost):
                await soon(call)
        # Whether its end was still told or not, nobody waits for ever.
        with contextlib.suppress(ConnectionLost):
            await soon(process.wait())
        await client.close()

    async def test_a_server_that_dies_is_named_in_every_error(self) -> None:
        client = await self.launch()
        process = await client.start(["sh", "-c", "read x; kill -KILL $PPID; cat"], stdin=True)
        with contextlib.suppress(ConnectionLost):
            await process.write("\n")
        with self.assertRaisesRegex(ConnectionLost, "exited with -9"):
            await soon(process.wait())
        with self.assertRaises(ConnectionLost):
            await everything(process)

    async def test_a_missing_program_says_what_to_do(self) -> None:
        with self.assertRaisesRegex(ServerError, "no-such-windlass.*program="):
            await Client.launch(program="no-such-windlass")

    async def test_a_program_that_is_no_server_is_quoted(self) -> None:
        with self.assertRaisesRegex(ServerError, "did not greet us.*app-server"):
            await soon(Client.launch(program="cat"))


def exists(pid: int) -> bool:
    """Whether it is alive; one that is only not yet collected is not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
