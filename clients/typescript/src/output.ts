// What a process printed, on its way to whoever reads it.
//
// The connection is shared by all processes, so it is never left unread: that would stall every one of them for the sake
// of one slow reader. Instead, what a reader has not taken is held up to a limit, and beyond it not at all. It is not lost:
// the server keeps it, and the reader fetches it, piece by piece and at its own pace, before it goes on with what is live.

import { OutputLost } from "./errors.js";
import type { OutputStream } from "./protocol.js";

/** Some bytes that a process printed one after the other. */
export interface Chunk {
  /** The address of the first byte among all that the process printed. It never changes. */
  readonly offset: number;
  /** Where they were printed. A terminal's output is `stdout`. */
  readonly stream: OutputStream;
  /** The bytes. A character may be cut in two at either end. */
  readonly data: Buffer;
}

/**
 * Asks the server for the bytes from one offset to another. It gives a piece of them, the first that are still kept; nothing
 * if none is.
 */
export type Fetch = (start: number, end: number) => Promise<Chunk[]>;

/** What a chunk costs beside its bytes, so that a flood of tiny ones is bounded too. */
const CHUNK_COST = 128;

/** What one process printed and its reader has not taken. */
export class Output {
  readonly #limit: number;
  readonly #fetch: Fetch;
  #held: Chunk[] = [];
  /** How many of them were released: taking each out of the array at once would move all that follow. */
  #released = 0;
  #heldBytes = 0;
  #cursor: number;
  #received: number;
  /** Whether there is something between what is held and what was received. */
  #behind = false;
  #over = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  #reading = false;

  constructor(limit: number, fetch: Fetch, start: number) {
    this.#limit = limit;
    this.#fetch = fetch;
    this.#cursor = start;
    this.#received = start;
  }

  /** The offset of the first byte that the reader has not taken. */
  get cursor(): number {
    return this.#cursor;
  }

  /** The offset behind the last byte that the server has told of. */
  get received(): number {
    return this.#received;
  }

  /** Takes what the server tells. What was told before, or comes before what the reader wants, is ignored. */
  take(chunk: Chunk): void {
    const wanted = Math.max(this.#received, this.#cursor);
    const known = wanted - chunk.offset;
    if (known >= chunk.data.length) {
      this.#received = Math.max(this.#received, endOf(chunk));
      return;
    }
    if (known > 0) chunk = { ...chunk, offset: wanted, data: chunk.data.subarray(known) };
    const hole = chunk.offset > wanted;
    this.#received = endOf(chunk);
    const full = this.#heldBytes > 0 && this.#heldBytes + costOf(chunk) > this.#limit;
    if (this.#behind || full || hole) this.#behind = true;
    else this.#hold(chunk);
    this.#wake?.();
  }

  /** Takes it that there is output up to an offset which will not be told. Whoever reads fetches it. */
  skip(end: number): void {
    if (end <= this.#received) return;
    this.#received = end;
    this.#behind ||= this.#cursor < end;
    this.#wake?.();
  }

  /** Nothing comes any more. */
  finish(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    this.#wake?.();
  }

  /** Goes on reading elsewhere. */
  goTo(offset: number): void {
    if (offset === this.#cursor) return;
    this.#held = [];
    this.#released = 0;
    this.#heldBytes = 0;
    this.#cursor = offset;
    this.#behind = offset < this.#received;
    this.#wake?.();
  }

  /** What comes next, or `undefined` at the end. */
  async next(): Promise<Chunk | undefined> {
    if (this.#reading) {
      throw new Error("the output of a process has one reader; another one is waiting for it already");
    }
    this.#reading = true;
    try {
      return await this.#next();
    } finally {
      this.#reading = false;
    }
  }

  async #next(): Promise<Chunk | undefined> {
    for (;;) {
      const held = this.#held[this.#released];
      if (held !== undefined) return this.#release(held);
      if (this.#behind) {
        await this.#catchUp();
      } else if (this.#over) {
        if (this.#error !== undefined) throw this.#error;
        return undefined;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }

  async #catchUp(): Promise<void> {
    const [start, end] = [this.#cursor, this.#received];
    const chunks = (await this.#fetch(start, end)).filter((chunk) => endOf(chunk) > start);
    if (start !== this.#cursor) return; // The reader was sent elsewhere meanwhile.
    const first = chunks.at(0);
    if (first === undefined || first.offset > start) throw new OutputLost(start, first?.offset ?? end);
    let next = start;
    for (const chunk of chunks) {
      if (chunk.offset > next) break; // There is a hole: the reader is told of it when it comes there.
      this.#hold(chunk);
      next = endOf(chunk);
    }
    this.#behind = next < this.#received;
  }

  #hold(chunk: Chunk): void {
    this.#held.push(chunk);
    this.#heldBytes += costOf(chunk);
  }

  #release(chunk: Chunk): Chunk {
    this.#released += 1;
    if (this.#released === this.#held.length) {
      this.#held = [];
      this.#released = 0;
    }
    this.#heldBytes -= costOf(chunk);
    this.#cursor = endOf(chunk);
    return chunk;
  }
}

function costOf(chunk: Chunk): number {
  return chunk.data.length + CHUNK_COST;
}

/** The address of the byte behind the last one: where to go on reading. */
export function endOf(chunk: Chunk): number {
  return chunk.offset + chunk.data.length;
}
