#!/usr/bin/env bash
# OpenCode 1.18.33 never gives up a request that its service refuses as too long. It has the model
# sum the conversation up, asks again, is refused again, and so on, with two paid requests a turn.
# The prompt is lost on the way: the third request says that media files were removed, though there
# were none.
#
# Whoever drives it has to end it: by a clock, a budget, or the errors in its events.
#
# Seen with opencode-ai 1.18.33 on Linux, without a network, against a model server of our own that
# refuses each request with tools by 400 `prompt is too long: 300000 tokens > 200000 maximum`, and
# answers those without, which ask for a summary: after 10 refusals it still goes on.
# Fails when that changes. Needs npm, Python 3 and unshare (util-linux); x64 or arm64.

set -euo pipefail

case $(uname -m) in
x86_64) build=linux-x64 ;;
aarch64) build=linux-arm64 ;;
*) echo "no build for $(uname -m) is known here" >&2 && exit 2 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" opencode-ai@1.18.33

cat >"$folder/run.py" <<'PY'
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, program = sys.argv[1:]
ENOUGH, SECONDS = 10, 600
refused, summaries = [], []


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body.get("tools"):
            refused.append(json.dumps(body["messages"]))
            words = "prompt is too long: 300000 tokens > 200000 maximum"
            answer = json.dumps({"error": {"message": words, "code": 400}}).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            return
        summaries.append(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choice in (
            {"delta": {"role": "assistant", "content": "A greeting."}, "finish_reason": None},
            {"delta": {}, "finish_reason": "stop"},
        ):
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            chunk |= {"choices": [{"index": 0, **choice}], "usage": usage}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:  # loopback up
    fcntl.ioctl(control, 0x8914, struct.pack("16sh22x", b"lo", 0x41))
assert [name for _, name in socket.if_nameindex()] == ["lo"]
server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home = f"{folder}/home"
os.makedirs(f"{home}/.config/opencode")
options = {"baseURL": f"http://127.0.0.1:{server.server_address[1]}/v1", "apiKey": "no-secret"}
provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {}}}
with open(f"{home}/.config/opencode/opencode.json", "w") as file:
    json.dump({"autoupdate": False, "share": "disabled", "provider": {"own": provider}}, file)
argv = [program, "run", "--format", "json", "--title", "one", "-m", "own/m"]
environ = {"PATH": os.environ["PATH"], "HOME": home, "OPENCODE_DISABLE_AUTOUPDATE": "true"}
agent = subprocess.Popen(
    argv,
    stdin=subprocess.PIPE,
    stdout=subprocess.DEVNULL,
    cwd=home,
    env=environ,
    start_new_session=True,
)
agent.stdin.write(b"Say hello.")
agent.stdin.close()
deadline = time.monotonic() + SECONDS
while agent.poll() is None and len(refused) < ENOUGH and time.monotonic() < deadline:
    time.sleep(0.1)
code = agent.poll()
if code is None:
    os.killpg(agent.pid, signal.SIGTERM)
    agent.wait()
last = refused[-1] if refused else ""
print(f"refused: {len(refused)}, summaries: {len(summaries)}, exit code by itself: {code}")
print(f"the last request has the prompt: {'Say hello.' in last}, speaks of media files: "
      f"{'media files' in last}")
if code is not None or len(refused) < ENOUGH or "Say hello." in last or "media files" not in last:
    sys.exit("changed")
PY
unshare --map-root-user --net python3 "$folder/run.py" "$folder" \
    "$folder/node_modules/opencode-$build/bin/opencode"
