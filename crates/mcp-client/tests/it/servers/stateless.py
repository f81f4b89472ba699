"""A server that knows only the revision without a greeting, and asks in between: `stateless.py`."""

import json
import sys

META = "io.modelcontextprotocol/"


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(id, **fields):
    send({"id": id, "result": {"resultType": "complete", **fields}})


def refuse(id, code, message):
    send({"id": id, "error": {"code": code, "message": message}})


def tools():
    schema = {"type": "object", "properties": {}}
    return [{"name": "greet", "description": "asks for a name", "inputSchema": schema}]


def call(id, params):
    if "inputResponses" not in params:
        question = {"method": "elicitation/create", "params": {"message": "your name?", "requestedSchema": {}}}
        requests = {"name": question, "where": {"method": "roots/list"}}
        fields = {"resultType": "input_required", "inputRequests": requests, "requestState": "s1"}
        return send({"id": id, "result": fields})
    said, where = params["inputResponses"]["name"], params["inputResponses"]["where"]
    name = said.get("content", {}).get("name", said["action"])
    text = f"{name} {where['roots'][0]['uri']} {params['requestState']}"
    result(id, content=[{"type": "text", "text": text}])


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message["method"], message.get("params", {})
    meta = params.get("_meta", {})
    if id is None:
        continue
    if method == "initialize":
        refuse(id, -32022, "unsupported protocol version")
    elif meta.get(META + "protocolVersion") != "2026-07-28" or META + "clientCapabilities" not in meta:
        refuse(id, -32602, "a request must say everything")
    elif method == "server/discover":
        info = {META + "serverInfo": {"name": "stateless", "version": "9"}}
        capabilities = {"tools": {"listChanged": True}}
        result(id, supportedVersions=["2026-07-28"], capabilities=capabilities, ttlMs=0, cacheScope="public", _meta=info)
    elif method == "tools/list":
        result(id, tools=tools(), ttlMs=0, cacheScope="public")
    elif method == "tools/call":
        call(id, params)
    elif method == "subscriptions/listen":
        pass
    else:
        refuse(id, -32601, "method not found")
