// One process at a time, and two, over pipes to a server of their own.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { realpathSync, writeFileSync } from "node:fs";
import { test, type TestContext } from "node:test";

import { Client, ConnectionLost, RequestError, ServerError, StartError } from "windlass";

import { atEnd, configure, environment, everything, exists, folder, launch, said, until } from "./support.ts";

test("output comes with its stream and its address", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sh", "-c", "echo out; read x; echo $x >&2"], { stdin: true });
  assert.deepEqual((await until(process, "out\n")).map(said), [[0, "stdout", "out\n"]]);
  await process.write("in\n");
  const rest = [];
  for await (const chunk of process.output()) rest.push(said(chunk));
  assert.deepEqual(rest, [[4, "stderr", "in\n"]]);
  assert.equal(process.cursor, 7);
  const { receipt, ...exit } = await process.wait();
  assert.deepEqual(exit, { code: 0, signal: undefined, timedOut: false });
  assert.deepEqual([receipt?.stdoutBytes, receipt?.pid], [4, process.pid]);
});

/** A client of a server that greets as it should and answers the next request with these lines. */
async function stranger(t: TestContext, ...lines: string[]): Promise<Client> {
  const program = `${folder(t)}/stranger`;
  const greeting = '{"id":1,"result":{"userAgent":"a","codexHome":"/","platformFamily":"unix","platformOs":"linux"}}';
  const said = lines.map((line) => `printf '%s\\n' '${line}'`).join("\n");
  const script = `#!/bin/sh\nread a; echo '${greeting}'; read b; read c\n${said}\nexec cat > /dev/null\n`;
  writeFileSync(program, script, { mode: 0o755 });
  const client = await Client.launch({ program });
  atEnd(t, () => client.close());
  return client;
}

test("nothing that a server says is the end of a client", async (t) => {
  const nonsense = ["{", "[]", "null", '{"id":[1]}', '{"id":{}}', '{"method":1}', '{"method":"process/outputDelta"}'];
  nonsense.push('{"method":"process/exited"}', '{"method":"session/output","params":null}', "[".repeat(100_000));
  const client = await stranger(t, ...nonsense, '{"id":2,"error":null,"result":{"sessions":[]}}');
  assert.deepEqual(await client.list(), []);
  await client.close();
  await client.close();
});

test("an error of any shape is an error", async (t) => {
  for (const error of ['"boom"', "7", '{"code":"x","message":"m"}', "[]", '{"message":[]}']) {
    const client = await stranger(t, `{"id":2,"error":${error}}`);
    await assert.rejects(client.list(), RequestError);
  }
});

test("a greeting of another kind is none", async (t) => {
  const program = `${folder(t)}/rude`;
  const script = `#!/bin/sh\nread a; echo '{"id":1,"result":null}'; exec cat > /dev/null\n`;
  writeFileSync(program, script, { mode: 0o755 });
  await assert.rejects(Client.launch({ program }), /did not greet us/);
});

test("input ends when it is said to", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sha256sum"], { stdin: true });
  const data = Buffer.alloc(2 * 1024 * 1024, "0123456789abcdefghijklmnopqrstuvwxyz");
  await process.write(data);
  await process.endInput();
  const digest = (await everything(process)).toString().split(" ")[0];
  assert.equal(digest, createHash("sha256").update(data).digest("hex"));
});

test("without input there is nothing to read", async (t) => {
  const client = await launch(t);
  const process = await client.start(["cat"]);
  assert.equal((await everything(process)).length, 0);
  await assert.rejects(process.write("too late"), RequestError);
});

test("a terminal gets another size", async (t) => {
  const client = await launch(t);
  const command = ["sh", "-c", "stty size; read x; stty size"];
  const process = await client.start(command, { tty: true, size: { rows: 30, cols: 90 } });
  await until(process, "30 90");
  await process.resize({ rows: 40, cols: 100 });
  await process.write("\n");
  assert.match((await everything(process)).toString(), /40 100/);
});

