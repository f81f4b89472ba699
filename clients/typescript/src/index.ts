// Run processes through Windlass: start, stream, write, resize, wait, stop, read again by address, and reconnect.

export { Client, type ConnectOptions, type LaunchOptions, type StartOptions } from "./client.js";
export { ConnectionLost, OutputLost, RequestError, ServerError, StartError, WindlassError } from "./errors.js";
export { endOf, type Chunk } from "./output.js";
export { Process, type Exit, type WaitOptions } from "./process.js";
export type * as protocol from "./protocol.js";
export { VERSION } from "./version.js";
