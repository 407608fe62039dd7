"""`sow job explain` on jobs of every kind, as somebody reads it who was woken up for it."""

from contextlib import closing
from typing import Any

import pytest
from journeys.callers import (
    Step,
    await_end,
    await_runs,
    await_state,
    end,
    gate,
    good,
    open_gate,
    queue,
)
from journeys.site import Site
from journeys.staff import QUICK, start_worker

from sow.clock import clock_time, format_time, utc_now
from sow.ids import JobId
from sow.jobs import jobs
from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer")


def explained(site: Site, job: int = 1) -> str:
    """What is told of a job, in one text."""
    return site.sow("job", "explain", str(job)).out


def project(site: Site, **scripts: list[list[Step]]) -> None:
    """Make a project with a task for each script, named by its id after `t`."""
    site.project(*(name[1:] for name in scripts))
    (site.root / ".standin").mkdir()
    for name, runs in scripts.items():
        site.script(runs, task=name[1:])


def configure(site: Site, **settings: Any) -> None:
    claude = {"claude-code": settings}
    site.configure({"agents": {"executors": claude}, "worker": QUICK})


def test_jobs_that_have_ended(site: Site) -> None:
    """Reported, retried, asked again, refused by the service, given up by the agent."""
    project(
        site,
        t010=[good()],
        t020=[[{"say": "Working"}, {"error_result": 529}], good()],
        t030=[[{"not_logged_in": True}]],
        t040=[[{"say": "All done!"}]],
        t050=[good({"shell": "npm test"})],
    )
    tasks = ("010", "020", "030", "040", "050")
    site.sow(*SPAWN, *tasks, expect=1)
    by_task = {job["task"]: job["job"] for job in site.sow("job", "list", "--json").json_lines}
    reported, retried, refused, silent, denied = (explained(site, by_task[each]) for each in tasks)

    assert "Attempt 1 started the agent at " in reported
    assert "with exit code 0: the agent reported." in reported
    assert "It is done: the agent left needs_review." in reported
    assert "Accept it: `sow task set 010 status completed`." in reported
    assert 'Send it back: `sow agent resume 010 "…"`.' in reported

    assert "with exit code 1: the model's service failed.\n    API Error: 529" in retried
    assert "Attempt 2 resumed the session at " in retried
    assert "Retries spent: 1 of 2." in retried

    assert "the CLI is not logged in, or its key was refused.\n    Not logged in" in refused
    assert "It failed for good: it is not tried again." in refused
    assert "Log in to the CLI of claude-code" in refused
    assert 'Then go on: `sow agent resume 030 "Go on."`.' in refused

    assert silent.count("without a status and without a single tool call") == 2
    assert "If it is: `sow task set 040 status needs_review`." in silent

    assert "Tools denied: Bash(npm test)." in denied


def test_jobs_that_stalled_or_ran_out_of_time(site: Site) -> None:
    project(site, t010=[[{"say": "thinking"}, {"hang": True}]])
    configure(site, stall_timeout="1s")
    start_worker(site)
    site.sow(*SPAWN, "010", expect=1)
    printed = explained(site)
    assert printed.count("it showed no activity for its executor's stall_timeout") == 2
    assert "stalled: no output, no CPU time, no growth of its transcript for 1.0s" in printed
    assert "See what it did last: `sow job logs 1`." in printed


def test_one_that_runs_and_one_that_waits_for_its_slot(site: Site) -> None:
    project(site, t010=[good({"say": "Working"}, gate("go"))], t020=[good()])
    configure(site, max_parallel=1, timeout="2h", stall_timeout="15m")
    start_worker(site)
    site.sow(*SPAWN, "010", "020", "--detach")
    await_runs(site)
    runs, waits = explained(site, 1), explained(site, 2)
    assert "and has not ended." in runs
    assert "Now: its agent runs" in runs
    assert " (timeout). It is ended after 15m00s without a sign of life (stall_timeout)." in runs
    assert "To watch it: `sow job logs 1 --follow`. To end it: `sow agent cancel 010`." in runs
    assert "Next: it starts when another agent of claude-code ends: 1 run, and no more" in waits
    assert "agents.executors.claude-code.max_parallel: 1" in waits
    site.sow("queue", "pause")
    assert "the queue has been paused since" in explained(site, 2)
    site.sow("queue", "resume")
    open_gate(site, "go")
    await_end(site, "020")


def test_one_whose_worker_has_died(site: Site) -> None:
    project(site, t010=[good({"say": "Working"}, gate("go"))], t020=[good()])
    configure(site)
    worker = start_worker(site)
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    worker.kill()
    site.sow(*SPAWN, "020", "--detach")
    assert "Its worker has died. The agent goes on" in explained(site, 1)
    assert "Next: it waits for a worker, and none runs. `sow worker` starts one" in explained(
        site, 2
    )


def test_one_that_waits_for_its_limit(site: Site) -> None:
    project(site, t010=[[{"rate_limit": 0, "in": 3600}, {"error_result": 429}], good()])
    configure(site)
    start_worker(site)
    site.sow(*SPAWN, "010", "--detach")
    parked = await_state(site, "010", JobState.PARKED)
    printed = explained(site)
    assert "a usage limit was reached.\n    API Error: Request rejected (429)" in printed
    assert "Now: it is parked, until the usage limit resets." in printed
    assert f"Next: it goes on in 1h00m, at {clock_time(parked.retry_at, utc_now())}." in printed
    assert "Rather not wait? `sow agent cancel 010`" in printed
    as_json = site.sow("job", "explain", "1", "--json").json
    assert as_json["retry_at"] == format_time(parked.retry_at)
    assert as_json["story"][-1] == printed.splitlines()[-1]
    assert f", at {as_json['retry_at']}." in as_json["story"][-2]
    site.sow("agent", "cancel", "010")
    assert "It was cancelled; the task was left paused." in explained(site)
    assert 'To go on: `sow agent resume 010 "Go on."`.' in explained(site)


def test_one_that_waits_for_its_retry(site: Site) -> None:
    project(site, t010=[[{"crash": 3}]])
    configure(site)
    worker = start_worker(site)
    site.sow(*SPAWN, "010", "--detach")
    await_state(site, "010", JobState.BACKOFF)
    worker.kill()
    soon = utc_now() + 100
    with closing(queue(site)) as database:
        jobs.change_job(database, JobId(1), state=JobState.BACKOFF, retry_at=soon)
    printed = explained(site)
    assert "with exit code 3: the program ended in the middle of its work." in printed
    assert f", at {clock_time(soon, utc_now())}." in printed
    assert "Next: it is tried again in 1m" in printed
    assert "Retries spent: 1 of 2." in printed


@pytest.mark.parametrize("caller", ["alive", "dead"])
def test_one_that_its_call_still_places(site: Site, caller: str) -> None:
    """Cursor's CLI takes its time to make a chat."""
    site.project("010")
    program = site.base / "bin/cursor-agent"
    made = site.base / "made"
    wait = f"while [ ! -e {made} ]; do sleep 0.02; done"
    program.write_text(f'#!/bin/sh\n[ "$1" = create-chat ] && {wait}\n')
    site.configure({"worker": QUICK})
    call = site.start(*SPAWN, "010", env={"SOW_AGENTS_IMPLEMENTER": "cursor"})
    await_state(site, "010", JobState.PREPARING)
    if caller == "dead":
        end(call)
        assert "its call has died while placing it. Next: a worker undoes it" in explained(site)
    else:
        assert "its call is still placing it. Next: it is queued." in explained(site)
    made.touch()
    call.communicate()
