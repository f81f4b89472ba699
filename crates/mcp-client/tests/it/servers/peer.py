"""A server of the Model Context Protocol that can misbehave: `peer.py MODE`. It needs nothing but Python itself."""

import json
import os
import signal
import subprocess
import sys

MODE = sys.argv[1]
REVISION = sys.argv[2] if len(sys.argv) > 2 else "2025-06-18"
TOOLS = ["ask", "batch", "broken", "cancelled", "die", "echo", "fail", "grow", "huge", "lost", "pid", "surroundings", "wait"]
PAGE = 5
cancelled = []
waiting = []
later = []


def send(message, end="\n"):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + end)
    sys.stdout.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def receive():
    line = sys.stdin.buffer.readline()
    if not line:
        if MODE == "stubborn":
            signal.pause()
        sys.exit(0)
    return json.loads(line)


def answer(id, result):
    if MODE == "garbage":
        raw(b"DEBUG answering\n\n\xff\xfe{[\n")
    send({"id": id, "result": result})
    if MODE == "twice":
        send({"id": id, "result": {"content": [{"type": "text", "text": "again"}]}})


def text(id, value, **more):
    answer(id, {"content": [{"type": "text", "text": value}], **more})


def describe(name):
    return {
        "name": name,
        "description": f"does {name}",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": name == "echo"},
    }


def list_tools(id, params):
    if MODE == "circle":
        return answer(id, {"tools": [describe("echo")], "nextCursor": "again"})
    start = int(params.get("cursor", "0"))
    page = {"tools": [describe(name) for name in TOOLS[start : start + PAGE]]}
    if start + PAGE < len(TOOLS):
        page["nextCursor"] = str(start + PAGE)
    answer(id, page)
    if MODE == "deaf" and "nextCursor" not in page:
        signal.pause()


def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "echo":
        text(id, arguments.get("text", ""), structuredContent=arguments)
    elif name == "huge":
        text(id, "x" * arguments["size"])
    elif name == "fail":
        text(id, "it went wrong", isError=True)
    elif name == "die":
        sys.stderr.write("first line\nout of cheese\n")
        sys.stderr.flush()
        os._exit(arguments.get("code", 7))
    elif name == "broken":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[}\n' % id)
    elif name == "batch":
        raw(json.dumps([{"id": id, "result": {"content": []}}, {"method": "notifications/message"}]).encode() + b"\n")
    elif name == "ask":
        text(id, json.dumps(ask(arguments["method"], arguments.get("params", {}))))
    elif name == "grow":
        TOOLS.append("extra")
        send({"method": "notifications/tools/list_changed"})
        text(id, "grown")
    elif name == "wait":
        sys.stderr.write("waiting\n")
        sys.stderr.flush()
        waiting.append(id)
    elif name == "cancelled":
        text(id, json.dumps({"waiting": waiting, "cancelled": cancelled}))
    elif name == "pid":
        text(id, str(os.getpid()))
    elif name == "surroundings":
        text(id, json.dumps({"directory": os.getcwd(), "environment": dict(os.environ)}))
    elif name == "extra":
        text(id, "extra")
    else:
        send({"id": id, "error": {"code": -32602, "message": f"unknown tool: {name}"}})


def ask(method, params):
    send({"id": "q1", "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == "q1" and "method" not in message:
            return {key: message[key] for key in ("result", "error") if key in message}
        later.append(message)


def resources(id, method, params):
    if method == "resources/list":
        answer(id, {"resources": [{"uri": "note:///a", "name": "a", "mimeType": "text/plain"}]})
    elif method == "resources/templates/list":
        answer(id, {"resourceTemplates": [{"uriTemplate": "note:///{name}", "name": "notes"}]})
    elif params["uri"] == "note:///a":
        answer(id, {"contents": [{"uri": "note:///a", "mimeType": "text/plain", "text": "hello"}]})
    else:
        send({"id": id, "error": {"code": -32002, "message": "no such note"}})


def initialize(id):
    if MODE == "exit":
        sys.stderr.write("cannot open the database\n")
        sys.exit(3)
    if MODE == "hang":
        sys.stderr.write("waiting for the moon\n")
        sys.stderr.flush()
        return
    info = {"name": "peer", "version": "1.2"}
    capabilities = {"tools": {"listChanged": True}, "resources": {}}
    answer(
        id,
        {"protocolVersion": REVISION, "capabilities": capabilities, "serverInfo": info, "instructions": "be kind"},
    )


def handle(message):
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        initialize(id)
    elif method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    elif id is None:
        pass
    elif method == "tools/list":
        list_tools(id, params)
    elif method == "tools/call":
        call(id, params)
    elif method.startswith("resources/"):
        resources(id, method, params)
    else:
        send({"id": id, "error": {"code": -32601, "message": f"method not found: {method}"}})


def main():
    if MODE == "garbage":
        raw(b"Server listening on stdio\n" + b"y" * 1_000_000 + b"\n17\n{}\n[]\n" + bytes(range(11, 256)) + b"\n")
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while True:
        handle(later.pop(0) if later else receive())


main()