test("exit codes and signals are told apart", async (t) => {
  const client = await launch(t);
  for (const [script, code, signal] of [["exit 3", 3, undefined], ["kill -KILL $$", 137, 9]] as const) {
    const exit = await (await client.start(["sh", "-c", script])).wait();
    assert.deepEqual([exit.code, exit.signal], [code, signal]);
  }
});

test("a process is ended when its time is up", async (t) => {
  const client = await launch(t);
  const exit = await (await client.start(["sleep", "1000"], { timeoutMs: 100 })).wait();
  assert.deepEqual([exit.code, exit.timedOut], [124, true]);
});

test("stop ends the whole tree", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sh", "-c", "sleep 1000 & echo $!; wait"]);
  const child = Number((await until(process, "\n"))[0]?.data);
  const exit = await process.stop();
  assert.deepEqual([exit.code, exit.signal], [143, 15]);
  assert.equal(exists(child), false);
  assert.deepEqual(await process.stop(), exit);
});

test("disposing stops what was started", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sleep", "1000"]);
  assert.equal(process.exit, undefined);
  await process[Symbol.asyncDispose]();
  assert.notEqual(process.exit, undefined);
});

test("a signal can be caught", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sh", "-c", "trap 'exit 7' USR1; sleep 1000 & echo ready; wait"]);
  await until(process, "ready");
  await process.signal("USR1");
  assert.equal((await process.wait()).code, 7);
});

test("waiting may be given up and taken up again", async (t) => {
  const client = await launch(t);
  const process = await client.start(["cat"], { stdin: true });
  await assert.rejects(process.wait({ timeoutMs: 1 }), { name: "TimeoutError" });
  await process.endInput();
  assert.equal((await process.wait({ timeoutMs: 60_000 })).code, 0);
});

test("waiting for a pattern says where it was", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sh", "-c", "echo one; echo port 4711; cat"], { stdin: true });
  const result = await process.waitFor({ pattern: "port \\d+" });
  assert.deepEqual([result.met, result.match], ["pattern", { text: "port 4711", from: 4, to: 13 }]);
  assert.equal((await process.waitFor({ pattern: "no such", idleMs: 10 })).met, "idle");
  await process.stop();
});

test("what was printed is read again by span, line and pattern", async (t) => {
  const client = await launch(t);
  const process = await client.start(["seq", "1", "1000"]);
  const whole = await everything(process);
  assert.deepEqual(await process.read(), whole);
  assert.deepEqual(await process.read(10, 20), whole.subarray(10, 20));
  const lines = (await process.lines(7, 9)).map(({ number, text }) => [number, text]);
  assert.deepEqual(lines, [[7, "7"], [8, "8"], [9, "9"]]);
  const many = await client.start(["seq", "1", "300000"]);
  await many.wait();
  const numbers = (await many.lines()).map(({ text }) => Number(text));
  assert.ok(numbers.length === 300_000 && numbers.every((number, index) => number === index + 1));
  // More than one answer may have.
  const every = await many.grep("^[0-9]+$", { context: 1 });
  assert.ok(every.length === 300_000 && every.every(({ number }, index) => number === index + 1));
  const found = (await process.grep("^99.$")).map(({ text }) => Number(text));
  assert.deepEqual(found, Array.from({ length: 10 }, (_, index) => 990 + index));
  assert.deepEqual(await everything(process, 10), whole.subarray(10));
});

test("environment and directory are given", async (t) => {
  const client = await launch(t);
  const cwd = folder(t);
  const env = { GREETING: "hello", HOME: null };
  const process = await client.start(["sh", "-c", 'echo "$GREETING ${HOME-none}"; pwd'], { cwd, env });
  assert.equal((await everything(process)).toString(), `hello none\n${realpathSync(cwd)}\n`);
});

