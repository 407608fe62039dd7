#!/usr/bin/env bash
# Codex 0.171.0, asked to resume a session by an id that lost a character, begins another one and
# says nothing: exit code 0, the same events, and a model that knows nothing of what went before.
# An id that it does not know but that is a UUID ends with exit code 1, as one expects.
#
# Whoever drives it has to compare `thread_id` in the first event with the id that was asked for.
#
# Seen with @openai/codex 0.171.0 on Linux, without a network, against a model server of our own:
#   resume of the id:                   exit code 0, the same thread, both prompts are sent
#   resume of another UUID:             exit code 1, no thread
#   resume of the id less one character: exit code 0, another thread, one prompt is sent
# Fails when that changes. Needs npm, Node.js, Python 3 and unshare (util-linux).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @openai/codex@0.171.0

cat >"$folder/run.py" <<'PY'
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
asked = []


class Model(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        part = {"type": "output_text", "text": "Hello.", "annotations": []}
        item = {"type": "message", "role": "assistant", "id": "m", "content": [part]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        answer = {"id": "r", "output": [item], "usage": usage}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in (
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:  # loopback up
    fcntl.ioctl(control, 0x8914, struct.pack("16sh22x", b"lo", 0x41))
assert [name for _, name in socket.if_nameindex()] == ["lo"]
server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home = f"{folder}/home"
os.makedirs(f"{home}/.codex")
with open(f"{home}/.codex/config.toml", "w") as file:
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    file.write(
        'model = "m"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\n'
        f'base_url = "{address}"\nenv_key = "OWN_KEY"\nwire_api = "responses"\n'
    )
environ = {"PATH": os.environ["PATH"], "HOME": home, "OWN_KEY": "no-secret"}


def run(*words):
    """Return the exit code, the thread, and how many messages of the user the model was sent."""
    asked.clear()
    argv = [f"{folder}/node_modules/.bin/codex", "exec", "--json", "--skip-git-repo-check"]
    argv += ["-c", "analytics.enabled=false", *words, "-"]
    done = subprocess.run(
        argv, input="Say hello.", capture_output=True, text=True, env=environ, cwd=home, timeout=120
    )
    lines = map(json.loads, done.stdout.splitlines())
    thread = next((line["thread_id"] for line in lines if "thread_id" in line), None)
    said = json.dumps(asked[-1]).count("Say hello.") if asked else 0
    return done.returncode, thread, said


code, first, said = run()
found = {
    "new": (code, said),
    "the id": (lambda code, thread, said: (code, thread == first, said))(*run("resume", first)),
    "another UUID": run("resume", str(uuid.uuid4())),
    "a lost character": (lambda code, thread, said: (code, thread == first, said))(
        *run("resume", first[:-1])
    ),
}
for name, outcome in found.items():
    print(f"{name}: {outcome}")
expected = {
    "new": (0, 1),
    "the id": (0, True, 2),
    "another UUID": (1, None, 0),
    "a lost character": (0, False, 1),
}
if found != expected:
    sys.exit(f"changed: expected {expected}")
PY
unshare --map-root-user --net python3 "$folder/run.py" "$folder"
