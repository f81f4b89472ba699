"""PyPI's mcp 2.x as a client over stdio: `mcp2.py MODE COMMAND ARGUMENT...` prints what it saw as JSON.

The mode is how the two agree on a protocol: `legacy` with a handshake, `auto`, or the version to speak without one.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    mode, command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        print(json.dumps(await seen(client)))


async def seen(client: Client) -> dict:
    async def call(tool: str, arguments: dict) -> dict:
        result = await client.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        return {"text": text, "structured": result.structured_content, "is_error": result.is_error}

    tools = [tool.name for tool in (await client.list_tools()).tools]
    hello = await call("exec_command", {"cmd": "echo hello"})
    started = await call("exec_command", {"cmd": "cat", "tty": True, "name": "typist"})
    typed = await call("write_stdin", {"session_id": "typist", "chars": "is anybody there?\n"})
    unknown = await call("write_stdin", {"session_id": 999999})
    return {"tools": tools, "hello": hello, "started": started, "typed": typed, "unknown": unknown}


asyncio.run(main())
