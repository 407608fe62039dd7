"""An agent's output as events for people: kinds and words, bounds, and reading on."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import EXECUTORS

from sow.executors import base
from sow.executors.base import EventKind
from sow.executors.lines import LONGEST_LINE_BYTES
from sow.reports import agent_events
from sow.reports.agent_events import Event, Kind, OutputReader, shown_event

CLAUDE = EXECUTORS["claude-code"].config


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields}) + "\n"


def message(*blocks: dict[str, Any], **fields: Any) -> str:
    return line("assistant", message={"content": list(blocks)}, **fields)


def words(text: str) -> str:
    return message({"type": "text", "text": text})


def call(name: str, **arguments: str) -> str:
    return message({"type": "tool_use", "name": name, "input": arguments})


def answer(content: Any, *, failed: bool = False) -> str:
    block = {"type": "tool_result", "content": content, "is_error": failed}
    return line("user", message={"content": [block]})


def output(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "output.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path: Path, text: str | bytes) -> list[Event]:
    return list(OutputReader(output(tmp_path, text), CLAUDE).read())


def test_each_line_becomes_an_event_of_its_kind(tmp_path: Path) -> None:
    lines = [
        line("system", subtype="init", session_id="s", model="claude-x"),
        words("# Plan\n\nFirst the tests."),
        call("Bash", command="npm test"),
        answer("2 failed\nsee above", failed=True),
        answer([{"type": "text", "text": "fine"}, {"type": "image"}]),
        line("system", subtype="api_retry", attempt=2, error_status=529, error="overloaded"),
        line("rate_limit_event", rate_limit_info={"status": "rejected"}),
        line("rate_limit_event", rate_limit_info={"status": "allowed"}),
        line("result", result="All done.", permission_denials=[{"tool_name": "WebFetch"}]),
    ]
    assert read(tmp_path, "".join(lines)) == [
        Event(Kind.NOTE, "session began (claude-x)"),
        Event(Kind.TEXT, "# Plan", "# Plan\n\nFirst the tests."),
        Event(Kind.TOOL, "Bash: npm test"),
        Event(Kind.TOOL_RESULT, "2 failed", "2 failed\nsee above", failed=True),
        Event(Kind.TOOL_RESULT, "fine"),
        Event(Kind.RETRY, "request failed (529), tried again, 2nd time", "overloaded", failed=True),
        Event(Kind.ERROR, "usage limit reached", failed=True),
        Event(Kind.ERROR, "denied: WebFetch", failed=True),
        Event(Kind.RESULT, "ended: All done."),
    ]


def test_a_result_that_repeats_the_last_words_does_not_say_them_twice(tmp_path: Path) -> None:
    found = read(tmp_path, words("All done.") + line("result", result="All done."))
    assert found == [Event(Kind.TEXT, "All done.", "All done."), Event(Kind.RESULT, "ended")]


def test_an_event_has_its_time_where_the_line_tells_one(tmp_path: Path) -> None:
    block = {"type": "text", "text": "now"}
    dated = message(block, timestamp="2026-11-22T00:55:31.115Z")
    broken = [message(block, timestamp=stamp) for stamp in ("soon", 7, "0001-01-01T00:00:00+14:00")]
    assert [event.at for event in read(tmp_path, dated + "".join(broken))] == [
        pytest.approx(1795308931.115),
        None,
        None,
        None,
    ]


def test_nothing_that_an_agent_says_steers_a_terminal_or_goes_on_for_ever(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07red\u202e\x00\x9b1m\r\nnext\tcell" + "x" * 100_000
    text = words(hostile) + call("Bash\x1b[31m", command=hostile) + answer(hostile)
    for event in read(tmp_path, text):
        assert event.title.isprintable()
        assert event.body.replace("\n", "").isprintable()
        assert len(event.title) <= agent_events.LONGEST_TITLE
        assert len(event.body) <= 4001


@pytest.mark.slow
@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=lambda each: str(each.name))
def test_no_bytes_raise(tmp_path: Path, executor: Any) -> None:
    rng = random.Random(7)
    sound = (
        words("a") + call("B", command="c") + answer("d") + line("result", result="e")
    ).encode()
    for number in range(300):
        data = bytearray(sound)
        for _ in range(rng.randrange(1, 30)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = tmp_path / f"{number}"
        path.write_bytes(bytes(data))
        reader = OutputReader(path, executor.config)
        assert all(isinstance(event, Event) for event in [*reader.read(), *reader.read_rest()])


def test_it_reads_on_from_where_it_stopped_and_tells_a_line_once_it_is_whole(
    tmp_path: Path,
) -> None:
    whole = words("one") + words("two")
    path = output(tmp_path, whole[: len(whole) - 9])
    reader = OutputReader(path, CLAUDE)
    assert [event.title for event in reader.read()] == ["one"]
    assert list(reader.read()) == []
    with path.open("a") as file:
        file.write(whole[len(whole) - 9 :] + words("three")[:-1])
    assert [event.title for event in reader.read()] == ["two"]
    assert [event.title for event in reader.read_rest()] == ["three"]
    assert OutputReader(path, CLAUDE, position=reader.position).position == len(path.read_bytes())


def test_the_end_of_an_output_of_any_size_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    with path.open("wb") as file:
        file.truncate(200_000_000)  # a hole: whoever read it all would hold it
        file.seek(0, 2)
        file.write(("\n" + "".join(words(f"{number}") for number in range(5))).encode())
    reader = OutputReader(path, CLAUDE)
    assert [event.title for event in reader.read_end(3)] == ["2", "3", "4"]
    with path.open("a") as file:
        file.write(words("5"))
    assert [event.title for event in reader.read()] == ["5"]


def test_an_end_behind_a_long_line_is_looked_for_further_up(tmp_path: Path) -> None:
    path = output(tmp_path, words("before") + answer("x" * 300_000) + line("noise"))
    assert [event.kind for event in OutputReader(path, CLAUDE).read_end(1)] == [Kind.TOOL_RESULT]
    assert OutputReader(path, CLAUDE).read_end(0) == []
    path = output(tmp_path, "x" * (LONGEST_LINE_BYTES + 9))
    assert OutputReader(path, CLAUDE).read_end(3) == []


def test_who_falls_behind_is_told_how_much_is_passed_over(tmp_path: Path) -> None:
    path = output(tmp_path, words("first"))
    reader = OutputReader(path, CLAUDE)
    list(reader.read(latest=500))
    assert reader.passed_over == 0
    with path.open("a") as file:
        file.write("".join(words(f"{number:04}") for number in range(1000)))
    length = len(words("0000"))
    found = list(reader.read(latest=10 * length))
    assert [event.title for event in found] == [f"{number:04}" for number in range(990, 1000)]
    assert reader.passed_over == 990 * length


def test_a_step_s_log_is_words_line_by_line(tmp_path: Path) -> None:
    reader = OutputReader(output(tmp_path, '{"type":"result"}\n\nok\n'), None)
    assert [(event.kind, event.title) for event in reader.read()] == [
        (Kind.TEXT, '{"type":"result"}'),
        (Kind.TEXT, "ok"),
    ]


def test_there_may_be_no_output_yet(tmp_path: Path) -> None:
    reader = OutputReader(tmp_path / "output.jsonl", CLAUDE)
    assert reader.read_end(5) == []
    assert list(reader.read(latest=1)) == []


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_of_event_has_words_or_is_left_out_on_purpose(kind: EventKind) -> None:
    shown = shown_event(base.Event(kind, text="words", tool="tool"))
    assert (shown is None) == (kind is EventKind.USAGE)
    assert shown is None or shown.title
