"""A model server on loopback that speaks the Anthropic Messages API, for tests.

Owns HTTP, the record of every request, and the memory of tool uses that still
lack their result. What the model says is `scripted_model`'s; how it is put on
the wire is `messages_api`'s.

    python model_server.py FOLDER

serves until its stdin closes. It writes `FOLDER/port` once it listens,
`FOLDER/requests.jsonl` (a line for each request: `kind` main, side or other;
`path`; `status`; `body`) and `FOLDER/failures.jsonl` (what a client of this API
must not do). At every request of the main loop it reads `FOLDER/behaviour.json`,
where there is one.
"""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import messages_api
import scripted_model
from messages_api import Answer
from scripted_model import BadConversation, Behaviour

Json = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
SOON = 4
"""How far in the future `{soon}` in a header is, in seconds."""


class ModelServer(ThreadingHTTPServer):
    """The server and what it remembers between requests."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self._lock = threading.Lock()
        self._answers = 0
        self._struck: Counter[Behaviour] = Counter()
        self._owed: dict[str, str] = {}

    def behaviour(self) -> Behaviour:
        """Return how the test wants the model to behave just now."""
        try:
            fields = json.loads((self.folder / "behaviour.json").read_text("utf-8"))
        except FileNotFoundError:
            return Behaviour()
        return Behaviour(**{name: _frozen(value) for name, value in fields.items()})

    def record(self, name: str, line: Json) -> None:
        """Append one line to a record."""
        with self._lock, (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def number_answer(self) -> int:
        """Return a number that no other answer has."""
        with self._lock:
            self._answers += 1
            return self._answers

    def is_struck(self, behaviour: Behaviour) -> bool:
        """Count a request of the main loop; return whether the behaviour's fault befalls it."""
        with self._lock:
            self._struck[behaviour] += 1
            return behaviour.times is None or self._struck[behaviour] <= behaviour.times

    def answer(self, body: Json, behaviour: Behaviour) -> Answer:
        """Return the next turn of the conversation in `body`.

        Raises BadConversation, also where the result of the tool use that the
        same session received last is nowhere in it.
        """
        conversation = scripted_model.read_conversation(body)
        with self._lock:
            owed = self._owed.pop(_session(body), None)
        if owed and owed not in conversation.tool_results and not behaviour.forgives:
            raise BadConversation(f"the result of {owed} never came")
        return scripted_model.next_answer(conversation, behaviour, number=self.number_answer())

    def expect_result(self, body: Json, answer: Answer) -> None:
        """Remember that a tool use has been delivered whole."""
        with self._lock:
            self._owed[_session(body)] = answer.tool_use_id


def _session(body: Json) -> str:
    """Return what tells the conversations of several clients apart."""
    return json.dumps(body.get("metadata"))


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self) -> None:
        self._record("other", 404, {})
        self._send_json(404, messages_api.error(404))

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._record("side", 200, body)
            self._send_json(200, {"input_tokens": 11})
        elif path != "/v1/messages":
            self._record("other", 404, body)
            self._send_json(404, messages_api.error(404))
        elif scripted_model.is_main_loop(body):
            self._main(body)
        else:
            self._record("side", 200, body)
            answer = scripted_model.side_answer(body, number=self.server.number_answer())
            self._send_answer(body, answer)

    def _main(self, body: Json) -> None:
        behaviour = self.server.behaviour()
        struck = self.server.is_struck(behaviour)
        if struck and behaviour.status:
            self._record("main", behaviour.status, body)
            fault = messages_api.error(behaviour.status)
            self._send_json(behaviour.status, fault, behaviour.headers)
            return
        try:
            answer = self.server.answer(body, behaviour)
        except BadConversation as bad:
            self.server.record("failures.jsonl", {"why": str(bad), "messages": body["messages"]})
            self._record("main", 400, body)
            self._send_json(400, messages_api.error(400))
            return
        self._record("main", 200, body)
        cut = behaviour.cut if struck else None
        if answer.tool and cut is None:
            self.server.expect_result(body, answer)
        self._send_answer(body, answer, behaviour.headers, cut=cut)

    def _record(self, kind: str, status: int, body: Json) -> None:
        line = {"kind": kind, "method": self.command, "path": self.path, "status": status}
        self.server.record("requests.jsonl", {**line, "body": body})

    def _send_json(self, status: int, payload: Json, headers: Headers = ()) -> None:
        content = json.dumps(payload).encode()
        self._begin(status, "application/json", (*headers, ("content-length", str(len(content)))))
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_answer(
        self, body: Json, answer: Answer, headers: Headers = (), *, cut: int | None = None
    ) -> None:
        """Send an answer as the request wants it; a `cut` stream ends after so many events."""
        model = str(body.get("model"))
        if not body.get("stream"):
            self._send_json(200, messages_api.message(answer, model), headers)
            return
        self._begin(200, "text/event-stream", headers)
        for event in list(messages_api.stream(answer, model))[:cut]:
            self.wfile.write(event)

    def _begin(self, status: int, content_type: str, headers: Headers) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        for name, value in headers:
            self.send_header(name, value.replace("{soon}", str(int(time.time()) + SOON)))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the records tell it all."""


def _frozen(value: Any) -> Any:
    """Return JSON's lists as tuples, which have a hash."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def serve(folder: Path) -> None:
    """Serve until stdin closes: whoever started the server is done, or dead."""
    server = ModelServer(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    written = folder / "port.new"
    written.write_text(str(server.server_port), encoding="utf-8")
    written.replace(folder / "port")
    sys.stdin.read()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
