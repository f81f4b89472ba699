// A process on the server, as its client sees it.

import type { Client } from "./client.js";
import { ConnectionLost, OutputLost, RequestError, WindlassError } from "./errors.js";
import { Output, type Chunk } from "./output.js";
import type {
  OutputChunk,
  OutputLine,
  ProcessSpawnResult,
  Receipt,
  SessionReadParams,
  SessionReadResult,
  SessionWaitResult,
  TerminalSize,
  WaitUntil,
} from "./protocol.js";

/** How much input is sent at once. The server answers when its queue for the process has taken it. */
const WRITTEN_AT_ONCE = 256 * 1024;
/** How much output is asked for at once by a reader that has to catch up. */
const FETCHED_AT_ONCE = 256 * 1024;
/** The most that the server gives in one answer. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** How a process ended. A code other than 0 is no error of ours. */
export interface Exit {
  /** What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known. */
  readonly code: number;
  /** The number of the signal that ended it. */
  readonly signal: number | undefined;
  /** Whether it was ended because its time was up. */
  readonly timedOut: boolean;
  /** The whole account: times, memory, bytes, and what became of everything it had started. */
  readonly receipt: Receipt | undefined;
}

/** How to wait. */
export interface WaitOptions {
  /** Gives up after so many milliseconds. */
  readonly timeoutMs?: number;
  /** Gives up when this is aborted. */
  readonly signal?: AbortSignal;
}

/** Where a process comes from. */
export interface Origin {
  readonly handle: string;
  readonly command: readonly string[];
  /** How many bytes of its output are held. */
  readonly limit: number;
  /** The offset from which on its output is read. */
  readonly start: number;
}

/** What a client knows of a process, and nobody else. */
export interface Controls {
  readonly process: Process;
  started(answer: ProcessSpawnResult): void;
  printed(chunk: OutputChunk | Omit<OutputChunk, "atUs">): void;
  missed(end: number): void;
  received(): number;
  exited(exit: Exit): void;
  failed(error: Error): void;
}

/** A process that was started with `Client.start`. With `await using` it is stopped at the end of the block. */
export class Process {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly #client: Client;
  readonly #handle: string;
  readonly #output: Output;
  readonly #ended: Promise<Exit>;
  #settle!: { resolve: (exit: Exit) => void; reject: (error: Error) => void };
  #exit: Exit | undefined;
  #over = false;
  #session = 0;
  #pid = 0;

  private constructor(client: Client, { handle, command, limit, start }: Origin) {
    this.command = command;
    this.#client = client;
    this.#handle = handle;
    this.#output = new Output(limit, (start, end) => this.#fetch(start, end), start);
    this.#ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // Nobody has to wait for the end; a failure that nobody heard of is not to be complained about.
    this.#ended.catch(() => {});
  }

  /** @internal For the client alone. */
  static controlled(client: Client, origin: Origin): Controls {
    const process = new Process(client, origin);
    return {
      process,
      started: ({ sessionId, pid }) => {
        process.#session = sessionId;
        process.#pid = pid;
      },
      printed: (chunk) => process.#output.take(chunkOf(chunk)),
      missed: (end) => process.#output.skip(end),
      received: () => process.#output.received,
      exited: (exit) => process.#exited(exit),
      failed: (error) => process.#failed(error),
    };
  }

  /** The number of its session: everything it printed is found under it, also after its end. */
  get sessionId(): number {
    return this.#session;
  }

  /** What the operating system of the server calls it. */
  get pid(): number {
    return this.#pid;
  }

  /** How it ended, or nothing while it runs. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** The offset of the first byte of its output that `output` has not given. */
  get cursor(): number {
    return this.#output.cursor;
  }

