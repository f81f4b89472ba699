// The way of output from a connection to its reader, without a server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { OutputLost, type Chunk } from "windlass";

// Not exported: nobody else has to know how output is held.
const { Output } = (await import(new URL("../dist/output.js", import.meta.url).href)) as typeof import("../src/output.js");

const PRINTED = Buffer.from(Array.from({ length: 100 }, (_, index) => index));
/** With what a chunk costs beside its bytes, one that holds so many of them, however long they are here. */
const holding = (chunks: number) => chunks * (128 + 40);

function stage(chunks: number) {
  const fetched: [number, number][] = [];
  const kept = { from: 0 };
  const fetch = async (asked: number, end: number): Promise<Chunk[]> => {
    fetched.push([asked, end]);
    const start = Math.max(asked, kept.from);
    return start < end ? [chunk(start, end)] : [];
  };
  const output = new Output(holding(chunks), fetch, 0);
  const print = (...ends: number[]) => ends.forEach((end) => output.take(chunk(output.received, end)));
  const rest = async () => {
    const pieces: Buffer[] = [];
    for (let piece = await output.next(); piece !== undefined; piece = await output.next()) pieces.push(piece.data);
    return Buffer.concat(pieces);
  };
  return { output, fetched, kept, print, rest };
}

function chunk(start: number, end: number): Chunk {
  return { offset: start, stream: "stdout", data: PRINTED.subarray(start, end) };
}

test("within the limit nothing is fetched", async () => {
  const { output, fetched, print, rest } = stage(3);
  print(10, 50, 90);
  output.finish();
  assert.deepEqual([await rest(), fetched], [PRINTED.subarray(0, 90), []]);
});

test("beyond the limit the rest is fetched once it is wanted", async () => {
  const { output, fetched, print, rest } = stage(1);
  print(15, 40, 60);
  assert.deepEqual([fetched, await output.next()], [[], chunk(0, 15)]);
  assert.deepEqual([await output.next(), fetched], [chunk(15, 60), [[15, 60]]]);
  // It has caught up: from here on it is live again.
  print(70);
  output.finish();
  assert.deepEqual([await rest(), fetched.length], [PRINTED.subarray(60, 70), 1]);
});

// A server keeps the beginning and the end: what it gives may have a hole inside.
test("a hole in the middle of what is fetched is an error too", async () => {
  const kept: [number, number][] = [[0, 30], [70, 100]];
  const fetch = async (start: number, end: number): Promise<Chunk[]> =>
    kept
      .map(([first, last]): [number, number] => [Math.max(first, start), Math.min(last, end)])
      .filter(([first, last]) => first < last)
      .map(([first, last]) => chunk(first, last));
  const output = new Output(holding(1), fetch, 0);
  output.skip(100);
  output.finish();
  assert.deepEqual(await output.next(), chunk(0, 30));
  await assert.rejects(output.next(), (lost) => lost instanceof OutputLost && lost.start === 30 && lost.end === 70);
  output.goTo(70);
  assert.deepEqual(await output.next(), chunk(70, 100));
  assert.equal(await output.next(), undefined);
});

test("who goes ahead of what was told gets nothing before that", async () => {
  const { output, fetched, print, rest } = stage(3);
  print(10);
  output.goTo(25);
  print(20, 40);
  output.finish();
  assert.deepEqual([await rest(), fetched], [PRINTED.subarray(25, 40), []]);
});

test("what comes again is taken once", async () => {
  const { output, print, rest } = stage(3);
  print(30);
  output.take(chunk(10, 40));
  output.take(chunk(0, 20));
  output.finish();
  assert.deepEqual(await rest(), PRINTED.subarray(0, 40));
});

test("what was never told is fetched", async () => {
  const { output, print, rest } = stage(3);
  print(10);
  output.take(chunk(30, 40));
  output.skip(50);
  output.finish();
  assert.deepEqual(await rest(), PRINTED.subarray(0, 50));
});

test("what is gone is an error, and reading goes on behind it", async () => {
  const { output, kept, print, rest } = stage(1);
  print(10, 100);
  output.finish();
  kept.from = 40;
  assert.deepEqual(await output.next(), chunk(0, 10));
  await assert.rejects(output.next(), (error) => error instanceof OutputLost && error.start === 10 && error.end === 40);
  output.goTo(40);
  assert.deepEqual(await rest(), PRINTED.subarray(40));
});

test("there is one reader at a time", async () => {
  const { output } = stage(3);
  const waiting = output.next();
  await assert.rejects(output.next(), /one reader/);
  output.finish();
  assert.equal(await waiting, undefined);
});
