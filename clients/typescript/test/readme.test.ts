// The README's examples, run as they stand there.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { environment, folder, serve } from "./support.ts";

const PACKAGE = resolve(import.meta.dirname, "..");
const EXAMPLE = /```ts\n(.*?)```\n(?:\n[^\n]+\n)?\n```text\n(.*?)```/gs;

test("the examples print what they say", async (t) => {
  const readme = readFileSync(`${PACKAGE}/README.md`, "utf8");
  const examples = [...readme.matchAll(EXAMPLE)];
  assert.equal(examples.length, readme.split("```ts\n").length - 1, "an example without its output");
  const place = folder(t);
  await serve(t, place, `unix://${place}/windlass.sock`);
  const windlass = dirname(resolve(process.env["WINDLASS"] ?? assert.fail("WINDLASS names no program")));
  const env = { ...environment(place), PATH: `${windlass}:${process.env["PATH"]}`, XDG_RUNTIME_DIR: place };
  for (const [index, [, example = "", expected]] of examples.entries()) {
    // Inside the package, so that its own name is found.
    const file = `${PACKAGE}/test/readme-${index}.generated.mts`;
    writeFileSync(file, example);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    assert.equal(stdout, expected);
  }
});
