// npm's @modelcontextprotocol/sdk as a client, found in the folder MODULES. It prints what it saw as JSON.
//
//   sdk.mjs stdio COMMAND ARGUMENT...      starts the server
//   sdk.mjs http ADDRESS TOKEN             talks to one that runs

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.MODULES, "from-here.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`).replace("/cjs/", "/esm/")));

const { Client } = await load("client/index.js");

const client = new Client({ name: "windlass-tests", version: "1" });
await client.connect(await transport(process.argv.slice(2)));
console.log(JSON.stringify(await seen()));
await client.close();

async function transport([kind, ...rest]) {
  if (kind === "http") {
    const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
    const [address, token] = rest;
    return new StreamableHTTPClientTransport(new URL(address), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    });
  }
  const { StdioClientTransport } = await load("client/stdio.js");
  const [command, ...args] = rest;
  return new StdioClientTransport({ command, args, env: process.env });
}

async function seen() {
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    hello: await call("exec_command", { cmd: "echo hello" }),
    started: await call("exec_command", { cmd: "cat", tty: true, name: "typist" }),
    typed: await call("write_stdin", { session_id: "typist", chars: "is anybody there?\n" }),
    unknown: await call("write_stdin", { session_id: 999999 }),
  };
}

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  return {
    text: result.content.map((part) => part.text).join(""),
    structured: result.structuredContent ?? null,
    is_error: result.isError ?? false,
  };
}
