"""Retries are by cause, not by luck: the contract's table (§8), a journey for each row.

    reported; state unreadable; no status; denied     here
    crashed, killed, api error, overloaded            here
    budget reached                                    test_budget
    rate limited                                      here; switched off: test_config_effect
    auth, bad model, bad flags, missing binary        here
    timed out, stalled, a hang after the result       test_worker_watchdog
    limits of memory, CPU, processes and disk         test_limits
    session in use, session unknown                   test_session_law
    session lost                                      test_session_begun_instead
    worker died                                       test_worker_recovery
    worker stopped                                    test_worker_command
    cancelled                                         test_call_cancel

The same causes as the real Claude Code shows them: tests/real/test_real_faults.py.
"""

from pathlib import Path
from typing import Any

import pytest
from journeys.callers import Step, await_end, await_state, good, job_of, ledger, report
from journeys.site import Site
from standins import read_runs

from sow.schema.job import Cause, JobState

SPAWN = ("agent", "spawn", "implementer", "010")
CLAUDE: dict[str, Any] = {"type": "claude"}
CURSOR: dict[str, Any] = {"type": "cursor", "settings": {"yolo_mode": True}}
WINDSURF: dict[str, Any] = {"type": "windsurf"}
WORK: Step = {"write": ["work.txt", "done"]}
"""A tool call, without which a run counts as empty."""
FEW_RETRIES = 1


def use(site: Site, executor: dict[str, Any], *runs: list[Step], **settings: Any) -> None:
    """Make a project whose implementer is run by this executor, and plays these runs."""
    site.project("010")
    site.script(runs)
    mine = {**executor, **settings}
    site.configure({"agents": {"executors": {"mine": mine}, "bindings": {"implementer": "mine"}}})


def spawn(site: Site, expect: int = 0) -> dict[str, Any]:
    """Spawn the implementer and return the outcome."""
    outcome: dict[str, Any] = site.sow(*SPAWN, "--json", expect=expect).json
    return outcome


def log(site: Site) -> str:
    return (site.task_folder("010") / "log.md").read_text()


def has_failed(site: Site, cause: Cause, words: str) -> None:
    """Fail unless job, task and log all say that the job failed for good, and why."""
    outcome = site.job(1)
    assert (outcome["state"], outcome["cause"]) == ("failed", cause.value)
    assert words in outcome["reason"]
    assert words in log(site)
    assert site.task("010")["status"] == "failed"


# reported, no status, nothing done at all


@pytest.mark.one_of
@pytest.mark.parametrize("executor", [CLAUDE, CURSOR], ids=["claude", "cursor"])
@pytest.mark.parametrize("end", [{"exit": 0}, {"crash": 9}, {"error_result": 500}, {"signal": 9}])
def test_a_report_is_one_whatever_the_ending(
    site: Site, executor: dict[str, Any], end: Step
) -> None:
    """ "reported (status no longer in_progress, whatever the exit code) | done"."""
    use(site, executor, [report(), end])
    assert spawn(site)["cause"] == "reported"
    assert ledger(site) == [("spawn", "reported")]


@pytest.mark.parametrize("executor", [CLAUDE, CURSOR], ids=["claude", "cursor"])
def test_an_agent_that_forgot_its_status_is_asked_for_it_once(
    site: Site, executor: dict[str, Any]
) -> None:
    """ "no status | one resume that asks for it"."""
    use(site, executor, [WORK, {"say": "I have set the status to needs_review."}], good())
    assert spawn(site)["cause"] == "reported"
    first, second = read_runs(site.root)
    assert ledger(site) == [("spawn", "no_status"), ("resume", "reported")]
    assert second.session_id == first.session_id
    assert "you ended without setting a status" in second.prompt
    assert "If the work is done, set the status now" in second.prompt
    assert site.job(1)["retries"] == 0


