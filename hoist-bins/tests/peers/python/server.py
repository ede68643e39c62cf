"""A server of the Python SDK with a few tools, in every era that the SDK speaks.

python server.py                    over stdin and stdout
python server.py http [stateless]   over HTTP, at the URL that is its first line
"""

import socket
import sys

from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("python-peer", version="1", instructions="A few tools to try a proxy on.")
finished = anyio.Event()


class Sum(BaseModel):
    sum: float


class Name(BaseModel):
    name: str


@server.tool()
async def echo(text: str) -> str:
    """Answers with its text."""
    return text


@server.tool()
async def fail(text: str) -> str:
    """Fails."""
    raise ToolError(text)


@server.tool()
async def add(a: float, b: float) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
async def count(to: int, context: Context) -> str:
    """Reports each step, then waits for finish."""
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"{step} of {to}")
    await finished.wait()
    return "counted"


@server.tool()
async def finish() -> str:
    """Lets what counts come to its end."""
    finished.set()
    return "finished"


@server.tool()
async def wait() -> str:
    """Waits until it is cancelled."""
    await anyio.sleep_forever()
    return "never"


async def whom() -> Elicit[Name]:
    return Elicit("Whom?", Name)


@server.tool()
async def greet(name: Annotated[Name, Resolve(whom)]) -> str:
    """Asks the user for a name and greets it."""
    return f"Hello {name.name}"


if sys.argv[1:2] == ["http"]:
    import uvicorn

    app = server.streamable_http_app(stateless_http="stateless" in sys.argv)

    async def noting(scope, receive, send):
        """Says how each DELETE is answered."""
        async def note(message):
            if message["type"] == "http.response.start" and scope["method"] == "DELETE":
                print("DELETE", message["status"], flush=True)
            await send(message)

        await app(scope, receive, note)

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # A client may come as soon as it knows the URL.
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(noting, log_level="error")).run(sockets=[listener])
else:
    server.run("stdio")
