"""`sow job logs`: kinds, times, several jobs at once, and what is too old to be shown."""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import ended_job

from sow.clock import clock_time
from sow.ids import AttemptId, JobId, ProjectId, WorkerId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Attempt, Cause, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.projects import read_project

Sow = Callable[..., Any]
BEGAN = 1_795_300_000.0
"""When the first words were said, in seconds since the epoch."""


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields}) + "\n"


def spoken(after: float, *blocks: dict[str, Any], kind: str = "assistant") -> str:
    stamp = f"2026-11-21T22:{26 + (after + 40) // 60:02.0f}:{(after + 40) % 60:02.0f}.000Z"
    return line(kind, message={"content": list(blocks)}, timestamp=stamp)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Bash", "input": {"command": command}}


def answer(words: str, *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "content": words, "is_error": failed}


OUTPUT = "".join(
    (
        line("system", subtype="init", session_id="s", model="m"),
        spoken(0, text("I look\naround.")),
        spoken(5, call("npm test")),
        spoken(60, answer("12 passed\nin 3s\n"), kind="user"),
        spoken(65, call("npm run lint")),
        spoken(70, answer("Exit code 1\nno such script", failed=True), kind="user"),
        line("result", result="Done.", permission_denials=[{"tool_name": "WebFetch"}]),
    )
)


class Records:
    """Jobs on record, with what their agents have printed."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)

    def job(self, task: str, *outputs: str, final: bool = True) -> None:
        """Put a job on record that has had an attempt for each output."""
        state = JobState.DONE if final else JobState.RUNNING
        job = ended_job(state, TaskStatus.NEEDS_REVIEW, Cause.REPORTED)
        with closing(open_queue(self.workspace)) as database:
            fields = {name: getattr(job, name) for name in job.__struct_fields__}
            project = ProjectId(read_project(self.workspace).id)
            made = jobs.insert_job(
                database, type(job)(**{**fields, "project_id": project, "task_id": task})
            )
            for number, output in enumerate(outputs, 1):
                jobs.insert_attempt(database, _attempt(made.id, number))
                paths = self.workspace.attempt(made.id, number)
                paths.folder.mkdir(parents=True)
                paths.output.write_text(output)


def _attempt(job_id: JobId, number: int) -> Attempt:
    return Attempt(
        job_id=job_id,
        number=number,
        id=AttemptId(f"a{job_id}-{number}"),
        verb=Verb.SPAWN,
        worker_id=WorkerId("w1-aaaaaa"),
        created_at=BEGAN,
        started_at=BEGAN,
    )


@pytest.fixture
def records(begun: Sow, tmp_path: Path) -> Records:
    return Records(tmp_path)


def at(after: float) -> str:
    return clock_time(BEGAN + after, time.time())


def test_each_kind_has_its_mark_and_its_time(records: Records, sow: Sow) -> None:
    records.job("010", OUTPUT)
    shown = sow("job", "logs", "1")
    gap = " " * len(at(0))
    assert shown.out.splitlines() == [
        "==> attempt 1 <==",
        "          - session began (m)",
        f"{at(0)}    I look",
        f"{gap}    around.",
        f"{at(5)}  > Bash: npm test",
        f"{at(60)}  < 12 passed (+1 line)",
        f"{at(65)}  > Bash: npm run lint",
        f"{at(70)}  < Exit code 1",
        f"{gap}    no such script",
        "          ! denied: WebFetch",
        "          = ended: Done.",
    ]
    assert "010 needs_review" in shown.err


def test_a_request_that_fails_is_told_with_its_status_and_its_reason(
    records: Records, sow: Sow
) -> None:
    failed = {"subtype": "api_retry", "attempt": 2, "error_status": 429, "error": "rate_limit"}
    records.job("010", line("system", **failed))
    shown = sow("job", "logs", "1", "--attempt", "1").out
    assert shown == "! request failed (429), tried again, 2nd time: rate_limit\n"


def test_an_output_without_times_has_no_column_for_them(records: Records, sow: Sow) -> None:
    records.job("010", line("assistant", message={"content": [text("hello")]}))
    assert sow("job", "logs", "1", "--attempt", "1").out == "  hello\n"


def test_the_last_line_of_an_ended_job_needs_no_end(records: Records, sow: Sow) -> None:
    output = line("assistant", message={"content": [text("hello")]}).rstrip("\n")
    records.job("010", output)
    records.job("020", output, final=False)
    assert sow("job", "logs", "1", "--attempt", "1").out == "  hello\n"
    assert sow("job", "logs", "2", "--attempt", "1").out == ""
    assert [event["text"] for event in sow("job", "logs", "1", "--json").lines] == ["hello"]


def test_of_several_jobs_each_line_says_whose_it_is(records: Records, sow: Sow) -> None:
    words = line("assistant", message={"content": [text("one\ntwo")]})
    records.job("010", words, words)
    records.job("020", words)
    shown = sow("job", "logs", "2", "1", "2", "--follow")
    assert shown.out.splitlines() == [
        "2 020  ==> attempt 1 <==",
        "2 020    one",
        "2 020    two",
        *(
            f"1 010  {rest}"
            for number in (1, 2)
            for rest in (f"==> attempt {number} <==", "  one", "  two")
        ),
    ]
    assert [line.split()[0] for line in shown.err.splitlines()] == ["020", "010"]
    events = sow("job", "logs", "1", "2", "--json").lines
    assert [(event["job"], event["attempt"]) for event in events] == [(1, 1), (1, 2), (2, 1)]
    assert sow("job", "logs", "1", "2", "--raw").code == 2
    assert sow("job", "logs", "1", "7").code == 4


def test_only_what_is_no_older_is_shown(records: Records, sow: Sow) -> None:
    records.job("010", OUTPUT, OUTPUT)
    old = records.workspace.attempt(JobId(1), 1).output
    os.utime(old, (BEGAN, BEGAN))
    shown = sow("job", "logs", "1", "--since", "2026-11-21T22:27:43Z").out.splitlines()
    assert shown[:4] == [
        "==> attempt 1 <==",
        "==> attempt 2 <==",
        f"{at(65)}  > Bash: npm run lint",
        f"{at(70)}  < Exit code 1",
    ]
    events = sow("job", "logs", "1", "--since", "2026-11-21T22:27:43Z", "--json").lines
    assert [event["kind"] for event in events] == ["tool_use", "tool_result", "denial", "result"]
    assert events[0]["at"] == "2026-11-21T22:27:45Z"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--since", "soon"), "--since: not a length of time, and not a time: 'soon'"),
        (("--since", "1h", "--raw"), "--since selects events"),
    ],
)
def test_what_does_not_go_together_is_refused(
    records: Records, sow: Sow, words: tuple[str, ...], error: str
) -> None:
    records.job("010", OUTPUT)
    refused = sow("job", "logs", "1", *words)
    assert (refused.code, refused.out) == (2, "")
    assert error in refused.err


def test_raw_is_the_output_byte_by_byte(records: Records, sow: Sow) -> None:
    records.job("010", OUTPUT)
    assert sow("job", "logs", "1", "--raw", "--attempt", "1").out == OUTPUT
