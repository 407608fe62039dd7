"""The Anthropic Messages API as bytes: answers, streams and errors.

Owns the shapes that go over the wire (the public API reference, "Messages" and
"Streaming messages"). Knows nothing of what a model should say, nor of HTTP.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the model says in one turn: words, and at most one tool to use."""

    id: str
    text: str
    tool: str | None = None
    tool_use_id: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stop_reason(self) -> str:
        """Why the turn ends."""
        return "tool_use" if self.tool else "end_turn"


def message(answer: Answer, model: str) -> Json:
    """Return the whole answer, as a request without `stream` gets it."""
    return {
        **_envelope(answer, model),
        "content": _blocks(answer),
        "stop_reason": answer.stop_reason,
        "usage": _usage(),
    }


def stream(answer: Answer, model: str) -> Iterator[bytes]:
    """Yield the same answer as server-sent events."""
    start = {**_envelope(answer, model), "content": [], "stop_reason": None, "usage": _usage()}
    yield _event("message_start", message=start)
    for index, block in enumerate(_blocks(answer)):
        yield from _stream_block(index, block)
    delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": 7})
    yield _event("message_stop")


def error(status: int) -> Json:
    """Return the body of a failed request."""
    kind, words = _ERRORS.get(status, ("api_error", "Internal server error"))
    return {"type": "error", "error": {"type": kind, "message": words}}


_ERRORS = {
    400: ("invalid_request_error", "The request was invalid"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission"),
    404: ("not_found_error", "model: not found"),
    429: ("rate_limit_error", "This request would exceed your rate limit"),
    529: ("overloaded_error", "Overloaded"),
}


def _envelope(answer: Answer, model: str) -> Json:
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
    }


def _usage() -> Json:
    return {
        "input_tokens": 11,
        "output_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": answer.text}]
    if answer.tool:
        use = {"type": "tool_use", "id": answer.tool_use_id, "name": answer.tool}
        blocks.append({**use, "input": dict(answer.tool_input)})
    return blocks


def _stream_block(index: int, block: Json) -> Iterator[bytes]:
    if block["type"] == "text":
        empty: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield _event("content_block_start", index=index, content_block=empty)
    yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
