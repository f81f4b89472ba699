"""A server made with PyPI's mcp package, of either major version: `sdk.py stdio | http | json`."""

import sys

from pydantic import BaseModel

JSON = {"port": 0, "json_response": sys.argv[1] == "json"}


class Name(BaseModel):
    name: str


try:
    from mcp.server.fastmcp import Context, FastMCP, Image
    from mcp.types import ToolAnnotations

    server, running = FastMCP("sdk", instructions="add numbers", **JSON), {}

    @server.tool()
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("your name?", Name)
        return answer.data.name if answer.action == "accept" else answer.action

except ImportError:
    from typing import Annotated

    from mcp.server.mcpserver import Elicit, Image, MCPServer, Resolve
    from mcp.types import ToolAnnotations

    server, running = MCPServer("sdk", instructions="add numbers"), JSON

    def asked() -> Elicit[Name]:
        return Elicit("your name?", Name)

    @server.tool()
    async def greet(name: Annotated[Name, Resolve(asked)]) -> str:
        return name.name


@server.tool(annotations=ToolAnnotations(**{"readOnlyHint": True}))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    raise ValueError("no luck")


@server.tool()
def picture() -> Image:
    return Image(data=b"\x89PNG", format="png")


@server.resource("note://hello")
def hello() -> str:
    return "hello from a note"


@server.resource("note://number/{number}")
def numbered(number: str) -> str:
    return f"note {number}"


if sys.argv[1] == "stdio":
    server.run()
else:
    server.run("streamable-http", **running)