test("a program that is not there is named in the error, with what to do", async (t) => {
  const client = await launch(t);
  await assert.rejects(client.start(["no-such-program-anywhere"]), (error: StartError) => {
    assert.ok(error instanceof StartError);
    assert.deepEqual([error.method, error.code], ["process/spawn", -32603]);
    assert.equal(error.program, "no-such-program-anywhere");
    assert.match(error.message, /^cannot start no-such-program-anywhere: .*No such file or directory.*check its name/);
    return true;
  });
  assert.deepEqual(await client.list(), []);
});

test("a process has the sandbox of the server's user", async (t) => {
  const script = "(: > file) 2>/dev/null && echo written || echo refused";
  for (const [settings, args, expected] of [
    ["", [], "written\n"],
    ['sandbox_mode = "read-only"', [], "refused\n"],
    ['sandbox_mode = "read-only"', ["--sandbox", "danger-full-access"], "written\n"],
  ] as const) {
    const place = folder(t);
    configure(place, settings);
    const client = await launch(t, { env: environment(place), arguments: args });
    const process = await client.start(["sh", "-c", script], { cwd: place });
    assert.equal((await everything(process)).toString(), expected, settings);
  }
});

test("sessions are listed also when they are over", async (t) => {
  const client = await launch(t);
  const process = await client.start(["true"]);
  await process.wait();
  const seen = (await client.list()).map(({ sessionId, command, state }) => [sessionId, command, state]);
  assert.deepEqual(seen, [[process.sessionId, ["true"], "exited"]]);
});

test("a slow reader loses nothing and delays nobody", async (t) => {
  const client = await launch(t, { bufferLimit: 64 * 1024 });
  const flood = await client.start(["seq", "1", "1500000"]);
  const first = (await flood.output().next()).value?.data ?? assert.fail("it printed nothing");
  const echo = await client.start(["cat"], { stdin: true });
  for (const word of ["one", "two", "three"]) {
    await echo.write(`${word}\n`);
    await until(echo, word);
  }
  await flood.wait();
  const expected = Buffer.from(Array.from({ length: 1_500_000 }, (_, index) => `${index + 1}\n`).join(""));
  const seen = Buffer.concat([first, await everything(flood)]);
  assert.ok(seen.equals(expected), `${seen.length} bytes of ${expected.length}`);
  await echo.stop();
});

test("a start that is aborted leaves nothing", async (t) => {
  const client = await launch(t);
  const abort = new AbortController();
  const start = client.start(["sleep", "1000"], { signal: abort.signal });
  abort.abort(new Error("changed my mind"));
  await assert.rejects(start, /changed my mind/);
  // If it was started at all, it is being ended.
  for (const { sessionId } of await client.list()) {
    const ended = await client.request("session/wait", { sessionId });
    assert.deepEqual([ended.met, ended.exit?.signal], ["exit", 15]);
  }
});

test("closing ends what was started", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sleep", "1000"]);
  await client.close();
  assert.equal(exists(process.pid), false);
  for (const call of [client.start(["true"]), process.write("x"), process.read()]) {
    await assert.rejects(call, ConnectionLost);
  }
  // Whether its end was still told or not, nobody waits for ever.
  await process.wait().catch((error: unknown) => assert.ok(error instanceof ConnectionLost));
  await client.close();
});

test("a server that dies is named in every error", async (t) => {
  const client = await launch(t);
  const process = await client.start(["sh", "-c", "read x; kill -KILL $PPID; cat"], { stdin: true });
  await process.write("\n").catch((error: unknown) => assert.ok(error instanceof ConnectionLost));
  await assert.rejects(process.wait(), /exited with SIGKILL/);
  await assert.rejects(everything(process), ConnectionLost);
});

test("a missing program says what to do", async () => {
  await assert.rejects(Client.launch({ program: "no-such-windlass" }), (error: Error) => {
    assert.ok(error instanceof ServerError);
    assert.match(error.message, /no-such-windlass.*`program`/);
    return true;
  });
});

test("a program that is no server is quoted", async () => {
  await assert.rejects(Client.launch({ program: "cat" }), /did not greet us.*app-server/s);
});