def test_an_agent_that_forgets_it_again_has_failed(site: Site) -> None:
    """ "… then failed". What it claims in its result counts for nothing."""
    use(site, CLAUDE, [WORK, {"result": "Done: status set to completed."}])
    assert spawn(site, expect=1)["warnings"] == []
    assert ledger(site) == [("spawn", "no_status"), ("resume", "no_status")]
    has_failed(site, Cause.NO_STATUS, "without setting its task's status")


def test_without_resumption_a_missing_status_fails_at_once(site: Site) -> None:
    """ "(at once failed where the executor cannot resume)"."""
    use(site, WINDSURF, [{"say": "done"}])
    spawn(site, expect=1)
    assert ledger(site) == [("spawn", "no_status")]
    has_failed(site, Cause.NO_STATUS, "without setting its task's status")


@pytest.mark.parametrize("executor", [CLAUDE, CURSOR], ids=["claude", "cursor"])
def test_a_run_without_a_tool_call_is_told_as_empty(site: Site, executor: dict[str, Any]) -> None:
    """Issue 3: "ends "successfully" with no tool call and no status, is reported as such"."""
    use(site, executor, [{"say": "All done!"}], good())
    outcome = spawn(site)
    words = "the agent ended without a status and without a single tool call"
    assert outcome["warnings"] == [f"attempt 1: {words}"]
    first, second = site.job(1)["attempts"]
    assert (first["cause"], first["reason"], first["tool_uses"]) == ("no_status", words, 0)
    assert second["tool_uses"] == 1
    assert words in read_runs(site.root)[1].prompt
    assert words in site.sow("job", "explain", "1").out


# denied tools


@pytest.mark.parametrize(
    ("executor", "remedy"),
    [(CLAUDE, "agents.executors.mine.settings.allowed_tools"), ({"type": "cursor"}, "cli.json")],
    ids=["claude", "cursor"],
)
def test_denied_tools_and_no_status_fail_at_once_and_name_the_setting(
    site: Site, executor: dict[str, Any], remedy: str
) -> None:
    """ "denied and no status: failed, printing the setting to add"."""
    use(site, executor, [{"shell": "npm test"}, {"say": "I could not run the tests."}])
    outcome = spawn(site, expect=1)
    assert ledger(site) == [("spawn", "denied")]
    assert "npm" in outcome["denied_tools"][0]
    has_failed(site, Cause.DENIED, remedy)


def test_denied_tools_with_a_status_are_a_warning(site: Site) -> None:
    """ "Denied tools with a status reported: done, with a warning and `denied_tools`"."""
    use(site, CLAUDE, good({"shell": "npm test"}))
    outcome = spawn(site)
    assert outcome["denied_tools"] == ["Bash(npm test)"]
    assert "agents.executors.mine.settings.allowed_tools" in outcome["warnings"][0]


def test_what_was_denied_in_an_attempt_before_is_still_told(site: Site) -> None:
    use(site, CLAUDE, [{"shell": "npm test"}, {"error_result": 529}], good())
    outcome = spawn(site)
    assert ledger(site) == [("spawn", "api_error"), ("resume", "reported")]
    assert outcome["denied_tools"] == ["Bash(npm test)"]


# the state broken by hand


BROKEN = "task:\n  id: '010'\n  status: done and dusted\n"


def breaks_its_state(site: Site) -> Step:
    """The agent writes nonsense over its state with its editing tool."""
    site.project("010")
    state = site.task_folder("010") / "state.yaml"
    return {"write": [str(state.relative_to(site.root)), BROKEN]}


def kept(site: Site) -> list[Path]:
    return sorted(site.task_folder("010").glob("state.yaml.invalid-*"))


