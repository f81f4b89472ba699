// Servers that are there already, and connections that are lost.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { ConnectionLost, ServerError } from "windlass";

import { Cutter, connectTo, everything, folder, serve, until } from "./support.ts";

const LINES = 20_000;
const SCRIPT = `i=0; while [ $i -lt ${LINES} ]; do echo line $i; i=$((i+1)); done; read x; echo end $x`;
const EXPECTED = Buffer.from(Array.from({ length: LINES }, (_, index) => `line ${index}\n`).join(""));
const FREE_PORT = "ws://127.0.0.1:0";

test("a websocket asks for its token", async (t) => {
  const place = folder(t);
  const token = "correct-horse-battery-staple";
  writeFileSync(`${place}/token`, token, { mode: 0o600 });
  const url = await serve(t, place, FREE_PORT, "--ws-token-file", `${place}/token`);
  await assert.rejects(connectTo(t, url), /401/);
  const client = await connectTo(t, url, { token });
  assert.equal((await everything(await client.start(["echo", "hello"]))).toString(), "hello\n");
});

test("a socket at a path is reached too", async (t) => {
  const place = folder(t);
  const client = await connectTo(t, await serve(t, place, `unix://${place}/socket`));
  assert.equal((await everything(await client.start(["echo", "hello"]))).toString(), "hello\n");
});

test("nobody there is said", async (t) => {
  await assert.rejects(connectTo(t, `unix://${folder(t)}/nobody`), /cannot connect to unix:/);
  await assert.rejects(connectTo(t, "http://127.0.0.1:1"), /no address of a server/);
});

test("a lost connection is resumed and nothing is missed", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  const client = await connectTo(t, cutter.url);
  const process = await client.start(["sh", "-c", SCRIPT], { stdin: true });
  let seen = Buffer.alloc(0);
  for await (const { data } of process.output()) {
    seen = Buffer.concat([seen, data]);
    const all = seen.length >= EXPECTED.length;
    // Twice: once in the middle of the flood, once when it is quiet.
    if (cutter.accepted === (all ? 2 : 1)) await cutter.cutAndReturn();
    if (all) break;
  }
  assert.ok(seen.equals(EXPECTED), `${seen.length} of ${EXPECTED.length} bytes`);
  await process.write("well\n");
  assert.equal((await everything(process)).toString(), "end well\n");
  assert.equal((await process.wait()).code, 0);
});

test("whatever is asked during the gap waits for its end", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  const client = await connectTo(t, cutter.url);
  const process = await client.start(["sh", "-c", "echo begun; cat"], { stdin: true });
  await until(process, "begun\n");
  for (let round = 0; round < 3; round += 1) {
    cutter.cut();
    assert.equal((await process.read()).toString(), "begun\n");
    assert.equal((await client.list()).length, 1);
  }
  cutter.cut();
  // Sent into the gap, it fails and says so; asked again, it waits.
  await client.start(["sleep", "1000"]).catch((error: unknown) => assert.ok(error instanceof ConnectionLost));
  assert.equal((await everything(await client.start(["echo", "hello"]))).toString(), "hello\n");
});

test("an end during the gap is learnt afterwards", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  const client = await connectTo(t, cutter.url);
  const process = await client.start(["sh", "-c", "echo begun; read x; echo over; exit 5"], { stdin: true });
  await until(process, "begun\n");
  await cutter.cutAndReturn();
  await process.write("\n");
  cutter.cut();
  assert.equal((await everything(process)).toString(), "over\n");
  assert.equal((await process.wait()).code, 5);
});

test("another client goes on where one has left", async (t) => {
  const url = await serve(t, folder(t), FREE_PORT);
  const first = await connectTo(t, url);
  const process = await first.start(["sh", "-c", SCRIPT], { stdin: true });
  await until(process, "line 1\n");
  const resumeToken = await first.detach();
  await assert.rejects(process.wait(), ConnectionLost);

  const second = await connectTo(t, url, { resumeToken });
  await assert.rejects(second.attach(1), /no session 1 /);
  const again = await second.attach(process.sessionId, process.cursor);
  assert.deepEqual([again.pid, again.cursor], [process.pid, process.cursor]);
  await again.write("well\n");
  const expected = Buffer.concat([EXPECTED.subarray(process.cursor), Buffer.from("end well\n")]);
  assert.ok((await everything(again)).equals(expected));
  assert.equal((await again.wait()).code, 0);
  await assert.rejects(connectTo(t, url, { resumeToken: "of nobody" }), /ended the processes/);
});

test("closing ends also what was taken over and never attached to", async (t) => {
  const place = folder(t);
  const url = await serve(t, place, FREE_PORT);
  const fifo = `${place}/fifo`;
  execFileSync("mkfifo", [fifo]);
  // It can be read to its end when nobody writes there any more.
  const gone = readFile(fifo);
  const first = await connectTo(t, url);
  await first.start(["sh", "-c", `exec sleep 1000 > ${fifo}`]);
  const second = await connectTo(t, url, { resumeToken: await first.detach() });
  await second.close();
  assert.equal((await gone).length, 0);
});

test("an address that is none is said", async (t) => {
  for (const url of ["ws://", "ws://127.0.0.1:99999", "ws://127.0.0.1:x"]) {
    await assert.rejects(connectTo(t, url), ServerError);
  }
  await assert.rejects(connectTo(t, "ws://127.0.0.1:1", { token: "a\nb" }), ServerError);
});

test("without resuming, a lost connection ends everything", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  const client = await connectTo(t, cutter.url, { resumeForMs: null });
  const process = await client.start(["sleep", "1000"]);
  cutter.cut();
  await assert.rejects(process.wait(), ConnectionLost);
});

test("a server that forgot us is not asked again", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  const client = await connectTo(t, cutter.url);
  const process = await client.start(["cat"], { stdin: true });
  cutter.leadTo(await serve(t, folder(t), FREE_PORT));
  cutter.cut();
  await assert.rejects(process.wait(), /could not be resumed: the server has ended/);
  assert.equal(cutter.accepted, 2);
});

test("closing a resumable connection leaves nothing", async (t) => {
  const url = await serve(t, folder(t), FREE_PORT);
  const client = await connectTo(t, url);
  const process = await client.start(["sh", "-c", "echo $$; cat"], { stdin: true });
  await until(process, "\n");
  await client.close();
  // Whether its end was still told or not, nobody waits for ever.
  await process.wait().catch((error: unknown) => assert.ok(error instanceof ConnectionLost));
  assert.ok(isGone(process.pid));
});

test("closing ends what commands left running, also while the connection is lost", async (t) => {
  const cutter = await Cutter.before(t, await serve(t, folder(t), FREE_PORT));
  for (const isLost of [false, true]) {
    const client = await connectTo(t, cutter.url);
    const script = "setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' & read x";
    const process = await client.start(["sh", "-c", script], { stdin: true });
    const left = Number(Buffer.concat((await until(process, "\n")).map(({ data }) => data)));
    await process.endInput();
    assert.deepEqual((await process.wait()).receipt?.leftRunning.map(({ pid }) => pid), [left]);
    assert.ok(!isGone(left));
    if (isLost) cutter.cut();
    await client.close();
    assert.ok(isGone(left), `lost: ${isLost}`);
  }
});

/** Whether a process has ended; one that nobody has collected yet has. */
function isGone(pid: number): boolean {
  try {
    readlinkSync(`/proc/${pid}/exe`);
    return false;
  } catch {
    return true;
  }
}
