"""Uses every method of both servers and holds each message against the schema, by somebody else's reading of it.

Called with the program and the folder of the schemas. A member that the schema does not name is an error here, and so is a
method or notification of the schema that the scene does not bring about.
"""

import base64
import json
import os
import subprocess
import sys
from collections import deque

from jsonschema import Draft202012Validator


def strict(schema):
    """The schema with a word against members that it does not name."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and ("properties" in schema or "additionalProperties" not in schema):
        closed["additionalProperties"] = False
    return closed


class Server:
    def __init__(self, verb, schema):
        self.child = subprocess.Popen([sys.argv[1], *verb], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.schema = json.load(open(f"{sys.argv[2]}/{schema}.schema.json"))
        Draft202012Validator.check_schema(self.schema)
        self.shapes = strict(self.schema["$defs"])
        self.used, self.heard, self.told, self.last = set(), set(), deque(), 0

    def check(self, shape, value, place):
        schema = {"$defs": self.shapes, "$ref": shape["$ref"]}
        errors = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)]
        assert not errors, (place, errors, value)

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def next(self):
        message = json.loads(self.child.stdout.readline())
        assert Draft202012Validator(self.schema).is_valid(message), message
        if "method" in message:
            self.heard.add(message["method"])
            known = self.schema["x-notifications"][message["method"]]
            assert known["sentBy"] == "server", message
            self.check(known["params"], message["params"], message["method"])
        return message

    def ask(self, method, **params):
        self.used.add(method)
        self.last += 1
        known = self.schema["x-methods"][method]
        self.check(known["params"], params, method)
        self.send({"id": self.last, "method": method, "params": params})
        while "id" not in (message := self.next()):
            self.told.append(message)
        assert message["id"] == self.last and "error" not in message, (method, message)
        self.check(known["result"], message["result"], method)
        return message["result"]

    def until(self, method, **members):
        """The next notification of this method with these members."""
        while True:
            message = self.told.popleft() if self.told else self.next()
            if message.get("method") == method and members.items() <= message["params"].items():
                return message["params"]

    def refused(self, method, code):
        self.send({"id": "refused", "method": method, "params": {}})
        while "id" not in (message := self.next()):
            self.told.append(message)
        assert message["error"]["code"] == code, message

    def finish(self, unheard=()):
        self.child.stdin.close()
        assert self.child.wait() == 0
        assert self.used == set(self.schema["x-methods"]), set(self.schema["x-methods"]) - self.used
        told = {name for name, known in self.schema["x-notifications"].items() if known["sentBy"] == "server"}
        assert self.heard == told - set(unheard), told ^ self.heard


def encoded(data):
    return base64.b64encode(data).decode()


def app_server():
    server = Server(["app-server", "--output", "16M"], "app-server")
    capabilities = {"experimentalApi": True, "optOutNotificationMethods": [], "resume": {"graceMs": 1000}}
    server.ask("initialize", clientInfo={"name": "wire", "version": "1"}, capabilities=capabilities)
    server.send({"method": "initialized"})

    script = "echo out; echo err >&2; read x; exit 3"
    spawn = {"command": ["sh", "-c", script], "processHandle": "a", "cwd": "/"}
    session = server.ask("process/spawn", streamStdin=True, streamStdoutStderr=True, **spawn)["sessionId"]
    server.ask("session/list")
    waited = server.ask("session/wait", sessionId=session, until={"pattern": "out", "idleMs": 60000})
    assert waited["met"] == "pattern" and "match" in waited, waited
    server.ask("session/wait", processHandle="a", until={"input": True}, timeoutMs=60000)
    for choice in ({"span": {"from": 1}}, {"lines": {"first": 1}}, {"grep": {"pattern": "o", "context": 1}}, {}):
        read = server.ask("session/read", sessionId=session, **choice)
        assert read.get("chunks") or read.get("lines"), read
    server.ask("process/writeStdin", processHandle="a", deltaBase64=encoded(b"\n"), closeStdin=True)
    assert server.until("process/exited")["exitCode"] == 3
    assert "exit" in server.ask("session/wait", sessionId=session)
    server.ask("session/subscribe", sessionId=session, **{"from": 0})
    server.until("session/closed")
    server.ask("session/unsubscribe", sessionId=session)

    # One that is signalled, on a terminal, with a child that is ended with it.
    terminal = {"tty": True, "size": {"rows": 24, "cols": 80}, "timeoutMs": None, "outputBytesCap": None}
    spawn = {"command": ["sh", "-c", "sleep 1000 & cat"], "processHandle": "b", "cwd": "/", "env": {"A": "b", "C": None}}
    session = server.ask("process/spawn", **spawn, **terminal)["sessionId"]
    server.ask("process/resizePty", processHandle="b", size={"rows": 2, "cols": 2})
    server.ask("session/signal", sessionId=session, signal="CONT")
    server.ask("process/kill", processHandle="b")
    assert "signal" in server.until("process/exited")
    server.ask("session/list")

    commands(server)
    server.refused("no/such", -32600)
    server.ask("session/endAll")
    # What is dropped takes hundreds of megabytes.
    server.finish(unheard=["session/dropped"])


def commands(server):
    policy = {"type": "dangerFullAccess"}
    result = server.ask("command/exec", command=["sh", "-c", "echo hi; exec sleep 1000"], timeoutMs=300, sandboxPolicy=policy)
    assert result["timedOut"] and result["exitCode"] == 124 and result["stdout"] == "hi\n", result
    result = server.ask("command/exec", command=["echo", "hi"], outputBytesCap=1, env={"A": None}, cwd="/")
    assert result["stdoutTruncated"], result
    receipt = server.ask("command/exec", command=["yes"], outputBytesCap=1)["receipt"]
    assert receipt["cause"] == "limit" and receipt["limit"]["limit"] == 16 << 20, receipt
    # Its answer comes last of all, when it has been ended.
    params = {"command": ["cat"], "processId": "c", "tty": True, "disableTimeout": True, "disableOutputCap": True}
    server.check(server.schema["x-methods"]["command/exec"]["params"], params, "command/exec")
    server.send({"id": "last", "method": "command/exec", "params": params})
    server.ask("command/exec/write", processId="c", deltaBase64=encoded(b"typed\n"))
    server.until("command/exec/outputDelta", processId="c")
    server.ask("command/exec/resize", processId="c", size={"rows": 3, "cols": 3})
    server.send({"id": "end", "method": "command/exec/terminate", "params": {"processId": "c"}})
    server.used.add("command/exec/terminate")
    answers = {}
    while len(answers) < 2:
        message = server.next()
        if "id" in message:
            answers[message["id"]] = message["result"]
    server.check(server.schema["x-methods"]["command/exec"]["result"], answers["last"], "command/exec")
    assert answers["end"] == {}, answers


def exec_server():
    server = Server(["exec-server", "--listen", "stdio"], "exec-server")
    server.ask("initialize", clientName="wire", resumeSessionId=None)
    server.send({"method": "initialized"})
    server.ask("environment/info")
    server.ask("environment/status")
    start = {"cwd": "file:///", "env": {"PATH": os.environ["PATH"]}}
    server.ask("process/start", processId="a", argv=["cat"], tty=False, pipeStdin=True, **start)
    server.ask("process/write", processId="a", chunk=encoded(b"typed\n"), writeId="1")
    read = server.ask("process/read", processId="a", afterSeq=0, maxBytes=10, waitMs=60000)
    assert read["chunks"], read
    server.ask("process/list")
    server.ask("process/closeStdin", processId="a")
    server.until("process/exited", processId="a")
    server.until("process/closed", processId="a")
    assert server.ask("process/read", processId="a")["exitCode"] == 0
    size = {"rows": 24, "cols": 80}
    policy = {"inherit": "all", "ignoreDefaultExcludes": True, "exclude": [], "set": {}, "includeOnly": []}
    server.ask("process/start", processId="b", argv=["cat"], tty=True, size=size, envPolicy=policy, **start)
    server.ask("process/resize", processId="b", size=size)
    server.ask("process/signal", processId="b", signal="continue")
    assert server.ask("process/terminate", processId="b")["running"]
    server.until("process/closed", processId="b")
    server.ask("process/list")
    files(server)
    server.refused("no/such", -32601)
    server.finish()


def files(server):
    place = f"file://{os.environ['SCENE']}"
    server.ask("fs/createDirectory", path=f"{place}/d", recursive=True)
    server.ask("fs/writeFile", path=f"{place}/d/f", dataBase64=encoded(b"hello"))
    assert server.ask("fs/readFile", path=f"{place}/d/f")["dataBase64"] == encoded(b"hello")
    server.ask("fs/copy", sourcePath=f"{place}/d/f", destinationPath=f"{place}/d/g", recursive=False)
    assert server.ask("fs/getMetadata", path=f"{place}/d/g")["size"] == 5
    server.ask("fs/canonicalize", path=f"{place}/d/../d/g")
    assert len(server.ask("fs/readDirectory", path=f"{place}/d")["entries"]) == 2
    options = {"maxDepth": 9, "maxDirectories": 9, "maxEntries": 9, "followDirectorySymlinks": False}
    walked = server.ask("fs/walk", path=f"{place}/d", options={**options, "pruneHiddenDirectories": False})
    assert len(walked["entries"]) >= 2, walked
    server.ask("fs/open", handleId="h", path=f"{place}/d/g", mode="read")
    assert server.ask("fs/readBlock", handleId="h", offset=1, len=3)["chunk"] == encoded(b"ell")
    server.ask("fs/close", handleId="h")
    server.ask("fs/remove", path=f"{place}/d", recursive=True, force=False)


{"app-server": app_server, "exec-server": exec_server}[sys.argv[3]]()