def test_a_broken_state_is_put_back_and_the_agent_told_where_it_broke_it(site: Site) -> None:
    """ "its bytes kept …, the last valid one restored, one resume that quotes file, line …"."""
    step = breaks_its_state(site)
    site.script([[step], good()])
    assert spawn(site)["cause"] == "reported"
    first, second = read_runs(site.root)
    assert ledger(site) == [("spawn", "state_unreadable"), ("resume", "reported")]
    assert second.session_id == first.session_id
    assert "state.yaml could not be read" in second.prompt
    assert "state.yaml, line 3, task.status" in second.prompt
    assert "done and dusted" in second.prompt
    attempt = site.job(1)["attempts"][0]
    (bytes_kept,) = kept(site)
    assert bytes_kept.name == f"state.yaml.invalid-{attempt['id']}"
    assert bytes_kept.read_text() == BROKEN
    assert site.task("010")["name"] == "Task 010"


def test_a_state_that_is_broken_twice_fails_and_is_readable(site: Site) -> None:
    """ "… then failed": `state.yaml` is the message all the same."""
    site.script([[breaks_its_state(site)]])
    spawn(site, expect=1)
    assert [cause for _, cause in ledger(site)] == ["state_unreadable"] * 2
    assert len(kept(site)) == 2
    has_failed(site, Cause.STATE_UNREADABLE, "done and dusted")


# what is tried again after a while


AGAIN = {
    "crashed": ([{"stderr": "out of memory\n"}, {"crash": 3}], "crashed", "out of memory"),
    "killed": ([{"signal": 9}], "crashed", "ended by SIGKILL"),
    "api error": ([{"error_result": 500}], "api_error", "API Error: 500"),
    "overloaded": ([{"error_result": 529}], "api_error", "529 overloaded"),
    "connection refused": ([{"error_result": None}], "api_error", "Unable to connect"),
}
CURSOR_AGAIN = {
    "crashed": AGAIN["crashed"],
    "killed": AGAIN["killed"],
    "api error": ([{"error_result": 500}], "crashed", "request failed with status 500"),
}
FAULTS = [
    *(pytest.param(CLAUDE, *row, id=f"claude {name}") for name, row in AGAIN.items()),
    *(pytest.param(CURSOR, *row, id=f"cursor {name}") for name, row in CURSOR_AGAIN.items()),
]
WHY = {
    "crashed": "your program ended in the middle of the task",
    "api_error": "your model's service failed",
}


@pytest.mark.one_of
@pytest.mark.parametrize(("executor", "steps", "cause", "words"), FAULTS)
def test_it_is_tried_again_as_often_as_retries_allow(
    site: Site, executor: dict[str, Any], steps: list[Step], cause: str, words: str
) -> None:
    """ "backoff …, then resume; at most `retries`", and the agent is told why."""
    use(site, executor, [WORK, {"say": "Working"}, *steps], retries=FEW_RETRIES)
    spawn(site, expect=1)
    first, second = read_runs(site.root)
    assert ledger(site) == [("spawn", cause), ("resume", cause)]
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert f"You are run again because {WHY[cause]}" in second.prompt
    assert words in second.prompt
    assert site.job(1)["retries"] == FEW_RETRIES
    has_failed(site, Cause(cause), words)


def test_without_retries_the_first_crash_is_the_last(site: Site) -> None:
    use(site, CLAUDE, [{"crash": 3}], retries=0)
    spawn(site, expect=1)
    assert ledger(site) == [("spawn", "crashed")]
    has_failed(site, Cause.CRASHED, "exit code 3")


def test_an_executor_that_cannot_resume_is_spawned_again_and_told_so(site: Site) -> None:
    """§7: "Where an executor cannot resume, "resume" … means a second spawn"."""
    use(site, WINDSURF, [{"crash": 3}], good())
    spawn(site)
    assert ledger(site) == [("spawn", "crashed"), ("spawn", "reported")]
    prompt = read_runs(site.root)[1].prompt
    assert "This task was run before, and you remember nothing of it" in prompt
    assert "your program ended in the middle" in prompt


# a usage limit


