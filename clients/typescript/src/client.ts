// A client of one server, and the connection it holds for as long as it is wanted.

import { randomBytes } from "node:crypto";
import { resolve as absolute } from "node:path";
import { setTimeout as pauseFor } from "node:timers/promises";

import { ConnectionLost, RequestError, ServerError, StartError, WindlassError } from "./errors.js";
import { Link } from "./link.js";
import { Process, unless, type Controls, type Exit } from "./process.js";
import type {
  InitializeParams,
  InitializeResult,
  Methods,
  ProcessExited,
  ProcessSpawnParams,
  ServerNotifications,
  SessionExit,
  SessionInfo,
  TerminalSize,
} from "./protocol.js";
import { ChildTransport, SocketTransport, type Transport } from "./transport.js";
import { VERSION } from "./version.js";

/** What is held of a process's output for a reader that is slow to take it. */
const BUFFER_LIMIT = 4 * 1024 * 1024;
/** For how long a lost connection may be resumed, unless said otherwise. */
const RESUME_FOR_MS = 30_000;
/** Between two attempts to come back. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const SPAWN_FAILED = -32603;
/** How long a server may take to end everything, and how long it is tried to tell it that it should. */
const CLOSE_PATIENCE_MS = 15_000;
const REACH_PATIENCE_MS = 2000;

/** How to start a server. */
export interface LaunchOptions {
  /** The program: `$WINDLASS`, else `windlass` from the search path. */
  readonly program?: string;
  /** What comes behind `app-server`. */
  readonly arguments?: readonly string[];
  /** The whole environment of the server, else ours. */
  readonly env?: NodeJS.ProcessEnv;
  /** How many bytes of a process's output are held for a slow reader; 4 MiB. */
  readonly bufferLimit?: number;
}

/** How to connect to a server. */
export interface ConnectOptions {
  /** The token of the server's `--ws-token-file`. */
  readonly token?: string;
  /** How long processes outlive a lost connection, and the client tries to come back; 30 s. `null`: not at all. */
  readonly resumeForMs?: number | null;
  /** What `detach` gave: takes over the processes of another client, for `attach`. */
  readonly resumeToken?: string;
  /** How many bytes of a process's output are held for a slow reader; 4 MiB. */
  readonly bufferLimit?: number;
}

/** How to start a process. */
export interface StartOptions {
  /** Where it runs; our own working directory, if it is left out. */
  readonly cwd?: string;
  /** Laid over the server's environment; `null` removes a variable. */
  readonly env?: { readonly [name: string]: string | null };
  /** Whether its input stays open for `write`. Otherwise there is nothing to read. */
  readonly stdin?: boolean;
  /** Whether it gets a terminal. Its input is open then, too. */
  readonly tty?: boolean;
  /** The terminal's size; 24 rows and 80 columns, if it is left out. */
  readonly size?: TerminalSize;
  /** When it is ended, in milliseconds after its start. */
  readonly timeoutMs?: number;
  /** Gives up the start when this is aborted, and ends what was started. */
  readonly signal?: AbortSignal;
}

/** The server is there, and what we come back for is not. */
class TooLate extends ServerError {}

/** A connection to a server. Make one with `Client.launch` or `Client.connect`, and close it at the end. */
export class Client {
  readonly #open: () => Promise<Transport>;
  readonly #resumeForMs: number | undefined;
  readonly #bufferLimit: number;
  readonly #processes = new Map<string, Controls>();
  /** Handles of processes that nobody waits for, and which may have been started nevertheless. */
  readonly #unwanted = new Set<string>();
  /** Others may have used the connection before us, so numbers alone would not do. */
  readonly #handlePrefix = randomBytes(4).toString("hex");
  #lastHandle = 0;
  #token: string | undefined;
  #server: InitializeResult | undefined;
  /** The connection, or the way to the next one. Rejected once there will be none. */
  #link: Promise<Link>;
  #closing = new AbortController();
  #leaving = false;
  #kept: Promise<void> = Promise.resolve();

