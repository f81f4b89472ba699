// Everything that can go wrong, each with the facts as properties. A command that fails is not among it: that is an
// `Exit` with its code.

/** What all errors of this package have in common. */
export class WindlassError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The server refused a request. */
export class RequestError extends WindlassError {
  /** What was asked for. */
  readonly method: string;
  /** What kind of failure it is, as in JSON-RPC. */
  readonly code: number;
  /** What is wrong, in the server's words. */
  readonly reason: string;

  constructor(method: string, code: number, reason: string) {
    super(`${method}: ${reason} (code ${code})`);
    this.method = method;
    this.code = code;
    this.reason = reason;
  }
}

/** The command could not be started: there is no such program or directory, or it may not be executed. */
export class StartError extends RequestError {
  /** The program that was to be started. */
  readonly program: string;

  constructor(method: string, code: number, reason: string, program: string) {
    super(method, code, reason);
    this.message = `cannot start ${program}: ${reason} (${method}, code ${code}); check its name, its permissions and \`cwd\``;
    this.program = program;
  }
}

/** The server could not be started or reached, or it did not speak the protocol. */
export class ServerError extends WindlassError {}

/** The connection ended, and with it what was asked for. Whether that was still carried out is unknown. */
export class ConnectionLost extends WindlassError {}

/**
 * Output is kept no longer: the reader was so late that the server had dropped it. Reading can go on behind the hole:
 * `process.output(error.end)`.
 */
export class OutputLost extends WindlassError {
  /** The offset of the first byte that is gone. */
  readonly start: number;
  /** The offset of the first byte behind the hole. */
  readonly end: number;

  constructor(start: number, end: number) {
    super(`the bytes from ${start} to ${end} are kept no longer; reading can go on at ${end}`);
    this.start = start;
    this.end = end;
  }
}
