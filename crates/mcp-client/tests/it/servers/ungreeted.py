"""Stands before another server and hides that it knows the greeting: `ungreeted.py COMMAND ARGUMENT...`."""

import json
import subprocess
import sys

inner = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "initialize":
        error = {"code": -32022, "message": "unsupported protocol version"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
    else:
        inner.stdin.write(line)
        inner.stdin.flush()
inner.stdin.close()
sys.exit(inner.wait())