  /**
   * What it prints, from where the last reading stopped, or from the offset `start`, until it has ended.
   *
   * There is one reader at a time. A slow one delays nobody and loses nothing that the server still keeps: what it has not
   * taken is held up to the client's `bufferLimit`, and fetched from the server beyond that. Breaking off and going on
   * later is fine. Throws `OutputLost` where the server had to drop something meanwhile.
   */
  async *output(start?: number): AsyncGenerator<Chunk, void, undefined> {
    if (start !== undefined) this.#output.goTo(start);
    for (let chunk = await this.#output.next(); chunk !== undefined; chunk = await this.#output.next()) yield chunk;
  }

  /**
   * Types or pipes this into it; text is encoded as UTF-8. Done once the server has taken all of it for the process, and
   * waits while the process does not read.
   */
  async write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.length);
    for (let start = 0; start < bytes.length; start += WRITTEN_AT_ONCE) {
      const deltaBase64 = bytes.subarray(start, start + WRITTEN_AT_ONCE).toString("base64");
      await this.#client.request("process/writeStdin", { processHandle: this.#handle, deltaBase64 });
    }
  }

  /**
   * Says that no more input comes, for good. On a terminal in line mode this types the end-of-file character. To end the input of
   * one program in a shell, and go on with the next, write that character yourself: `write("\x04")`.
   */
  async endInput(): Promise<void> {
    await this.#client.request("process/writeStdin", { processHandle: this.#handle, closeStdin: true });
  }

  /** Gives its terminal another size. */
  async resize(size: TerminalSize): Promise<void> {
    await this.#client.request("process/resizePty", { processHandle: this.#handle, size });
  }

  /** Sends a signal to its process group, by name: `INT`, `SIGTERM`, `USR1`. */
  async signal(name: string): Promise<void> {
    await this.#client.request("session/signal", { sessionId: this.#session, signal: name });
  }

  /** Ends it and everything it started, by TERM and, after a grace, KILL. One that has ended stays as it is. */
  async stop(): Promise<Exit> {
    try {
      if (!this.#over) await this.#client.request("process/kill", { processHandle: this.#handle });
    } catch (error) {
      // It has ended meanwhile, and the server knows its handle no more; then the end has been told before.
      if (!(error instanceof RequestError && this.#over)) throw error;
    }
    return this.wait();
  }

  /** Waits until it has ended. */
  async wait(options: WaitOptions = {}): Promise<Exit> {
    const signals: AbortSignal[] = [];
    if (options.signal !== undefined) signals.push(options.signal);
    if (options.timeoutMs !== undefined) signals.push(AbortSignal.timeout(options.timeoutMs));
    return signals.length === 0 ? this.#ended : unless(AbortSignal.any(signals), this.#ended);
  }

  /** Waits for the first of these, or for its end; `met` says which one it was. */
  async waitFor(until: WaitUntil, options: { readonly timeoutMs?: number } = {}): Promise<SessionWaitResult> {
    const params = { sessionId: this.#session, until, timeoutMs: options.timeoutMs ?? null };
    return this.#client.request("session/wait", params, "again");
  }

  /**
   * What it printed between two offsets, or so far: all streams in the order in which they were read. Throws `OutputLost` if
   * the server has dropped some of it.
   */
  async read(start = 0, end?: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (;;) {
      const answer = await this.#read({ span: { from: start, to: end ?? null } });
      for (const { from, to } of answer.dropped ?? []) throw new OutputLost(from, to);
      pieces.push(...(answer.chunks ?? []).map((chunk) => Buffer.from(chunk.deltaBase64, "base64")));
      start = answer.next ?? start;
      if (!answer.truncated) return Buffer.concat(pieces);
    }
  }

  /**
   * Lines by number, from 1 on, as a terminal would finally show them; of what the server still keeps. One of more than 16 MiB
   * has only its beginning as `text`, and says so: `cut`.
   */
  async lines(first = 1, last?: number): Promise<OutputLine[]> {
    const all: OutputLine[] = [];
    do {
      if (!(await this.#more({ lines: { first, last: last ?? null } }, all))) break;
      first = (all.at(-1)?.number ?? 0) + 1;
    } while (last === undefined || first <= last);
    return all;
  }

  /** Lines that match a regular expression, with so many lines around each; of what the server still keeps. */
  async grep(pattern: string, options: { readonly context?: number } = {}): Promise<OutputLine[]> {
    const all: OutputLine[] = [];
    const grep = { pattern, context: options.context ?? 0, first: 1 };
    while (await this.#more({ grep }, all)) grep.first = (all.at(-1)?.number ?? 0) + 1;
    return all;
  }

  /** Stops it, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop();
    } catch (error) {
      // Without a connection the server ends it, and there is nobody to ask.
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }

  /** Adds lines, and says whether there are more. */
  async #more(choice: SessionReadParams, all: OutputLine[]): Promise<boolean> {
    const { lines = [], truncated } = await this.#read({ ...choice, maxBytes: LARGEST_ANSWER });
    for (const line of lines) all.push(line);
    return truncated && lines.length > 0;
  }

  #read(choice: SessionReadParams): Promise<SessionReadResult> {
    return this.#client.request("session/read", { sessionId: this.#session, ...choice }, "again");
  }

  async #fetch(from: number, to: number): Promise<Chunk[]> {
    return ((await this.#read({ span: { from, to }, maxBytes: FETCHED_AT_ONCE })).chunks ?? []).map(chunkOf);
  }

  #exited(exit: Exit): void {
    // What was printed while no connection was there may not have been told.
    if (exit.receipt !== undefined) this.#output.skip(printedInAll(exit.receipt));
    this.#over = true;
    this.#exit ??= exit;
    this.#settle.resolve(exit);
    this.#output.finish();
  }

  #failed(error: Error): void {
    this.#over = true;
    this.#settle.reject(error);
    this.#output.finish(error);
  }
}

/** Whatever comes of it, unless the signal is aborted before. */
export async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  // Nobody looks at what comes of it once the signal was first.
  promise.catch(() => {});
  const gone = () => signal.reason ?? new WindlassError("aborted");
  if (signal.aborted) throw gone();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(gone())));
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function printedInAll(receipt: Receipt): number {
  return receipt.stdoutBytes + receipt.stderrBytes + receipt.terminalBytes;
}

function chunkOf({ offset = 0, stream, deltaBase64 }: Pick<OutputChunk, "stream" | "deltaBase64"> & { offset?: number }): Chunk {
  return { offset, stream, data: Buffer.from(deltaBase64, "base64") };
}