  private constructor(open: () => Promise<Transport>, { resumeForMs, resumeToken, bufferLimit }: ConnectOptions) {
    this.#open = open;
    this.#resumeForMs = resumeForMs ?? undefined;
    this.#token = resumeToken;
    this.#bufferLimit = bufferLimit ?? BUFFER_LIMIT;
    this.#link = this.#openLink();
    this.#link.catch(() => {});
  }

  /** Starts a server for this client alone, which ends with it, and with it everything it runs. */
  static async launch(options: LaunchOptions = {}): Promise<Client> {
    const program = options.program ?? (process.env["WINDLASS"] || "windlass");
    const command = [program, "app-server", ...(options.arguments ?? [])];
    const { bufferLimit = BUFFER_LIMIT, env } = options;
    return new Client(() => ChildTransport.start(command, env), { bufferLimit }).#begin();
  }

  /**
   * Connects to a server that runs already: `ws://HOST:PORT`, `wss://HOST` or `unix://PATH`.
   *
   * Should the connection be lost, the server goes on for `resumeForMs`, and the client comes back meanwhile and continues
   * where it was; nothing that was printed is missed.
   */
  static async connect(url: string, options: ConnectOptions = {}): Promise<Client> {
    if (options.resumeToken !== undefined && options.resumeForMs === null) {
      throw new TypeError("resumeToken needs resumeForMs");
    }
    const open = () => SocketTransport.open(url, options.token);
    const { resumeForMs = RESUME_FOR_MS } = options;
    return new Client(open, { ...options, resumeForMs }).#begin();
  }

  /** What the server says of itself. */
  get server(): InitializeResult {
    return this.#server as InitializeResult;
  }

