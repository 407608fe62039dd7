"""Events of the real agent CLIs with one value changed by somebody who means harm.

Of each form that the recordings have, each value is replaced by each of `HOSTILE`. The executors
read them as they read any line: nothing is raised, what is told can be stored, shown and summed,
and whole streams of such lines cost neither memory nor time.
"""

import json
import math
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sow.agent_clis.known import AGENT_CLIS
from sow.executors.base import MOST_DENIALS, Ending, Event, Observation
from sow.executors.lines import LONGEST_LINE_BYTES
from sow.executors.metering import MOST_MODELS, MOST_RECENT
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.usage import MOST_TOKENS
from worker.running import OutputReader

RECORDINGS = Path(__file__).parents[1] / "recordings"
TYPES = {
    name: ExecutorType(name.partition("-")[0])
    for name in sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
}
OTHER = "3f0c0b5e-1111-4222-8333-444455556667"
LONG = "x" * 200_000
HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, -0.0, 0.1, 2**63, -(2**64), 10**400, 1e308, -1e308),
    *("", " ", "\x00", "a\x00b", "\x1b[2J\x1b]0;owned\x07", "\u202eabc\u200b", "\ud800"),
    *("../../etc/passwd", "-rf", "--yolo", "a\nb", "\r\n", OTHER, LONG, "9" * 5000, "1e999", "NaN"),
    *([], {}, [[]], {"type": "result"}, {"": None}, ["x"] * 3000, [{"text": "a"}, 7, None]),
)
PLAIN_NUMBERS = ("Infinity", "-Infinity", "NaN", "1e999", "-1e999", "0x10", "1" * 5000)
"""What stands in a line as it is: no number of JSON, or one that is too large."""


def executor_of(kind: ExecutorType) -> Any:
    return make_executor(ExecutorConfig(name="x", type=kind, command=("a",), resume=("r",)))


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where each value stands in an event, the event itself among them."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value[:2]):
            yield from places(each, (*path, number))


def shape(value: Any) -> Any:
    """Return the form of an event: two of the same form are read by the same code."""
    if isinstance(value, dict):
        words = {key: value[key] for key in ("type", "subtype", "status", "role") if key in value}
        return repr((repr(words), [(key, shape(each)) for key, each in sorted(value.items())]))
    return [shape(each) for each in value[:2]] if isinstance(value, list) else type(value).__name__


def events_of(name: str) -> list[Any]:
    """Return one event of each form that a CLI was recorded to print."""
    found: dict[str, Any] = {}
    for path in sorted((RECORDINGS / name).glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            found.setdefault(str(shape(event)), event)
    return list(found.values())


def changed(event: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """Return an event with another value at a place."""
    if not place:
        return value
    copy = json.loads(json.dumps(event))
    inside = copy
    for part in place[:-1]:
        inside = inside[part]
    inside[place[-1]] = value
    return copy


def hostile_lines(name: str) -> Iterator[bytes]:
    marks = ("@hostile@",)
    for event in events_of(name):
        for place in places(event):
            for value in HOSTILE:
                yield json.dumps(changed(event, place, value)).encode()
            marked = json.dumps(changed(event, place, marks[0]))
            for number in PLAIN_NUMBERS:
                yield marked.replace(json.dumps(marks[0]), number).encode()


def check_event(event: Event) -> None:
    """Fail where an event cannot be stored, shown or summed."""
    for text in (event.text, event.tool or "", event.model):
        text.encode()
        assert "\0" not in text
    assert len(event.message.encode()) <= 1000  # compared, and neither kept nor shown
    assert len(event.text) <= 5000, "a text is shortened"
    if event.session_id is not None:
        assert 0 < len(event.session_id) <= 256
        assert event.session_id.isprintable()
        assert not event.session_id.startswith("-")
    for number in (event.cost_usd, event.resets_at, event.at):
        assert number is None or (math.isfinite(number) and number >= 0), number
    for tokens in (event.tokens, event.totals):
        if tokens is not None:
            assert_counts(msgspec.to_builtins(tokens))
    assert event.count >= 0
    assert event.status is None or 100 <= event.status < 600
    msgspec.json.encode(event)


def assert_counts(value: Any) -> None:
    """Fail where a number of a use is negative, endless, or too large to be summed."""
    if isinstance(value, dict):
        for each in value.values():
            assert_counts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            assert_counts(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        assert math.isfinite(value)
        assert 0 <= value <= MOST_TOKENS


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_no_value_in_an_event_does_harm(name: str) -> None:
    executor = executor_of(TYPES[name])
    begun, seen, lines = time.monotonic(), Observation(), 0
    for line in hostile_lines(name):
        lines += 1
        for event in executor.read_line(line):
            check_event(event)
            seen = seen.after(event)
    assert lines > 1000
    assert len(seen.denied_tools) <= MOST_DENIALS
    assert len(seen.meter.recent) <= MOST_RECENT
    assert len(seen.meter.since) <= MOST_MODELS + 1
    assert_counts(msgspec.to_builtins(seen.meter.totals) if seen.meter.totals else {})
    tail = "\x1b[2J" + LONG[:8000]
    verdict = executor.classify(Ending(1, None, tail, tail), seen)
    verdict.reason.encode()
    assert "\0" not in verdict.reason
    assert time.monotonic() - begun < 120


def flood(name: str) -> Iterator[bytes]:
    """Yield lines for ever: denials, tools, messages and sessions, each of another name."""
    events = events_of(name)
    for number in count():
        text = json.dumps(events[number % len(events)])
        yield text.replace("msg_", f"msg_{number}").encode() + b"\n"


@pytest.mark.parametrize("name", TYPES)
def test_a_stream_of_them_is_bounded(name: str, tmp_path: Path) -> None:
    """Deep objects, lines without an end and bytes that are no text stand between whole events."""
    path = tmp_path / "output.jsonl"
    lines = [*islice(flood(name), 3000)]
    deep = b'{"type":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    objects = b'{"type":"result","item":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}\n"
    odd = [
        deep,
        objects,
        b"\xff\xfe\x00\n",
        b"\0" * 5000 + b"\n",
        b"\x1b[31m\n",
        b"{\n",
        b'"type"\n',
    ]
    with path.open("wb") as file:
        for number, line in enumerate(lines):
            file.write(line)
            if number % 400 == 0:
                file.writelines(odd)
        file.write(b'{"type":"' + b"x" * (LONGEST_LINE_BYTES + 1) + b'"}\n')
        file.writelines(lines[:10])
    reader = OutputReader(path, executor_of(TYPES[name]), OTHER)
    reader.read_new(last=True)
    seen = reader.seen
    assert reader.offset == path.stat().st_size
    assert seen.session_id in (None, OTHER) or not AGENT_CLIS[TYPES[name]].keeps_ids
    assert len(seen.denied_tools) <= MOST_DENIALS
    assert len(msgspec.json.encode(seen)) < 1 << 20