def test_a_usage_limit_is_waited_out_and_spends_no_retry(site: Site) -> None:
    """ "parked until the reset time it gave …; not counted"."""
    reached: list[Step] = [{"say": "Working"}, {"rate_limit": 0, "in": 1}, {"error_result": 429}]
    use(site, CLAUDE, reached, good(), retries=0)
    site.sow(*SPAWN, "--detach")
    parked = await_state(site, "010", JobState.PARKED)
    (first,) = read_runs(site.root)
    assert parked.retry_at > (first.started_at or 0) + 1
    assert site.task("010")["status"] == "in_progress"
    job = await_end(site, "010")
    assert (job.state, job.retries) == (JobState.DONE, 0)
    assert ledger(site) == [("spawn", "rate_limited"), ("resume", "reported")]
    assert "a usage limit had stopped you; it has passed" in read_runs(site.root)[1].prompt


# what no retry can cure


AT_ONCE = [
    (CLAUDE, [{"not_logged_in": True}], Cause.AUTH, "Please run /login"),
    (CLAUDE, [{"error_result": 401}], Cause.AUTH, "Invalid API key"),
    (CURSOR, [{"not_logged_in": True}], Cause.AUTH, "Please run 'cursor-agent login'"),
    (CLAUDE, [{"error_result": 404}], Cause.BAD_MODEL, "issue with the selected model"),
    (CLAUDE, [{"error_result": 413}], Cause.TOO_LONG, "Prompt is too long"),
    ({**CLAUDE, "custom_args": ["--bogus"]}, [], Cause.BAD_FLAGS, "unknown option '--bogus'"),
    ({**CURSOR, "custom_args": ["--bogus"]}, [], Cause.BAD_FLAGS, "unknown option '--bogus'"),
    (
        {"type": "command", "settings": {"command": ["/bin/sh", "-c", "no-such-program"]}},
        [],
        Cause.MISSING_BINARY,
        "no-such-program",
    ),
]


@pytest.mark.one_of
@pytest.mark.parametrize(("executor", "steps", "cause", "words"), AT_ONCE)
def test_it_fails_at_once_in_the_clis_own_words(
    site: Site, executor: dict[str, Any], steps: list[Step], cause: Cause, words: str
) -> None:
    """ "auth, bad model, bad flags, missing binary | failed at once, with the CLI's own words"."""
    use(site, executor, steps)
    outcome = spawn(site, expect=5 if cause is Cause.MISSING_BINARY else 1)
    assert ledger(site) == [("spawn", cause.value)]
    assert words in outcome["reason"]
    has_failed(site, cause, words)


def test_a_program_that_is_gone_when_its_turn_comes(site: Site) -> None:
    """The call found it; the worker does not."""
    use(site, CLAUDE)
    settings = site.config_file.read_text()
    site.config_file.write_text(f"{settings}\nworker: {{autostart: false}}\n")
    site.sow(*SPAWN, "--detach")
    (site.base / "bin/claude").unlink()
    site.sow("worker", "--drain")
    job = job_of(site, "010")
    assert job is not None
    assert (job.cause, ledger(site)) == (Cause.MISSING_BINARY, [])
    has_failed(site, Cause.MISSING_BINARY, "executor binary not found: claude")


def test_a_folder_in_which_nothing_can_be_kept(site: Site) -> None:
    """A file lies where the output of jobs belongs: nobody's configuration is to blame."""
    use(site, CLAUDE)
    (site.root / ".sow/run").mkdir(mode=0o700, exist_ok=True)
    (site.root / ".sow/run/jobs").write_text("in the way")
    spawn(site, expect=6)
    has_failed(site, Cause.FOLDER_UNUSABLE, "cannot be kept in")
    printed = site.sow("task", "explain", "010").out
    assert "agents.executors" not in printed
    assert "Check the files in .sow/run" in printed
    (site.root / ".sow/run/jobs").unlink()
    spawn(site)
