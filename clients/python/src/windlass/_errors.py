"""Everything that can go wrong, each with the facts as attributes.

A command that fails is not among it: that is an `Exit` with its code.
"""

from __future__ import annotations


class WindlassError(Exception):
    """What all errors of this package have in common."""


class RequestError(WindlassError):
    """The server refused a request."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} (code {code})")
        self.method = method
        """What was asked for."""
        self.code = code
        """What kind of failure it is, as in JSON-RPC."""
        self.message = message
        """What is wrong, in the server's words."""


class StartError(RequestError):
    """The command could not be started: there is no such program or directory, or it may not be executed."""

    def __init__(self, method: str, code: int, message: str, program: str) -> None:
        super().__init__(method, code, message)
        advice = "check its name, its permissions and `cwd`"
        self.args = (f"cannot start {program}: {message} ({method}, code {code}); {advice}",)
        self.program = program
        """The program that was to be started."""


class ServerError(WindlassError):
    """The server could not be started or reached, or it did not speak the protocol."""


class ConnectionLost(WindlassError):
    """The connection ended, and with it what was asked for. Whether that was still carried out is unknown."""


class OutputLost(WindlassError):
    """Output is kept no longer: the reader was so late that the server had dropped it.

    Reading can go on behind the hole: `process.output(error.end)`.
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"the bytes from {start} to {end} are kept no longer; reading can go on at {end}")
        self.start = start
        """The offset of the first byte that is gone."""
        self.end = end
        """The offset of the first byte behind the hole."""