  /** Starts a program with arguments; no shell looks at them. Throws `StartError` if it cannot start. */
  async start(command: readonly string[], options: StartOptions = {}): Promise<Process> {
    const handle = `${this.#handlePrefix}-${++this.#lastHandle}`;
    const controls = Process.controlled(this, { handle, command, limit: this.#bufferLimit, start: 0 });
    // Before the answer is here, since output may come close behind it.
    this.#processes.set(handle, controls);
    try {
      const answer = this.request("process/spawn", spawnParams(handle, command, options));
      controls.started(await (options.signal === undefined ? answer : unless(options.signal, answer)));
    } catch (error) {
      this.#processes.delete(handle);
      if (!(error instanceof RequestError)) this.#abandon(handle);
      else if (error.code === SPAWN_FAILED) {
        throw new StartError(error.method, error.code, error.reason, command[0] ?? "");
      }
      throw error;
    }
    return controls.process;
  }

  /**
   * A process that was taken over with `resumeToken`, by the number of its session. Its output is read from the offset
   * `start` on, which is the `cursor` where the other client stopped.
   */
  async attach(sessionId: number, start = 0): Promise<Process> {
    const info = (await this.list()).find((session) => session.sessionId === sessionId);
    if (info === undefined) {
      throw new WindlassError(`there is no session ${sessionId} on this connection; \`list\` names those there are`);
    }
    const handle = info.processHandle ?? `session ${sessionId}`;
    if (this.#processes.has(handle)) {
      throw new WindlassError(`session ${sessionId} has its process in this client already`);
    }
    const controls = Process.controlled(this, { handle, command: info.command, limit: this.#bufferLimit, start });
    controls.started(info);
    this.#processes.set(handle, controls);
    try {
      await this.request("session/subscribe", { sessionId, from: start }, "again");
    } catch (error) {
      this.#processes.delete(handle);
      throw error;
    }
    return controls.process;
  }

  /** What this connection runs, and the latest that have ended. */
  async list(): Promise<SessionInfo[]> {
    return (await this.request("session/list", {}, "again")).sessions;
  }

  /**
   * Any request of the protocol, with its result.
   *
   * While the connection is lost and may come back, it waits for that. If it is lost before the answer came, the request is
   * made `again` or fails with `ConnectionLost`.
   */
  async request<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    whenLost: "fail" | "again" = "fail",
  ): Promise<Methods[M]["result"]> {
    for (;;) {
      const link = await this.#link;
      try {
        return await link.ask(method, params);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        // Whatever is asked next waits for the next connection, if there is one to come.
        await link.ended;
        if (whenLost === "fail" || this.#closing.signal.aborted) throw error;
      }
    }
  }

  /** Ends every process that was started through it, with everything those started, and the connection. May be called twice. */
  async close(): Promise<void> {
    if (!this.#leaving) {
      this.#leaving = true;
      await this.#endProcesses();
      this.#closing.abort();
      await (await this.#link.catch(() => undefined))?.close();
    }
    await this.#kept;
  }

  /**
   * Ends the connection and leaves the processes running, for `resumeForMs`. Gives the token with which another client takes
   * them over meanwhile. Whoever has it has the processes.
   */
  async detach(): Promise<string> {
    const token = this.#token;
    if (token === undefined || this.#closing.signal.aborted) {
      throw new WindlassError("only an open connection that can be resumed can be left to another client");
    }
    this.#closing.abort();
    await (await this.#link.catch(() => undefined))?.close();
    await this.#kept;
    return token;
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(): Promise<Client> {
    await this.#link;
    this.#kept = this.#keep();
    return this;
  }

  /** Connects and shakes hands. */
  async #openLink(): Promise<Link> {
    const link = new Link(await this.#open(), (method, params) => this.#hear(method as keyof ServerNotifications, params));
    try {
      this.#server = await this.#shakeHands(link);
    } catch (error) {
      await link.close();
      if (error instanceof ConnectionLost) throw new ServerError(`the server did not greet us: ${await link.ended}`);
      if (error instanceof RequestError) throw new ServerError(`the server did not greet us: ${error.message}`);
      if (error instanceof TypeError) throw new ServerError("the server did not greet us: it gave an answer of another kind");
      throw error;
    }
    return link;
  }

  async #shakeHands(link: Link): Promise<InitializeResult> {
    const capabilities: InitializeParams["capabilities"] = { experimentalApi: true };
    if (this.#resumeForMs !== undefined) {
      capabilities.resume = { graceMs: this.#resumeForMs, token: this.#token ?? null };
    }
    const clientInfo = { name: "windlass-typescript", version: VERSION };
    const answer = await link.ask("initialize", { clientInfo, capabilities });
    await link.tell("initialized");
    if (this.#token !== undefined && answer.resume?.resumed !== true) {
      throw new TooLate("the server has ended the processes of the connection that was lost");
    }
    this.#token = answer.resume?.token;
    return answer;
  }

  /** Comes back whenever the connection is lost, until the client is closed or it is too late. */
  async #keep(): Promise<void> {
    for (;;) {
      const why = await (await this.#link).ended;
      const error = new ConnectionLost(`the connection ended: ${why}`);
      if (this.#closing.signal.aborted || this.#token === undefined) return this.#giveUp(error);
      this.#link = this.#comeBack();
      this.#link.catch(() => {});
      try {
        await this.#catchUp(await this.#link);
      } catch (reason) {
        if (reason instanceof ConnectionLost) continue;
        return this.#giveUp(new ConnectionLost(`${error.message}, and could not be resumed: ${(reason as Error).message}`));
      }
    }
  }

  async #comeBack(): Promise<Link> {
    const deadline = performance.now() + (this.#resumeForMs ?? 0);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await this.#openLink();
      } catch (error) {
        const late = error instanceof TooLate || performance.now() + pause > deadline;
        if (!(error instanceof ServerError) || late || this.#closing.signal.aborted) throw error;
      }
      // timer: the server cannot be reached now, and nothing tells when it can.
      await pauseFor(pause, undefined, { signal: this.#closing.signal });
    }
  }

  /** Follows every process from where the lost connection left it, and ends those that nobody wants. */
  async #catchUp(link: Link): Promise<void> {
    for (const { process, received } of this.#processes.values()) {
      // One whose start is under way is followed by that.
      if (process.sessionId > 0) await link.ask("session/subscribe", { sessionId: process.sessionId, from: received() });
    }
    for (const handle of this.#unwanted) {
      this.#unwanted.delete(handle);
      link.ask("process/kill", { processHandle: handle }).catch(() => {});
    }
  }

  #giveUp(error: ConnectionLost): void {
    this.#link = Promise.reject(error);
    this.#link.catch(() => {});
    for (const { failed } of this.#processes.values()) failed(error);
    this.#processes.clear();
  }

  /**
   * A server that would wait for us to come back is told that we will not. One that cannot be reached is given a moment; what is
   * left then ends when `resumeForMs` is over.
   */
  async #endProcesses(): Promise<void> {
    if (this.#token === undefined) return;
    for (;;) {
      // timer: nothing tells when a server can be reached that cannot be now.
      const link = await within(REACH_PATIENCE_MS, this.#link);
      if (link === undefined) return;
      let lost = false;
      const asked = link.ask("session/endAll", {}).catch((error: unknown) => {
        lost = error instanceof ConnectionLost;
      });
      // timer: one that does not listen any more would keep us for ever.
      await within(CLOSE_PATIENCE_MS, asked);
      if (!lost) return;
      await link.ended;
    }
  }

  /** Ends a process whose start was asked for and whose answer nobody waits for. */
  #abandon(handle: string): void {
    const kill = async () => {
      // The server does in order what it is told, so this comes after the start.
      await this.request("process/kill", { processHandle: handle });
    };
    kill().catch((error: unknown) => {
      if (error instanceof ConnectionLost) this.#unwanted.add(handle);
    });
  }

  #hear(method: keyof ServerNotifications, params: unknown): void {
    switch (method) {
      case "process/outputDelta": {
        const delta = params as ServerNotifications[typeof method];
        this.#processes.get(delta.processHandle)?.printed({ ...delta, offset: delta.offset ?? 0 });
        break;
      }
      case "process/exited": {
        const told = params as ServerNotifications[typeof method];
        this.#ended(this.#processes.get(told.processHandle), told.processHandle, exitOf(told));
        break;
      }
      case "session/output": {
        const told = params as ServerNotifications[typeof method];
        this.#bySession(told.sessionId)?.[1].printed(told);
        break;
      }
      case "session/dropped": {
        const told = params as ServerNotifications[typeof method];
        this.#bySession(told.sessionId)?.[1].missed(told.to);
        break;
      }
      case "session/exited": {
        const told = params as ServerNotifications[typeof method];
        const [handle, controls] = this.#bySession(told.sessionId) ?? [];
        if (handle !== undefined) this.#ended(controls, handle, exitOf(told.exit));
        break;
      }
      default:
        break;
    }
  }

  #ended(controls: Controls | undefined, handle: string, exit: Exit): void {
    this.#processes.delete(handle);
    controls?.exited(exit);
  }

  #bySession(sessionId: number): [string, Controls] | undefined {
    return [...this.#processes].find(([, { process }]) => process.sessionId === sessionId);
  }
}

function spawnParams(processHandle: string, command: readonly string[], options: StartOptions): ProcessSpawnParams {
  const tty = options.tty ?? false;
  return {
    command: [...command],
    processHandle,
    cwd: absolute(options.cwd ?? "."),
    tty,
    streamStdin: tty || (options.stdin ?? false),
    streamStdoutStderr: true,
    outputBytesCap: null,
    timeoutMs: options.timeoutMs ?? null,
    env: options.env ?? null,
    size: options.size ?? null,
  };
}

function exitOf(told: SessionExit | ProcessExited): Exit {
  return {
    code: told.exitCode,
    signal: told.signal ?? undefined,
    timedOut: told.timedOut ?? false,
    receipt: told.receipt ?? undefined,
  };
}

/** What a promise gives, if it gives anything in time. */
async function within<T>(milliseconds: number, promised: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const late = pauseFor(milliseconds, undefined, { signal: done.signal }).catch(() => undefined);
  try {
    return await Promise.race([promised.catch(() => undefined), late]);
  } finally {
    done.abort();
  }
}
