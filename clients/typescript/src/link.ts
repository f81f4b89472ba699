// Requests and answers over one transport, for as long as that lasts.

import { ConnectionLost, RequestError } from "./errors.js";
import type { Methods } from "./protocol.js";
import type { Transport } from "./transport.js";

/** Takes a notification: its method and its params. */
export type Hear = (method: string, params: unknown) => void;

interface Waiting {
  readonly method: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One connection. When it ends, whatever was not answered fails with `ConnectionLost`. */
export class Link {
  /** Settled once the connection has ended, with what is known about why. */
  readonly ended: Promise<string>;
  readonly #transport: Transport;
  readonly #hear: Hear;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #why: string | undefined;

  constructor(transport: Transport, hear: Hear) {
    this.#transport = transport;
    this.#hear = hear;
    transport.onMessage = (message) => this.#take(message);
    this.ended = new Promise((resolve) => {
      transport.onEnd = (why) => {
        this.#end(why);
        resolve(why);
      };
    });
  }

  /** Sends a request and waits for its answer. */
  async ask<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    const id = ++this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { method, resolve, reject }));
    // It may fail while the message is still being handed over, when nobody looks yet.
    answer.catch(() => {});
    try {
      await this.#send({ id, method, params });
    } catch (error) {
      this.#waiting.delete(id);
      throw error;
    }
    return (await answer) as Methods[M]["result"];
  }

  /** Sends a notification. */
  async tell(method: string): Promise<void> {
    await this.#send({ method });
  }

  /** Ends the connection, and waits until that is done. */
  async close(): Promise<void> {
    await this.#transport.close();
    await this.ended;
  }

  async #send(message: object): Promise<void> {
    if (this.#why !== undefined) throw new ConnectionLost(`the connection has ended: ${this.#why}`);
    await this.#transport.send(JSON.stringify(message));
  }

  #end(why: string): void {
    this.#why = why;
    for (const { method, reject } of this.#waiting.values()) {
      reject(new ConnectionLost(`${method}: the connection ended before the answer came: ${why}`));
    }
    this.#waiting.clear();
  }

  #take(message: string): void {
    const read = parse(message);
    if (read === undefined) return;
    if (typeof read.method === "string") {
      try {
        this.#hear(read.method, read.params);
      } catch {
        // Not of the shape that is promised, and no reason to leave everything else unread.
      }
      return;
    }
    const id = read.id;
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) return;
    this.#waiting.delete(id as number);
    if (read.error === undefined || read.error === null) waiting.resolve(read.result);
    else waiting.reject(refusal(waiting.method, read.error));
  }
}

/** As it was sent: by whom, nobody knows yet. */
interface Read {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Whatever is said instead of a result, as far as it has the shape of an error. */
function refusal(method: string, error: unknown): RequestError {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const reason = typeof message === "string" ? message : JSON.stringify(error);
  return new RequestError(method, typeof code === "number" ? code : 0, reason);
}

/** Nothing for what is no message: the protocol has no place for complaints. */
function parse(message: string): Read | undefined {
  try {
    const read: unknown = JSON.parse(message);
    return typeof read === "object" && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}
