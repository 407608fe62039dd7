"""`sow job retry`: the same job once more, and each way in which its task may have moved on."""

from typing import Any

import pytest
from calls.desk import SESSION, Desk
from reports.job_cases import NOW

from sow.calls.kinds import place
from sow.calls.retrying import NotRetried, request_again
from sow.errors import StateError
from sow.jobs import jobs
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import AuthorTerms, CheckTerms, ReviewTerms
from sow.schema.task import TaskStatus


def again(desk: Desk, job: Job, **options: Any) -> Any:
    wanted = {"fresh": False, "priority": None, **options}
    return request_again(desk.caller, desk.database, desk.job(job.id), **wanted)


def failed(desk: Desk, status: TaskStatus = TaskStatus.FAILED, **fields: Any) -> Job:
    """Have a job of task 010 end without success."""
    desk.task("010")
    job = desk.run(task_id="010", **fields)
    desk.end(job.id, status, JobState.FAILED)
    return job


def test_a_spawn_is_made_again_with_its_words(desk: Desk) -> None:
    job = failed(desk, prompt="Mind the tests.", priority=4, terms=AuthorTerms(clone=False))
    request = again(desk, job)
    assert (request.verb, request.prompt, request.agent) == (
        Verb.SPAWN,
        "Mind the tests.",
        job.agent,
    )
    assert (request.priority, request.clone, request.fresh) == (4, None, False)
    placed = place(desk.caller, desk.database, desk.config, request)
    assert (placed.attached, placed.owed, placed.job.id) == (False, False, job.id + 1)
    assert (placed.job.prompt, placed.job.cwd) == ("Mind the tests.", job.cwd)


def test_an_outcome_that_is_owed_is_not_told_instead(desk: Desk) -> None:
    job = failed(desk)
    desk.owe(job)
    placed = place(desk.caller, desk.database, desk.config, again(desk, job))
    assert (placed.owed, placed.job.id) == (False, job.id + 1)


def test_a_session_that_has_started_is_begun_anew_only_where_that_is_asked_for(desk: Desk) -> None:
    job = failed(desk)
    desk.with_session("010")
    with pytest.raises(StateError, match="its session has started"):
        place(desk.caller, desk.database, desk.config, again(desk, job))
    placed = place(desk.caller, desk.database, desk.config, again(desk, job, fresh=True))
    assert (placed.job.fresh, desk.read().session_id != SESSION) == (True, True)


def test_a_resume_is_made_again_with_its_answer(desk: Desk) -> None:
    job = failed(desk, verb=Verb.RESUME, prompt="Use RS256.")
    desk.with_session("010")
    request = again(desk, job, priority=9)
    assert (request.agent, request.prompt, request.priority) == (None, "Use RS256.", 9)
    assert place(desk.caller, desk.database, desk.config, request).job.verb is Verb.RESUME
    desk.end(2, TaskStatus.FAILED, JobState.FAILED)
    with pytest.raises(NotRetried, match="has no session to start again"):
        again(desk, desk.job(2), fresh=True)


def test_a_check_is_made_again_with_its_names(desk: Desk) -> None:
    job = failed(desk, verb=Verb.CHECK, agent="", executor=None, terms=CheckTerms(names=("unit",)))
    request = again(desk, job)
    assert (request.terms, request.agent) == (CheckTerms(names=("unit",)), None)


def test_what_has_not_ended_is_not_made_again(desk: Desk) -> None:
    desk.task("010")
    job = desk.run(task_id="010")
    with pytest.raises(NotRetried, match=r"it has not ended \(running\)"):
        again(desk, job)


def test_a_later_job_is_named(desk: Desk) -> None:
    job = failed(desk)
    desk.change("010", status=TaskStatus.PENDING)
    later = desk.queue(task_id="010")
    with pytest.raises(
        NotRetried,
        match=rf"task 010 has changed since: it has a newer job {later.id} \(spawn, queued\)",
    ):
        again(desk, job)


def test_another_status_is_named(desk: Desk) -> None:
    job = failed(desk)
    desk.change("010", status=TaskStatus.COMPLETED)
    with pytest.raises(NotRetried, match="was failed after the job, and is completed now"):
        again(desk, job)


def test_a_session_on_a_terminal_is_not_made_again(desk: Desk) -> None:
    job = failed(desk, verb=Verb.OPEN)
    with pytest.raises(NotRetried, match="a person's session"):
        again(desk, job)


def test_a_job_of_another_project_is_not_made_again(desk: Desk) -> None:
    job = failed(desk)
    jobs.change_job(desk.database, job.id, project_id="other")
    with pytest.raises(NotRetried, match="its project is not checked out"):
        again(desk, job)


def test_a_review_of_another_commit_is_not_made_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sow.calls import retrying

    monkeypatch.setattr(retrying, "judged_commit", lambda *_: "b" * 40)
    job = failed(desk, verb=Verb.REVIEW, agent="reviewer", terms=ReviewTerms(commit="a" * 40))
    with pytest.raises(
        NotRetried, match=("the job reviewed commit aaaaaaaaaaaa, and the work is at bbb")
    ):
        again(desk, job)
    monkeypatch.setattr(retrying, "judged_commit", lambda *_: "a" * 40)
    assert again(desk, job).agent == "reviewer"
    assert desk.caller.now() == NOW
