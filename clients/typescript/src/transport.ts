// Ways to a server: a child of ours on pipes, or a WebSocket over TCP or a unix socket. A transport carries whole messages;
// it knows nothing of what they mean.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { WebSocket } from "ws";

import { ConnectionLost, ServerError } from "./errors.js";

/** A connection that carries messages, each whole. */
export interface Transport {
  /** Whom to tell of each message, and of the end with what is known about why. Set at once after opening. */
  onMessage: (message: string) => void;
  onEnd: (why: string) => void;
  /** Hands a message over. Waits while the server is slow to take it. */
  send(message: string): Promise<void>;
  /** Ends the connection, and waits until that is done. */
  close(): Promise<void>;
}

/** How much of the server's complaints is kept to be quoted in an error. */
const COMPLAINTS_KEPT = 4096;
/** A server that ends its processes politely needs its grace for that, and a bit. */
const EXIT_PATIENCE_MS = 15_000;
/** A peer that is gone without a word does not answer a ping before the next one. */
const PING_EVERY_MS = 20_000;
const NEWLINE = 0x0a;

/** A server that was started for this connection alone, and that ends with it. */
export class ChildTransport implements Transport {
  onMessage: (message: string) => void = () => {};
  onEnd: (why: string) => void = () => {};
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<void>;
  #unfinished: Buffer[] = [];
  #complaints = "";
  #over = false;
  #draining: Promise<void> | undefined;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on("data", (data: Buffer) => this.#split(data));
    child.stderr.on("data", (data: Buffer) => {
      this.#complaints = (this.#complaints + data.toString()).slice(-COMPLAINTS_KEPT);
    });
    // A server that is gone takes no more input; its end is told by the event below.
    child.stdin.on("error", () => {});
    this.#closed = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#over = true;
        const said = this.#complaints.trim();
        this.onEnd(`the server exited with ${signal ?? code}${said === "" ? "" : `: ${said}`}`);
        resolve();
      });
    });
  }

  /** Starts a server. It gets a process group of its own, so that Ctrl-C reaches it through us alone. */
  static async start(command: readonly string[], env: NodeJS.ProcessEnv | undefined): Promise<ChildTransport> {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { stdio: "pipe", detached: true, env: env ?? process.env });
    const transport = new ChildTransport(child);
    try {
      await once(child, "spawn");
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new ServerError(
        code === "ENOENT"
          ? `there is no program '${program}': install windlass, or say where it is with \`program\``
          : `cannot start '${program}': ${message}`,
      );
    }
    return transport;
  }

  async send(message: string): Promise<void> {
    const { stdin } = this.#child;
    if (this.#over || !stdin.writable) throw new ConnectionLost("the server takes no more messages");
    if (stdin.write(`${message}\n`)) return;
    await (this.#draining ??= this.#drained());
  }

  /** Either it drains, or the server is gone and the end is told. One waits for all who send. */
  async #drained(): Promise<void> {
    const done = new AbortController();
    const drained = once(this.#child.stdin, "drain", { signal: done.signal }).catch(() => {});
    await Promise.race([drained, this.#closed]);
    done.abort();
    this.#draining = undefined;
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    // timer: a server that does not end although its input did would keep us for ever.
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), EXIT_PATIENCE_MS);
    await this.#closed;
    clearTimeout(timer);
  }

  #split(data: Buffer): void {
    let start = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
      this.#unfinished.push(data.subarray(start, end));
      const line = this.#unfinished.length === 1 ? (this.#unfinished[0] as Buffer) : Buffer.concat(this.#unfinished);
      this.#unfinished = [];
      start = end + 1;
      this.onMessage(line.toString());
    }
    if (start < data.length) this.#unfinished.push(data.subarray(start));
  }
}

/** A WebSocket: over TCP, or over a unix socket. */
export class SocketTransport implements Transport {
  onMessage: (message: string) => void = () => {};
  onEnd: (why: string) => void = () => {};
  readonly #socket: WebSocket;
  readonly #closed: Promise<void>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.onMessage(data.toString()));
    let failure = "";
    socket.on("error", (error) => (failure = error.message));
    let answered = true;
    socket.on("pong", () => (answered = true));
    // timer: nothing else tells that the way to the server is broken while nobody sends anything.
    const pinging = setInterval(() => {
      if (!answered) {
        failure = "the server does not answer any more";
        socket.terminate();
      }
      answered = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    }, PING_EVERY_MS).unref();
    this.#closed = new Promise((resolve) => {
      socket.once("close", (code, reason) => {
        clearInterval(pinging);
        this.onEnd(failure || reason.toString() || `the socket was closed with code ${code}`);
        resolve();
      });
    });
  }

  /** Connects to `ws://HOST:PORT`, `wss://HOST` or `unix://PATH`. */
  static async open(url: string, token: string | undefined): Promise<SocketTransport> {
    const address = addressOf(url);
    const { WebSocket } = await loadWs();
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    // What is sent is bounded by the server's own limits; compressing what goes through loopback only costs time.
    const options = { headers, perMessageDeflate: false, maxPayload: 0 };
    try {
      const socket = new WebSocket(address, options);
      const transport = new SocketTransport(socket);
      await once(socket, "open");
      return transport;
    } catch (error) {
      throw new ServerError(`cannot connect to ${url}: ${(error as Error).message}`);
    }
  }

  send(message: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(message, (error) => {
        if (error == null) resolve();
        else reject(new ConnectionLost(`the server takes no more messages: ${error.message}`));
      });
    });
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.#closed;
  }
}

function addressOf(url: string): string {
  if (url.startsWith("unix://")) return `ws+unix://${url.slice("unix://".length)}:/`;
  if (url.startsWith("ws://") || url.startsWith("wss://")) return url;
  throw new ServerError(`'${url}' is no address of a server: use ws://HOST:PORT, wss://HOST or unix://PATH`);
}

/** Loaded only when it is needed: a server on pipes is reached without it. */
async function loadWs(): Promise<typeof import("ws")> {
  try {
    return await import("ws");
  } catch {
    throw new ServerError("connecting to a socket needs the package `ws`: npm install ws");
  }
}
