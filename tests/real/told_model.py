"""A model server on loopback that says what a test tells it, in the words of four APIs.

    python told_model.py FOLDER

serves until its stdin closes. It writes `FOLDER/port` once it listens and `FOLDER/asked.jsonl`, a
line for each request: `path`, `body`, `answer`. The test writes `FOLDER/answers.json`: `{"id": n,
"answers": [ANSWER, …], "then": ANSWER}`. Each request that offers tools takes the next answer, and
`then` once they have run out; a new `id` begins anew. For several conversations at once it is
`{"id": n, "of": [{"if": text, "answers": […]}, …], "then": ANSWER}` (`answer_of`). Others, such as
for a title, get a word.

An answer is `{"say": text}`, `{"run": command}` (by the CLI's own tool for commands), `{"call":
tool, "with": arguments}`, `{"status": 429, "headers": {…}, "body": {…}}`, `{"empty": true}`,
`{"cut": true}` (the stream ends in its middle) or `{"hang": true}`; with `"after": seconds` it
comes later. In one of several conversations a command may have a `"recall": pattern`: what the
conversation holds of it stands for WORD. There `"beside": n` keeps an answer back until n
conversations have asked. An answer of a tool that holds the script's `"failed": text` counts as
none: its call comes once more.

OpenAI's responses and chat completions, Gemini's generateContent, and Anthropic's messages. Knows
nothing of sow, nor of any CLI but for the names of their tools.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]

READ, CACHED, WRITTEN = 1000, 200, 50
"""The tokens that each answer tells: read (of these from a cache), and written."""
SHELLS: dict[str, tuple[str, Json]] = {
    "exec_command": ("cmd", {}),
    "shell_command": ("command", {}),
    "bash": ("command", {"description": "run it"}),
    "Bash": ("command", {"description": "run it"}),
    "run_shell_command": ("command", {"description": "run it", "is_background": False}),
    "run_commands": ("commands", {}),
    "execute_command": ("command", {"requires_approval": False}),
}
"""The tools by which CLIs run a command: which argument holds it, and what else they want."""
ANSWERS = (
    '"type": "function_call_output"',
    '"role": "tool"',
    '"functionCall": ',
    '"type": "tool_result"',
)
"""What stands in a request for each answer of a tool, in the words of each API. Gemini CLI sends
each answer twice when it goes on with a session (measured, 0.61.0), and the call once."""
HANG_SECONDS = 600
MEET_SECONDS = 300


class Model(ThreadingHTTPServer):
    """The server, and how far the test's answers were given."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self._lock = threading.Lock()
        self._id: Any = None
        self._given = 0
        self._calls = 0
        self._met = threading.Condition()
        self._asked: dict[Any, set[str]] = {}

    def next_answer(self, body: Json) -> Json:
        """Return the answer to a request, and count it."""
        if not tools_of(body):
            return {"say": "A title"}
        with self._lock:
            script = json.loads((self.folder / "answers.json").read_text("utf-8"))
            if "of" in script:
                return answer_of(script, body)
            if script["id"] != self._id:
                self._id, self._given = script["id"], 0
            answers = script.get("answers", [])
            self._given += 1
            found = answers[self._given - 1] if self._given <= len(answers) else script["then"]
        return dict(found)

    def meet(self, answer: Json) -> None:
        """Return once as many conversations of its script have asked as an answer is to wait for.

        Raises AssertionError where they do not.
        """
        if "beside" not in answer:
            return
        with self._met:
            asked = self._asked.setdefault(answer["script"], set())
            asked.add(answer["if"])
            self._met.notify_all()
            assert self._met.wait_for(lambda: len(asked) >= answer["beside"], MEET_SECONDS), asked

    def number_call(self) -> int:
        """Return a number that no other call of a tool has."""
        with self._lock:
            self._calls += 1
            return self._calls

    def note(self, line: Json) -> None:
        """Put a request on record."""
        with self._lock, (self.folder / "asked.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def tools_of(body: Json) -> list[str]:
    """Return the names of the tools that a request offers, in whichever form."""
    names = []
    for tool in body.get("tools") or []:
        declared = tool.get("functionDeclarations") or []
        names += [each.get("name") for each in declared]
        names += [] if declared else [tool.get("name") or (tool.get("function") or {}).get("name")]
    return [name for name in names if isinstance(name, str)]


def answer_of(script: Json, body: Json) -> Json:
    """Return the answer of a script for several conversations, by how far this one has come.

    It is the first whose `if` stands in the request; its turns are counted by the tools' answers.
    """
    text = json.dumps(body)
    none: Json = {"if": "", "answers": []}
    found = next((each for each in script["of"] if each["if"] in text), none)
    answers, turn = found["answers"], sum(text.count(mark) for mark in ANSWERS)
    turn -= text.count(script["failed"]) if "failed" in script else 0
    answer = dict(answers[turn] if turn < len(answers) else script["then"])
    answer |= {"if": found["if"], "script": script["id"]}
    if "recall" in answer:
        known = re.search(answer["recall"], text)
        answer["run"] = answer["run"].replace("WORD", known[0] if known else "nothing")
    return answer


def call_of(answer: Json, body: Json) -> tuple[str, Json] | None:
    """Return the tool's call that an answer is, with its arguments; None for words."""
    if "call" in answer:
        return answer["call"], answer.get("with", {})
    if "run" not in answer:
        return None
    name = next((name for name in tools_of(body) if name in SHELLS), None)
    if name is None:
        answer["say"] = f"no tool for commands among: {', '.join(tools_of(body))}"
        return None
    key, more = SHELLS[name]
    return name, {key: [answer["run"]] if key == "commands" else answer["run"], **more}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Model

    def do_GET(self) -> None:
        self.server.note({"path": self.path, "body": None, "answer": None})
        self._send(200, {"object": "list", "data": [{"id": "told-1", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("countTokens", "count_tokens")):
            self._send(200, {"totalTokens": 11, "input_tokens": 11})
            return
        wire = wire_of(path)
        if wire is None:
            self._send(404, {"error": {"message": "not found"}})
            return
        answer = self.server.next_answer(body)
        self.server.note({"path": self.path, "body": body, "answer": answer})
        self.server.meet(answer)
        time.sleep(answer.get("after", 0))
        if "status" in answer:
            words = {"error": {"message": f"told {answer['status']}", "type": "told"}}
            self._send(answer["status"], answer.get("body", words), answer.get("headers", {}))
            return
        call = call_of(answer, body)
        number = self.server.number_call()
        text = "" if call or answer.get("empty") else answer.get("say", "")
        streams = path.endswith(("/responses", ":streamGenerateContent")) or body.get("stream")
        parts = list(wire(text, call, number))
        if not streams:
            self._send(200, whole(parts, path))
            return
        self._stream(parts, answer)

    def _stream(self, parts: list[str], answer: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if answer.get("hang"):
            self.wfile.flush()
            time.sleep(HANG_SECONDS)
        for part in parts[:2] if answer.get("cut") else parts:
            self.wfile.write(part.encode())
        self.wfile.flush()

    def _send(self, status: int, payload: Json, headers: Json | None = None) -> None:
        content = json.dumps(payload).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the record tells it all."""

    def handle(self) -> None:
        """Serve; a client may go away at any time."""
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def wire_of(path: str) -> Any:
    """Return what puts an answer into the words of the API at a path; None where there is none."""
    if path.endswith("/responses"):
        return as_responses
    if path.endswith("/chat/completions"):
        return as_chat
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return as_gemini
    return as_messages if path.endswith("/messages") else None


def whole(parts: list[str], path: str) -> Json:
    """Return an answer that is not streamed, made of the parts that would be."""
    found = [json.loads(part.partition("data: ")[2]) for part in parts if "[DONE]" not in part]
    if path.endswith("/chat/completions"):
        message: Json = {"role": "assistant", "content": None}
        for each in found:
            for choice in each["choices"]:
                message |= {k: v for k, v in choice["delta"].items() if v}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {**found[0], "object": "chat.completion", "choices": [choice]}
    return dict(found[-1])


def as_responses(text: str, call: tuple[str, Json] | None, number: int) -> Iterator[str]:
    """Yield an answer as OpenAI's responses are streamed."""
    item: Json | None = None
    if call:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": call[0], "arguments": json.dumps(call[1]), "status": "completed"}
    elif text:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [part]}
        item["status"] = "completed"
    usage = {
        "input_tokens": READ,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": WRITTEN,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": READ + WRITTEN,
    }
    answer = {"id": f"resp_{number}", "object": "response", "status": "completed"}
    yield _event("response.created", response={**answer, "status": "in_progress", "output": []})
    if item is not None:
        yield _event("response.output_item.added", output_index=0, item=item)
        yield _event("response.output_item.done", output_index=0, item=item)
    output = [item] if item is not None else []
    yield _event("response.completed", response={**answer, "output": output, "usage": usage})


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def as_chat(text: str, call: tuple[str, Json] | None, number: int) -> Iterator[str]:
    """Yield an answer as OpenAI's chat completions are streamed."""

    def chunk(delta: Json | None, reason: str | None = None, **more: Any) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        found = {"id": f"chat_{number}", "object": "chat.completion.chunk", "model": "told-1"}
        return f"data: {json.dumps({**found, 'created': 1, 'choices': choices, **more})}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    if text:
        yield chunk({"content": text})
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        made = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        yield chunk({"tool_calls": [made]})
    yield chunk({}, "tool_calls" if call else "stop")
    usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN}
    yield chunk(None, usage={**usage, "prompt_tokens_details": {"cached_tokens": CACHED}})
    yield "data: [DONE]\n\n"


def as_gemini(text: str, call: tuple[str, Json] | None, number: int) -> Iterator[str]:
    """Yield an answer as Gemini's content is streamed."""
    parts: list[Json] = [{"text": text}] if text else []
    if call:
        parts = [{"functionCall": {"id": f"call_{number}", "name": call[0], "args": call[1]}}]
    usage = {
        "promptTokenCount": READ,
        "cachedContentTokenCount": CACHED,
        "candidatesTokenCount": WRITTEN,
        "totalTokenCount": READ + WRITTEN,
    }
    content = {"role": "model", "parts": parts}
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "told-1"}
    yield f"data: {json.dumps(answer)}\n\n"


def as_messages(text: str, call: tuple[str, Json] | None, number: int) -> Iterator[str]:
    """Yield an answer as Anthropic's messages are streamed."""
    used = {"input_tokens": READ - CACHED, "cache_read_input_tokens": CACHED, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "told-1"}
    yield _event("message_start", message={**message, "content": [], "usage": used})
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": text}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    if call or text:
        yield _event("content_block_start", index=0, content_block=block)
        yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
    reason = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=reason, usage={"output_tokens": WRITTEN})
    yield _event("message_stop")


def main() -> None:
    """Serve until stdin closes."""
    folder = Path(sys.argv[1])
    with Model(folder) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        new = folder / "port.new"
        new.write_text(str(model.server_address[1]), encoding="utf-8")
        new.replace(folder / "port")
        sys.stdin.read()


if __name__ == "__main__":
    main()
