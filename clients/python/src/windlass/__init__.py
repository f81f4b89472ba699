"""Run processes through Windlass: start, stream, write, resize, wait, stop, read again by address, and reconnect.

    async with await windlass.Client.launch() as client:
        process = await client.start(["make", "test"])
        async for chunk in process.output():
            print(chunk, end="")
        print(await process.wait())
"""

from ._client import Client
from ._errors import ConnectionLost, OutputLost, RequestError, ServerError, StartError, WindlassError
from ._output import Chunk, Stream
from ._process import Exit, Process
from ._version import VERSION as __version__

__all__ = [
    "Chunk",
    "Client",
    "ConnectionLost",
    "Exit",
    "OutputLost",
    "Process",
    "RequestError",
    "ServerError",
    "StartError",
    "Stream",
    "WindlassError",
    "__version__",
]
