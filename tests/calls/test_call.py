"""A call from its placing to its outcome, without a terminal, a signal or a worker."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest
from calls.desk import Desk
from click.testing import CliRunner
from msgspec.structs import replace

from sow.calls.autostart import NoWorker
from sow.calls.call import (
    CallProgress,
    Listener,
    Result,
    Terms,
    begin,
    call,
    left_to_wait_for,
    wait_on_record,
)
from sow.calls.idempotency import OutcomeIsOwed, TaskHasJob
from sow.calls.last_job import NoJobYet
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress
from sow.cli.call_options import WaitOptions
from sow.cli.cursor_wait import wait_since
from sow.cli.tree import root
from sow.errors import SowError
from sow.ids import JobId, TaskId
from sow.jobs import waiters
from sow.jobs.changes import Filter
from sow.schema.job import JobState
from sow.schema.output.outcome import Outcome
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownTask


@dataclass
class Heard:
    """What a call has told; `acts` is what happens each time that it goes on waiting."""

    acts: Callable[[Progress], None] = lambda _: None
    placed: list[int] = field(default_factory=list)
    refused: list[tuple[str, type[SowError]]] = field(default_factory=list)
    unstaffed: list[NoWorker] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    ended: list[Outcome] = field(default_factory=list)

    def listener(self) -> Listener:
        def on_refused(task_id: TaskId, error: SowError) -> None:
            self.refused.append((task_id, type(error)))

        def on_placed(found: Placed) -> None:
            self.placed.append(found.job.id)

        def on_progress(progress: Progress) -> None:
            self.progress.append(progress)
            self.acts(progress)

        return Listener(
            on_placed, on_refused, self.unstaffed.append, on_progress, self.ended.append
        )


class TerminalIsGone(Exception):
    """What a listener raises that has nobody to tell any more."""


def make(desk: Desk, *requests: Request, heard: Heard, **terms: Any) -> tuple[Result, CallProgress]:
    call_progress = begin(desk.database, requests)
    result = call(
        desk.caller,
        desk.database,
        desk.config,
        requests,
        Terms(**terms),
        heard.listener(),
        call_progress,
    )
    return result, call_progress


def reports(desk: Desk) -> Callable[[Progress], None]:
    """Let every agent that is waited for report."""
    return lambda progress: [desk.end(job_id) for job_id in progress.job_ids] and None


def test_a_call_places_waits_and_delivers(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.staff()
    desk.task()
    heard = Heard(reports(desk))
    result, call_progress = make(desk, desk.spawn(), heard=heard)
    assert heard.placed == [1]
    assert [outcome.status for outcome in heard.ended] == ["needs_review"]
    assert result.ended == tuple(heard.ended)
    assert result.left == ()
    assert not desk.is_owed(1)
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == []
    assert capfd.readouterr() == ("", ""), "a call prints nothing"


def test_a_listener_that_raises_leaves_the_jobs_and_is_owed_their_outcomes(desk: Desk) -> None:
    desk.staff()
    desk.task()
    call_progress = begin(desk.database, [desk.spawn()])

    def leave(_: Progress) -> None:
        raise TerminalIsGone

    with pytest.raises(TerminalIsGone):
        call(
            desk.caller,
            desk.database,
            desk.config,
            [desk.spawn()],
            Terms(),
            Listener(progress=leave),
            call_progress,
        )
    assert desk.job(1).state is JobState.QUEUED
    assert desk.is_owed(1)
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]


def test_an_outcome_that_could_not_be_shown_stays_owed(desk: Desk) -> None:
    desk.staff()
    desk.task()
    heard = Heard(reports(desk))

    def fail(_: Outcome) -> None:
        raise TerminalIsGone

    listener = replace(heard.listener(), ended=fail)
    call_progress = begin(desk.database, [desk.spawn()])
    with pytest.raises(TerminalIsGone):
        call(
            desk.caller,
            desk.database,
            desk.config,
            [desk.spawn()],
            Terms(),
            listener,
            call_progress,
        )
    assert desk.job(1).state is JobState.DONE
    assert desk.is_owed(1)
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]


def test_of_several_one_that_is_refused_does_not_stop_the_others(desk: Desk) -> None:
    desk.staff()
    desk.task("010", TaskStatus.IN_PROGRESS)
    desk.queue(task_id="010", prompt="of another call")
    desk.task("020")
    heard = Heard(reports(desk))
    result, _ = make(desk, desk.spawn("010"), desk.spawn("020"), heard=heard)
    assert heard.refused == [("010", TaskHasJob)]
    assert [type(error) for error in result.refused] == [TaskHasJob]
    assert [outcome.task for outcome in result.ended] == ["020"]


def test_where_all_are_refused_nothing_is_waited_for(desk: Desk) -> None:
    desk.task("010")
    desk.queue(task_id="010", prompt="of another call")
    heard = Heard()
    result, _ = make(desk, desk.spawn("010"), desk.spawn("020"), heard=heard)
    assert len(result.refused) == 2
    assert (result.placed, result.ended, heard.progress) == ((), (), [])


def test_a_single_request_that_is_refused_raises(desk: Desk) -> None:
    desk.task()
    desk.queue(prompt="of another call")
    with pytest.raises(TaskHasJob):
        make(desk, desk.spawn(), heard=Heard())


def test_when_time_is_up_what_still_runs_is_left(desk: Desk) -> None:
    desk.staff()
    desk.task()
    result, call_progress = make(desk, desk.spawn(), heard=Heard(), seconds=0.0)
    assert [outcome.state for outcome in result.left] == ["queued"]
    assert result.ended == ()
    assert desk.is_owed(1)
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]


def test_one_outcome_of_several_may_be_enough(desk: Desk) -> None:
    desk.staff()
    desk.task("010")
    desk.task("020")
    heard = Heard(lambda progress: desk.end(progress.job_ids[0]))
    result, _ = make(desk, desk.spawn("010"), desk.spawn("020"), heard=heard, any_one=True)
    assert [outcome.task for outcome in result.ended] == ["010"]
    assert [outcome.task for outcome in result.left] == ["020"]


def test_a_call_that_detaches_waits_for_nothing_and_is_owed_nothing(desk: Desk) -> None:
    desk.staff()
    desk.task()
    heard = Heard()
    result, _ = make(desk, desk.spawn(), heard=heard, detach=True)
    assert [found.job.id for found in result.placed] == [1]
    assert (heard.progress, heard.unstaffed) == ([], [])
    assert not desk.is_owed(1)


def unshown(desk: Desk) -> list[int]:
    """Return the jobs whose outcomes `sow next` names as not shown."""
    found = waiters.unshown(desk.database, desk.job(1).project_id)
    return [job.job_id for job in found]


def test_the_outcome_of_a_call_that_detached_is_unshown_until_a_call_waits_for_it(
    desk: Desk,
) -> None:
    desk.staff()
    for task in ("010", "020"):
        desk.task(task)
    make(desk, desk.spawn("010"), desk.spawn("020"), heard=Heard(), detach=True)
    assert unshown(desk) == []
    for job in (1, 2):
        desk.end(job)
    assert unshown(desk) == [1, 2]
    wait(desk, "010", heard=Heard())
    assert unshown(desk) == [2]
    assert not desk.is_owed(1)


def test_what_a_key_of_the_view_has_queued_is_seen_there(desk: Desk) -> None:
    desk.staff()
    desk.task()
    make(desk, desk.spawn(), heard=Heard(), detach=True, is_watched=True)
    desk.end(1)
    assert unshown(desk) == []


def test_the_end_of_a_detached_job_that_a_server_has_printed_lies_in_its_escrow(
    desk: Desk,
) -> None:
    """Its client may never read it."""
    desk.staff()
    desk.task()
    make(desk, desk.spawn(), heard=Heard(), detach=True)
    desk.end(1)
    server = replace(desk.caller, environ={**desk.caller.environ, "SOW_ESCROW": "m1-0000abcd"})
    wanted, options = Filter(project=desk.job(1).project_id), WaitOptions(as_json=True)
    wait_since(server, desk.database, "0", options, wanted=wanted, code=lambda: 0)
    assert waiters.of_job(desk.database, JobId(1)) == ["m1-0000abcd"]


def test_a_call_that_finds_a_detached_call_s_job_takes_its_outcome_up(desk: Desk) -> None:
    desk.staff()
    desk.task()
    make(desk, desk.spawn(), heard=Heard(), detach=True)

    def leave(progress: Progress) -> None:
        reports(desk)(progress)
        raise TerminalIsGone

    with pytest.raises(TerminalIsGone):
        make(desk, desk.spawn(), heard=Heard(leave))
    assert (unshown(desk), desk.is_owed(1)) == ([], True)
    make(desk, desk.spawn(), heard=Heard())
    assert not waiters.of_job(desk.database, JobId(1))


def test_a_call_that_detaches_only_says_that_no_worker_lives(desk: Desk) -> None:
    desk.task()
    heard = Heard()
    make(desk, desk.spawn(), heard=heard, detach=True)
    assert len(heard.unstaffed) == 1
    assert desk.job(1).state is JobState.QUEUED


def test_a_call_that_waits_is_refused_where_no_worker_lives_and_none_may_be_started(
    desk: Desk,
) -> None:
    desk.task()
    with pytest.raises(NoWorker):
        make(desk, desk.spawn(), heard=Heard())
    assert desk.job(1).state is JobState.QUEUED
    assert desk.is_owed(1)


def test_a_call_that_detaches_is_refused_an_outcome_that_is_owed(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    desk.owe(job)
    with pytest.raises(OutcomeIsOwed) as refusal:
        make(desk, desk.spawn(), heard=Heard(), detach=True)
    assert "--again" in refusal.value.hint
    assert desk.is_owed(job.id)


def test_a_call_that_waits_is_given_an_outcome_that_is_owed(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    desk.owe(job)
    result, _ = make(desk, desk.spawn(), heard=Heard())
    (outcome,) = result.ended
    assert (outcome.job, outcome.owed, outcome.anew_with) == (job.id, True, "--again")
    assert not desk.is_owed(job.id)


def wait(desk: Desk, *tasks: str, heard: Heard, **terms: Any) -> tuple[Result, CallProgress]:
    call_progress = CallProgress([TaskId(task) for task in tasks])
    result = wait_on_record(
        desk.caller, desk.database, desk.config, Terms(**terms), heard.listener(), call_progress
    )
    return result, call_progress


def test_a_wait_takes_the_newest_job_and_strikes_what_others_are_owed(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    desk.owe(job)
    desk.database.run(
        "insert into waiter (id, job_id, created_at) values ('another', ?, 1.0)", (job.id,)
    )
    result, call_progress = wait(desk, "010", heard=Heard(), strikes_all=True)
    assert [outcome.owed for outcome in result.ended] == [True]
    assert not desk.is_owed(job.id)
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == []


def test_a_wait_for_a_task_without_a_job_is_refused(desk: Desk) -> None:
    desk.task()
    with pytest.raises(NoJobYet):
        wait(desk, "010", heard=Heard())


def test_of_several_that_are_waited_for_one_without_a_job_does_not_stop_the_others(
    desk: Desk,
) -> None:
    desk.task("010")
    desk.end(desk.queue(task_id="010").id)
    desk.task("020")
    heard = Heard()
    result, _ = wait(desk, "010", "020", "999", heard=heard)
    assert [outcome.task for outcome in result.ended] == ["010"]
    assert heard.refused == [("020", NoJobYet), ("999", UnknownTask)]
    assert [type(error) for error in result.refused] == [NoJobYet, UnknownTask]


def test_a_wait_for_several_of_which_none_has_a_job_waits_for_nothing(desk: Desk) -> None:
    desk.task("010")
    heard = Heard()
    result, _ = wait(desk, "010", "020", heard=heard)
    assert len(result.refused) == 2
    assert (result.placed, result.ended, heard.progress) == ((), (), [])


def test_the_outcome_of_an_agent_that_asks_has_its_question(desk: Desk) -> None:
    desk.staff()
    desk.task()
    desk.log_as("implementer", "Which one?", text="RS256 or\nHS256")
    heard = Heard(
        lambda progress: [desk.end(each, TaskStatus.PAUSED) for each in progress.job_ids] and None
    )
    make(desk, desk.spawn(), heard=heard)
    (outcome,) = heard.ended
    assert outcome.agent_says == "Which one?\nRS256 or\nHS256"
    assert outcome.next_step == 'Answer: `sow agent answer 010 "…"`.'


def test_a_wait_that_is_left_names_its_tasks_whoever_placed_their_jobs(desk: Desk) -> None:
    desk.staff()
    desk.task()
    desk.queue()
    result, call_progress = wait(desk, "010", heard=Heard(), seconds=0.0)
    assert [outcome.task for outcome in result.left] == ["010"]
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]


def test_a_call_that_is_left_names_no_older_job_of_its_tasks(desk: Desk) -> None:
    desk.task()
    desk.queue()
    call_progress = begin(desk.database, [desk.spawn()])
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == []


def test_where_nobody_can_tell_all_tasks_are_named(desk: Desk) -> None:
    call_progress = begin(desk.database, [desk.spawn("010")])
    (desk.workspace.project / "state.yaml").write_text("project: [")
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]


MOST_MODULES = 7


def test_the_way_from_the_command_to_the_queue_is_short_and_straight(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each module of the way is entered once: what is left behind is not come back to."""
    desk.staff()
    desk.task()
    for name, value in desk.caller.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(desk.workspace.root)
    found: list[list[str]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        statement = frame.f_locals.get("sql", "") if event == "call" else ""
        if frame.f_code.co_name == "insert" and str(statement).startswith("insert into task "):
            found.append(_modules_of(frame))

    sys.setprofile(look)
    try:
        CliRunner().invoke(root, ["agent", "spawn", "implementer", "010", "--detach"])
    finally:
        sys.setprofile(None)
    assert desk.job(1).state is JobState.QUEUED
    (way,) = found
    from_command = way[way.index("sow.cli.agent_spawn") :]
    assert from_command[-1] == "sow.jobs.database"
    assert len(from_command) <= MOST_MODULES, from_command
    assert len(set(from_command)) == len(from_command), "it climbs back"


def _modules_of(frame: FrameType | None) -> list[str]:
    """Return the modules of ours that a call has come through, each time it was entered."""
    names: list[str] = []
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("sow.") and (not names or names[-1] != name):
            names.append(name)
        frame = frame.f_back
    return names[::-1]


def test_a_call_touches_no_descriptor_of_its_process(desk: Desk) -> None:
    """Whoever calls may have closed its standard output: the call itself goes on."""
    desk.staff()
    desk.task()
    kept = os.dup(1)
    os.close(1)
    try:
        result, _ = make(desk, desk.spawn(), heard=Heard(reports(desk)))
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert [outcome.status for outcome in result.ended] == ["needs_review"]
