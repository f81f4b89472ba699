// Servers to test against: the real program, named by `$WINDLASS`, in a state directory of its own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

import { Client, type Chunk, type ConnectOptions, type LaunchOptions, type Process } from "windlass";

const endings = new WeakMap<TestContext, (() => unknown)[]>();

/**
 * Runs this after the test, before what was registered earlier: a server ends before its folder is removed. Node's own hooks run in the
 * order in which they were registered, and a hook that fails keeps the others from running.
 */
export function atEnd(t: TestContext, end: () => unknown): void {
  const known = endings.get(t);
  if (known !== undefined) {
    known.push(end);
    return;
  }
  const ends = [end];
  endings.set(t, ends);
  t.after(async () => {
    const failures: unknown[] = [];
    for (const end of ends.reverse()) {
      try {
        await end();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  });
}

/** A folder that goes away with the test. */
export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "windlass-typescript-"));
  atEnd(t, () => rmSync(path, { recursive: true }));
  return path;
}

export function environment(place: string): NodeJS.ProcessEnv {
  return { ...process.env, WINDLASS_STATE_DIR: join(place, "state"), XDG_CONFIG_HOME: join(place, "config") };
}

/** Writes the settings of the server's user. */
export function configure(place: string, settings: string): void {
  const path = join(place, "config", "windlass");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "config.toml"), settings);
}

/** A client with a server of its own. Both end with the test. */
export async function launch(t: TestContext, options: LaunchOptions = {}): Promise<Client> {
  const client = await Client.launch({ env: environment(folder(t)), ...options });
  atEnd(t, () => client.close());
  return client;
}

export async function connectTo(t: TestContext, url: string, options: ConnectOptions = {}): Promise<Client> {
  const client = await Client.connect(url, { resumeForMs: 60_000, ...options });
  atEnd(t, () => client.close());
  return client;
}

/** A server that listens, by its address. It ends with the test. */
export async function serve(t: TestContext, place: string, listen: string, ...words: string[]): Promise<string> {
  const program = process.env["WINDLASS"] ?? assert.fail("WINDLASS names no program");
  if (listen.startsWith("ws:") && !words.includes("--ws-token-file")) words.push("--insecure-loopback");
  const server = spawn(program, ["app-server", "--listen", listen, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(place),
  });
  const ended = once(server, "close");
  atEnd(t, async () => {
    server.kill("SIGTERM");
    await ended;
  });
  // It may say more than where it is, and it may say it on either stream.
  return new Promise((resolve, reject) => {
    for (const input of [server.stdout, server.stderr]) {
      createInterface(input).on("line", (line) => {
        const found = line.match(/\b(ws|unix):\/\/\S+/)?.[0];
        if (found !== undefined) resolve(found);
      });
    }
    server.once("close", () => reject(new Error("it ended without saying where it is")));
  });
}

/** Passes bytes between a client and a server on TCP, and cuts every connection when told to. */
export class Cutter {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #accepted = 0;
  #awaited: (() => void)[] = [];

  #port = 0;

  private constructor() {
    this.#server = createServer((near) => {
      const far = connect(this.#port, "127.0.0.1");
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
      }
      near.pipe(far);
      far.pipe(near);
      this.#accepted += 1;
      for (const awaited of this.#awaited.splice(0)) awaited();
    });
  }

  static async before(t: TestContext, url: string): Promise<Cutter> {
    const cutter = new Cutter();
    cutter.leadTo(url);
    cutter.#server.listen(0, "127.0.0.1");
    await once(cutter.#server, "listening");
    atEnd(t, () => {
      cutter.#server.close();
      cutter.cut();
    });
    return cutter;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many connections have come through. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Where the next connection leads. */
  leadTo(url: string): void {
    this.#port = Number(new URL(url).port);
  }

  /** Ends all connections, without a word to either side. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  /** Cuts, and waits until the client is back. */
  async cutAndReturn(): Promise<void> {
    const back = new Promise<void>((resolve) => this.#awaited.push(resolve));
    this.cut();
    await back;
  }
}

/** All that it prints until its end. */
export async function everything(process: Process, start?: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of process.output(start)) pieces.push(chunk.data);
  return Buffer.concat(pieces);
}

/** What it prints until this text was printed. */
export async function until(process: Process, text: string): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of process.output()) {
    chunks.push(chunk);
    if (Buffer.concat(chunks.map(({ data }) => data)).includes(text)) return chunks;
  }
  return assert.fail(`it ended without ${text}`);
}

/** What a chunk says, to be compared. */
export function said({ offset, stream, data }: Chunk): [number, string, string] {
  return [offset, stream, data.toString()];
}

/** Whether it is alive; one that is only not yet collected is not. */
export function exists(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}
