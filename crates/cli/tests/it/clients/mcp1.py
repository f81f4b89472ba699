"""PyPI's mcp 1.x as a client over stdio: `mcp1.py COMMAND ARGUMENT...` prints what it saw as JSON."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        print(json.dumps(await seen(session)))


async def seen(session: ClientSession) -> dict:
    async def call(tool: str, arguments: dict) -> dict:
        result = await session.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        return {"text": text, "structured": result.structuredContent, "is_error": result.isError}

    tools = [tool.name for tool in (await session.list_tools()).tools]
    hello = await call("exec_command", {"cmd": "echo hello"})
    started = await call("exec_command", {"cmd": "cat", "tty": True, "name": "typist"})
    typed = await call("write_stdin", {"session_id": "typist", "chars": "is anybody there?\n"})
    unknown = await call("write_stdin", {"session_id": 999999})
    return {"tools": tools, "hello": hello, "started": started, "typed": typed, "unknown": unknown}


asyncio.run(main())
