"""What a running agent does, or what keeps it, as its output tells."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import EXECUTORS, make_job

from sow.paths import Workspace
from sow.reports.activity import Activity, activity_of, stall_of
from sow.schema.job import Job, JobState, Verb


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields}) + "\n"


def retry(status: int | None, attempt: int) -> str:
    return line("system", subtype="api_retry", attempt=attempt, error_status=status, error="x")


def tool(name: str, **arguments: str) -> str:
    block = {"type": "tool_use", "name": name, "input": arguments}
    return line("assistant", message={"content": [block]})


def text(words: str) -> str:
    return line("assistant", message={"content": [{"type": "text", "text": words}]})


def answer(words: str) -> str:
    return line("user", message={"content": [{"type": "tool_result", "content": words}]})


BEGUN = line("system", subtype="init", session_id="s")


def look(
    tmp_path: Path, output: str | bytes, *, attempt: int = 1, quiet: float = 20.0, **fields: Any
) -> Activity | None:
    """Return the activity of a running job whose attempt has printed `output`."""
    job = running(**fields)
    paths = Workspace(tmp_path).attempt(job.id, attempt)
    paths.folder.mkdir(parents=True, exist_ok=True)
    data = output if isinstance(output, bytes) else output.encode()
    paths.output.write_bytes(data)
    now = time.time()
    os.utime(paths.output, (now - quiet, now - quiet))
    return activity_of(Workspace(tmp_path), job, now)


def running(**fields: Any) -> Job:
    return make_job(**{"state": JobState.RUNNING, **fields})


@pytest.mark.parametrize("has_printed", [True, False])
def test_a_mark_of_its_worker_says_that_there_is_no_sign_of_life(
    tmp_path: Path, has_printed: bool
) -> None:
    job = running()
    paths = Workspace(tmp_path).attempt(job.id, 1)
    paths.folder.mkdir(parents=True)
    if has_printed:
        paths.output.write_text(BEGUN + tool("Bash", command="npm test"))
    now = time.time()
    assert stall_of(Workspace(tmp_path), job, now) == ""
    paths.quiet.write_text(str(now - 1500))

    found = activity_of(Workspace(tmp_path), job, now)
    last = "; last: Bash: npm test" if has_printed else ""
    assert str(found) == f"no sign of life for 25m00s{last}"
    assert stall_of(Workspace(tmp_path), job, now) == "no sign of life for 25m00s"


def words(tmp_path: Path, output: str | bytes, **fields: Any) -> str:
    found = look(tmp_path, output, **fields)
    assert found is not None
    return found.words


def test_a_failing_request_is_told_with_its_status_and_its_count(tmp_path: Path) -> None:
    output = BEGUN + "".join(retry(429, number) for number in range(1, 5))
    assert words(tmp_path, output) == "request failed (429), tried again, 4th time"
    assert words(tmp_path, BEGUN + retry(401, 1)) == "request failed (401), tried again"
    assert words(tmp_path, BEGUN + retry(None, 2)) == (
        "request failed (no answer), tried again, 2nd time"
    )


@pytest.mark.parametrize(
    ("count", "ordinal"), [(3, "3rd"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")]
)
def test_the_count_is_said_as_people_say_it(tmp_path: Path, count: int, ordinal: str) -> None:
    assert words(tmp_path, retry(500, count)).endswith(f"tried again, {ordinal} time")


def test_the_last_call_of_a_tool_is_told_also_while_it_talks(tmp_path: Path) -> None:
    output = BEGUN + tool("Read", file_path="a.py") + tool("Bash", command="npm test")
    assert words(tmp_path, output) == "Bash: npm test"
    assert words(tmp_path, output + answer("ok") + text("All is well")) == "Bash: npm test"
    assert words(tmp_path, retry(529, 3) + output) == "Bash: npm test"


def test_an_answered_request_fails_no_more(tmp_path: Path) -> None:
    assert words(tmp_path, BEGUN + retry(429, 3) + text("Now I see")) == "says: Now I see"


def test_how_often_a_request_has_failed_and_that_all_is_said_are_told(tmp_path: Path) -> None:
    def facts(output: str) -> tuple[int, bool]:
        found = look(tmp_path, BEGUN + output)
        assert found is not None
        return found.failures, found.has_ended

    uncounted = line("system", subtype="api_retry", error_status=429, error="x")
    assert facts(retry(429, 1) + retry(429, 2)) == (2, False)
    assert facts(uncounted * 3) == (3, False)
    assert facts(retry(429, 9) + text("Now I see")) == (0, False)
    assert facts(retry(429, 9) + line("result", result="No", is_error=True)) == (0, True)


def test_words_stand_for_a_program_that_tells_of_no_tools(tmp_path: Path) -> None:
    windsurf = EXECUTORS["windsurf"].config
    assert words(tmp_path, "one\ntwo\n", executor=windsurf) == "says: two"


def test_a_limit_that_is_reached_and_a_last_word_are_told(tmp_path: Path) -> None:
    limit = line("rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": 2e9})
    assert words(tmp_path, tool("Bash", command="ls") + limit) == "a usage limit was reached"
    allowed = line("rate_limit_event", rate_limit_info={"status": "allowed"})
    assert words(tmp_path, tool("Bash", command="ls") + allowed) == "Bash: ls"
    background = line(
        "system", subtype="background_tasks_changed", tasks=[{"description": "npm run dev"}]
    )
    waits = tool("Bash", command="ls") + background + line("result", result="Done")
    assert words(tmp_path, waits) == "waits for what runs in the background: npm run dev"
    assert words(tmp_path, line("result", result="Done")) == "has said its last word"


def test_what_an_agent_prints_moves_no_cursor_and_makes_no_line(tmp_path: Path) -> None:
    call = tool("Bash", command="printf '\x1b[2J'\nrm -rf build")
    assert words(tmp_path, call) == "Bash: printf '' rm -rf build"


def test_of_a_sequence_that_steers_no_letter_is_left(tmp_path: Path) -> None:
    hostile = "\x1b]0;title\x07\x1b[2J\x1b[8mred\x9b31m words"
    assert words(tmp_path, BEGUN + text(hostile)) == "says: red words"
    assert words(tmp_path, BEGUN + tool("Bash", command=hostile)) == "Bash: red words"


def test_a_long_answer_hides_the_call_before_it_no_longer_than_a_mebibyte(tmp_path: Path) -> None:
    call = tool("Bash", command="cat big")
    assert words(tmp_path, call + answer("x" * 300_000)) == "Bash: cat big"
    assert words(tmp_path, call + answer("x" * 3_000_000)) == ""


def test_only_the_newest_attempt_counts_also_before_it_prints(tmp_path: Path) -> None:
    look(tmp_path, tool("Bash", command="old"), attempt=9)
    assert words(tmp_path, tool("Bash", command="new"), attempt=10) == "Bash: new"
    (Workspace(tmp_path).attempt(running().id, 11).folder).mkdir()
    assert activity_of(Workspace(tmp_path), running(), time.time()) is None


def test_it_tells_how_long_the_agent_has_been_quiet(tmp_path: Path) -> None:
    found = look(tmp_path, BEGUN, quiet=20.0)
    assert found is not None
    assert (found.words, round(found.quiet_seconds)) == ("", 20)


@pytest.mark.parametrize("noise", [b"", b"\xff\xfe{", b'{"type":"system","subtype":"api_retry"'])
def test_noise_tells_nothing(tmp_path: Path, noise: bytes) -> None:
    assert words(tmp_path, noise) == ""


def test_a_count_that_is_no_number_is_none(tmp_path: Path) -> None:
    odd = line("system", subtype="api_retry", attempt="many", error_status=429)
    assert words(tmp_path, odd) == "request failed (429), tried again"
    assert words(tmp_path, retry(429, -7)) == "request failed (429), tried again"


def test_what_does_not_run_does_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert look(tmp_path, tool("Bash", command="ls")) is not None
    for job in (
        make_job(state=JobState.BACKOFF),
        make_job(state=JobState.DONE),
        running(verb=Verb.OPEN),
    ):
        assert activity_of(workspace, job, time.time()) is None
    unlike = running(id=77)
    assert activity_of(workspace, unlike, time.time()) is None


def test_output_that_is_no_file_tells_nothing(tmp_path: Path) -> None:
    paths = Workspace(tmp_path).attempt(running().id, 1)
    paths.folder.mkdir(parents=True)
    os.mkfifo(paths.output)
    assert activity_of(Workspace(tmp_path), running(), time.time()) is None
