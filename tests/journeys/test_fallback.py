"""A role with several executors: the next one begins what the first cannot (docs/configuration.md).

The stand-ins of two CLIs play it; a task's runs are counted whichever of them runs.
"""

import json
import signal
import subprocess
from dataclasses import asdict
from typing import Any

import pytest
from journeys.callers import Step, await_runs, await_waiters, gate, good, ledger, open_gate
from journeys.site import Site, wait_until
from journeys.staff import QUICK, drain, launch_worker
from journeys.storm_staff import PROGRAM
from journeys.storm_worker import Fate
from standins import read_runs

pytestmark = pytest.mark.one_of
SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010", "Use RS256")
CURSOR = {"type": "cursor", "settings": {"yolo_mode": True}}
LIMITED: list[Step] = [{"rate_limit": 0, "in": 3600}, {"error_result": 429}]
NO_LOGIN: list[Step] = [{"not_logged_in": True}]
WORKS: list[Step] = [{"shell": "sow agent log 'Began the parser'"}, {"say": "Half done"}]
ASKS: list[Step] = [{"sow": ["task", "set", "status", "paused"]}]


def begin(site: Site, *runs: list[Step], names: tuple[str, ...] = (), **agents: Any) -> Site:
    """Make a project whose implementer is played by Claude Code, then by Cursor."""
    site.project("010")
    site.script(runs)
    bindings = {"implementer": list(names) or ["claude-code", "cursor"]}
    executors = {"cursor": CURSOR}
    site.configure({"agents": {"executors": executors, "bindings": bindings, **agents}})
    return site


def without(site: Site, *programs: str) -> None:
    """Uninstall programs."""
    for program in programs:
        (site.base / "bin" / program).unlink()


def played(site: Site) -> list[tuple[str, str]]:
    """Return which CLI ran, and whether it began its session."""
    return [(run.cli, run.verb) for run in read_runs(site.root)]


def git_in(site: Site) -> None:
    """Make the site's folder a repository with one commit."""
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "Begin")):
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *names, *words], cwd=site.root, env=site.environment(), check=True)


def log_of(site: Site) -> str:
    return (site.task_folder("010") / "log.md").read_text()


def test_a_spawn_goes_on_with_the_next_executor_when_the_first_reaches_a_limit(site: Site) -> None:
    begin(site, LIMITED, good())
    result = site.sow(*SPAWN)
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert ledger(site) == [("spawn", "rate_limited"), ("spawn", "reported")]
    words = "claude-code has reached a usage limit in attempt 1"
    assert words in result.out + result.err
    assert "cursor took its place" in result.out + result.err
    first, second = read_runs(site.root)
    assert "This task was run before" not in second.prompt
    assert second.prompt == first.prompt
    task = site.task("010")
    assert (task["session"]["executor"], task["session_id"]) == ("cursor", second.session_id)
    assert site.job(1)["executor"] == "cursor"
    assert f"Note: {words}" in site.sow("job", "explain", "1").out
    assert words in site.sow("task", "explain", "010").out
    assert log_of(site).count("Goes on with cursor: claude-code has reached a usage limit") == 1


def test_the_session_of_one_that_fails_at_once_is_not_that_of_the_next(site: Site) -> None:
    """Codex tells its id and fails within a moment; Gemini would take that id for its own."""
    begin(site, LIMITED, good(), names=("codex", "gemini"))
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    assert [first.cli, second.cli] == ["codex", "gemini"]
    assert first.session_id != second.session_id
    assert site.task("010")["session_id"] == second.session_id


@pytest.mark.parametrize(
    ("runs", "cause", "words"),
    [((NO_LOGIN, good()), "auth", "claude-code is not logged in, or its key was refused")],
)
def test_a_spawn_goes_on_where_the_first_is_not_logged_in(
    site: Site, runs: tuple[list[Step], ...], cause: str, words: str
) -> None:
    begin(site, *runs)
    result = site.sow(*SPAWN)
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert ledger(site) == [("spawn", cause), ("spawn", "reported")]
    assert words in result.out + result.err
    assert log_of(site).count(f"Goes on with cursor: {words}") == 1


def test_a_spawn_begins_with_the_next_where_the_first_is_not_installed(site: Site) -> None:
    begin(site, good())
    without(site, "claude")
    result = site.sow(*SPAWN)
    assert played(site) == [("cursor-agent", "spawn")]
    words = "claude-code is not installed"
    assert words in result.err
    assert words in site.sow("job", "explain", "1").out
    assert log_of(site).count(f"Goes on with cursor: {words}") == 1
    assert site.sow(*SPAWN[:2], "010", "--fresh", "--dry-run", expect=None).out.count(
        "Executor: cursor"
    )


def test_one_that_vanishes_after_the_call_is_left_as_well(site: Site) -> None:
    begin(site, good())
    site.sow("queue", "pause")
    site.sow(*SPAWN, "--detach")
    assert site.job(1)["executor"] == "claude-code"
    without(site, "claude")
    site.sow("queue", "resume")
    site.sow("agent", "wait", "010")
    assert played(site) == [("cursor-agent", "spawn")]
    assert site.job(1)["executor"] == "cursor"
    assert "claude-code is not installed" in site.sow("job", "explain", "1").out


def test_all_fail_and_all_are_named(site: Site) -> None:
    begin(site, NO_LOGIN, NO_LOGIN)
    result = site.sow(*SPAWN, expect=None)
    assert result.code != 0
    assert [cause for _, cause in ledger(site)] == ["auth", "auth"]
    reason = site.job(1)["reason"].splitlines()[0]
    assert reason.startswith("cursor: ")
    assert reason.endswith("(before it: claude-code is not logged in, or its key was refused)")
    assert site.task("010")["status"] == "failed"


def limited_by_words(hours: int) -> list[Step]:
    """The limit of a CLI that tells of it in words, here Cursor's."""
    return [{"stderr": f"You've hit your usage limit. Resets in {hours}h.\n"}, {"crash": 1}]


def test_the_last_one_parks(site: Site) -> None:
    begin(site, LIMITED, limited_by_words(0))
    site.sow(*SPAWN, "--detach")

    def parked() -> dict[str, Any] | None:
        job = site.job(1)
        return job if job["state"] == "parked" else None

    job = wait_until(parked)
    assert job["executor"] == "cursor"
    assert "(before it: claude-code has reached a usage limit)" in job["reason"]


def test_where_all_have_met_a_limit_the_first_that_ends_is_waited_for(site: Site) -> None:
    soon: list[Step] = [{"rate_limit": 0, "in": 4}, {"error_result": 429}]
    begin(site, soon, limited_by_words(5), good())
    site.sow(*SPAWN)
    assert [cli for cli, _ in played(site)] == ["claude", "cursor-agent", "claude"]
    assert [cause for _, cause in ledger(site)] == ["rate_limited", "rate_limited", "reported"]
    assert site.task("010")["session"]["executor"] == "claude-code"
    assert log_of(site).count("Goes on with") == 2
    assert "parked" in site.sow("changes").out
    sessions = [run.session_id for run in read_runs(site.root)]
    assert len(set(sessions)) == len(sessions)


def test_a_worker_that_is_killed_after_the_move_loses_nothing(site: Site) -> None:
    begin(site, [gate("go"), *LIMITED], good())
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    site.sow("queue", "pause")
    open_gate(site, "go")
    wait_until(lambda: site.job(1)["executor"] == "cursor")
    (worker,) = site.workers()
    site.kill(worker["pid"])
    site.sow("queue", "resume")
    site.sow("agent", "wait", "010")
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert ledger(site) == [("spawn", "rate_limited"), ("spawn", "reported")]
    assert log_of(site).count("Goes on with cursor") == 1


def test_one_that_the_user_no_longer_has_is_left_out(site: Site) -> None:
    begin(site, [gate("go"), *LIMITED], good())
    executors = {"gone": CURSOR, "cursor": CURSOR}
    bindings = {"implementer": ["claude-code", "gone", "cursor"]}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    site.configure({"agents": {"executors": {"cursor": CURSOR}}})
    open_gate(site, "go")
    site.sow("agent", "wait", "010")
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert site.job(1)["executor"] == "cursor"
    assert "gone is no longer configured as it was" in site.sow("job", "explain", "1").out


USES: list[Step] = [
    {"version": "2.1.330"},
    {"use": {"input": 1000, "output": 100, "cache_read": 1000, "cache_write": 80}},
    {"say": "I begin."},
    {"say": "I go on."},
]
"""Two messages of $0.0051 each, and no tool."""


def two_of_claude(site: Site, *runs: list[Step]) -> None:
    """Make a project whose implementer is played by two executors that keep budgets."""
    begin(site, *runs)
    executors = {"second": {"type": "claude", "settings": {"yolo_mode": True}}}
    bindings = {"implementer": ["claude-code", "second"]}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})


def test_the_next_executor_has_what_is_left_of_the_task_s_budget(site: Site) -> None:
    two_of_claude(site, [*USES, *LIMITED], good(*USES))
    site.sow(*SPAWN, "--budget", "usd=0.1")
    first, second = (run.argv for run in read_runs(site.root))
    assert first[first.index("--max-budget-usd") + 1] == "0.1000"
    left = float(second[second.index("--max-budget-usd") + 1])
    assert 0 < left <= 0.1 - 2 * 0.0051
    assert site.job(1)["executor"] == "second"


def test_no_executor_takes_over_a_task_whose_budget_is_used_up(site: Site) -> None:
    two_of_claude(site, [*USES, *LIMITED], good())
    ended = site.sow(*SPAWN, "--budget", "usd=0.005", "--json", expect=1).json
    assert (ended["state"], ended["cause"]) == ("failed", "budget_reached"), ended
    assert len(read_runs(site.root)) == 1


STEPS_OF_A_MOVE = [
    f"{when} {step}"
    for step in ("move_on", "note_leaving", "requeue_moved")
    for when in ("before", "after")
]


@pytest.mark.parametrize("point", STEPS_OF_A_MOVE)
def test_a_worker_killed_at_any_step_of_a_hand_over_loses_nothing(site: Site, point: str) -> None:
    begin(site, [*WORKS, *ASKS], good(), fallback_resume="handover")
    site.sow(*SPAWN)
    site.sow("worker", "stop")
    without(site, "claude")
    agents = {"executors": {"cursor": CURSOR}, "fallback_resume": "handover"}
    bindings = {"implementer": ["claude-code", "cursor"]}
    site.configure({"worker": QUICK, "agents": {**agents, "bindings": bindings}})
    site.sow(*RESUME, "--detach")
    fate = Fate(str(site.base / "fates"), {point: "killed"})
    run = launch_worker(site, json.dumps(asdict(fate)), program=PROGRAM)
    assert run.wait() == -signal.SIGKILL, run.log_text
    drain(site)
    site.sow("agent", "wait", "010")
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert "> Half done" in read_runs(site.root)[-1].prompt
    assert log_of(site).count("Goes on with cursor") == 1


def test_none_is_installed(site: Site) -> None:
    begin(site, good())
    without(site, "claude", "cursor-agent")
    result = site.sow(*SPAWN, expect=5)
    assert "none of the executors of implementer can run" in result.err
    assert "claude-code (executor binary not found: claude)" in result.err
    assert "cursor (executor binary not found: cursor-agent)" in result.err


def test_work_that_has_begun_stays_with_its_executor(site: Site) -> None:
    begin(site, [*WORKS, {"rate_limit": 0, "in": 1}, {"error_result": 429}], good())
    site.sow(*SPAWN)
    assert played(site) == [("claude", "spawn"), ("claude", "resume")]
    assert site.job(1)["executor"] == "claude-code"


def test_a_resume_stays_with_its_executor(site: Site) -> None:
    begin(site, ASKS, [{"rate_limit": 0, "in": 1}, {"error_result": 429}], good())
    site.sow(*SPAWN)
    site.sow(*RESUME)
    assert [cli for cli, _ in played(site)] == ["claude", "claude", "claude"]


def test_fresh_goes_to_the_next_one(site: Site) -> None:
    begin(site, ASKS, LIMITED, good())
    site.sow(*SPAWN)
    site.sow(*SPAWN, "--fresh")
    assert [cli for cli, _ in played(site)] == ["claude", "claude", "cursor-agent"]


def test_a_limit_that_others_wait_for_is_not_run_into_again(site: Site) -> None:
    begin(site, LIMITED, good())
    site.add_tasks("020", agent="implementer")
    site.script([good()], task="020")
    site.sow(*SPAWN)
    site.sow("agent", "spawn", "020")
    assert [(run.task, run.cli) for run in read_runs(site.root)] == [
        ("010", "claude"),
        ("010", "cursor-agent"),
        ("020", "cursor-agent"),
    ]


def test_a_variable_names_one_executor(site: Site) -> None:
    begin(site, NO_LOGIN)
    site.sow(*SPAWN, env={"SOW_AGENTS_IMPLEMENTER": "claude-code"}, expect=1)
    assert played(site) == [("claude", "spawn")]


def test_the_same_call_attaches_to_a_job_that_another_executor_does(site: Site) -> None:
    begin(site, LIMITED, [gate("go"), *good()])
    site.sow(*SPAWN, "--detach")
    wait_until(lambda: len(played(site)) == 2)
    again = site.start(*SPAWN)
    await_waiters(site, "010")
    open_gate(site, "go")
    assert again.wait(timeout=60) == 0
    assert len(site.sow("job", "list", "--json").json_lines) == 1


def test_a_resume_is_handed_over_where_the_user_wants_it(site: Site) -> None:
    begin(site, [*WORKS, *ASKS], LIMITED, ASKS, good(), fallback_resume="handover")
    folder = site.task_folder("010")
    site.sow(*SPAWN)
    (folder / "feedback").mkdir(exist_ok=True)
    result = site.sow(*RESUME)
    assert "cursor continues its work in a new session" in result.out + result.err
    assert played(site) == [
        ("claude", "spawn"),
        ("claude", "resume"),
        ("cursor-agent", "spawn"),
    ]
    prompt = read_runs(site.root)[-1].prompt
    assert "You take this task over from another agent" in prompt
    assert "claude-code has reached a usage limit" in prompt
    assert " implementer: Began the parser" in prompt
    assert "> " + "Status: pending" not in prompt
    assert "> Half done" in prompt
    assert "Use RS256" in prompt
    assert "This task was run before" not in prompt
    site.sow("agent", "resume", "010", "Go on.")
    assert played(site)[-1] == ("cursor-agent", "resume")
    assert site.task("010")["session"]["executor"] == "cursor"


def test_a_resume_is_handed_over_whose_program_is_gone(site: Site) -> None:
    begin(site, [*WORKS, *ASKS], good(), fallback_resume="handover")
    site.sow(*SPAWN)
    without(site, "claude")
    site.sow(*RESUME)
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert "> Half done" in read_runs(site.root)[-1].prompt


def test_a_resume_is_handed_over_whose_executor_is_no_longer_configured(site: Site) -> None:
    begin(site, [*WORKS, *ASKS], good())
    executors = {"gone": {"type": "claude"}, "cursor": CURSOR}
    site.configure({"agents": {"executors": executors, "bindings": {"implementer": "gone"}}})
    site.sow(*SPAWN)
    site.sow("worker", "stop")  # the next one never knew of it
    agents = {"executors": {"cursor": CURSOR}, "bindings": {"implementer": "cursor"}}
    site.configure({"agents": agents})
    assert "unknown executor: gone" in site.sow(*RESUME, expect=5).err
    assert "sow agent answer" not in site.sow("next").out
    site.configure({"agents": {**agents, "fallback_resume": "handover"}})
    assert "sow agent answer" in site.sow("next").out
    shown = site.sow(*RESUME, "--dry-run", "--verbose")
    for words in ("Executor: cursor", "You take this task over from another agent"):
        assert words in shown.out + shown.err
    result = site.sow(*RESUME)
    assert "gone is no longer configured as it was" in result.out + result.err
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    prompt = read_runs(site.root)[-1].prompt
    assert "> Half done" in prompt
    assert "Use RS256" in prompt
    assert site.task("010")["session"]["executor"] == "cursor"
    assert log_of(site).count("Goes on with cursor: gone is no longer configured") == 1
    site.sow("agent", "resume", "010", "Go on.")
    assert played(site)[-1] == ("cursor-agent", "resume")


def test_a_name_that_means_another_cli_now_begins_no_conversation(site: Site) -> None:
    begin(site, [*WORKS, *ASKS], good())

    def be(executor: dict[str, Any], **agents: Any) -> None:
        executors, bindings = {"mine": executor}, {"implementer": "mine"}
        site.configure({"agents": {"executors": executors, "bindings": bindings, **agents}})

    be({"type": "claude"})
    site.sow(*SPAWN)
    assert site.task("010")["session"]["type"] == "claude"
    be(CURSOR)
    assert "executor mine is of type cursor now" in site.sow(*RESUME, expect=5).err
    assert "sow agent answer" not in site.sow("next").out
    assert played(site) == [("claude", "spawn")]
    assert site.task("010")["status"] == "paused"
    be(CURSOR, fallback_resume="handover")
    assert "sow agent answer" in site.sow("next").out
    shown = site.sow(*RESUME, "--dry-run", "--verbose")
    assert "You take this task over from another agent" in shown.out + shown.err
    result = site.sow(*RESUME)
    assert "mine is no longer configured as it was" in result.out + result.err
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    assert "> Half done" in read_runs(site.root)[-1].prompt
    session = site.task("010")["session"]
    assert (session["executor"], session["type"]) == ("mine", "cursor")
    site.sow("agent", "resume", "010", "Go on.")
    assert played(site)[-1] == ("cursor-agent", "resume")


def test_begun_work_is_handed_over_and_what_differs_is_shown(site: Site) -> None:
    (site.root / "parser.py").touch()
    git_in(site)
    steps: list[Step] = [*WORKS, {"write": ["parser.py", "parser\n"]}]
    begin(site, [*steps, *LIMITED], good(), fallback_resume="handover")
    site.sow(*SPAWN)
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    prompt = read_runs(site.root)[-1].prompt
    assert "> +parser" in prompt
    assert "> Half done" in prompt


def test_without_the_setting_a_missing_program_refuses_a_resume(site: Site) -> None:
    begin(site, ASKS)
    site.sow(*SPAWN)
    without(site, "claude")
    assert "executor binary not found: claude" in site.sow(*RESUME, expect=5).err


def test_a_review_goes_on_with_the_next_executor(site: Site) -> None:
    git_in(site)
    begin(site, good(), LIMITED, [{"sow": ["review", "accept", "010", "--summary", "Good."]}])
    bindings = {"implementer": "cursor", "reviewer": ["claude-code", "cursor"]}
    site.configure({"agents": {"executors": {"cursor": CURSOR}, "bindings": bindings}})
    site.sow(*SPAWN)
    result = site.sow("agent", "review", "010")
    assert [cli for cli, _ in played(site)] == ["cursor-agent", "claude", "cursor-agent"]
    assert "cursor took its place" in result.out + result.err
    assert [cause for _, cause in ledger(site, 2)] == ["rate_limited", "reported"]
    assert site.task("010")["review"]["verdict"] == "accepted"
    assert site.task("010")["session"]["executor"] == "cursor"
    assert log_of(site).count("Goes on with cursor") == 1


def test_a_cli_that_makes_no_session_is_left(site: Site) -> None:
    """Cursor makes its sessions by a command, which fails where nobody is logged in."""
    begin(site, good(), names=("cursor", "claude-code"))
    program = site.base / "bin/cursor-agent"
    program.unlink()
    program.write_text("#!/bin/sh\necho 'Error: Authentication required. Log in.' >&2\nexit 1\n")
    program.chmod(0o755)
    result = site.sow(*SPAWN)
    assert played(site) == [("claude", "spawn")]
    assert "cursor is not logged in" in result.out + result.err
    assert site.task("010")["session"]["executor"] == "claude-code"


def test_what_a_clone_holds_is_handed_over(site: Site) -> None:
    git_in(site)
    steps: list[Step] = [*WORKS, {"write": ["parser.py", "parser\n"]}]
    begin(site, [*steps, *LIMITED], good(), fallback_resume="handover")
    site.sow(*SPAWN, "--clone")
    assert played(site) == [("claude", "spawn"), ("cursor-agent", "spawn")]
    prompt = read_runs(site.root)[-1].prompt
    assert "What it has committed so far:" in prompt
    assert "> +parser" in prompt
    assert "> Half done" in prompt
    first, second = read_runs(site.root)
    assert first.cwd == second.cwd != str(site.root)


def test_where_the_output_tells_of_no_tools_the_next_one_is_told_of_the_run(site: Site) -> None:
    silent: list[Step] = [{"stderr": "Invalid API key\n"}, {"crash": 1}]
    begin(site, silent, good(), names=("plain", "cursor"))
    plain = {
        "type": "command",
        "settings": {"command": ["claude", "-p", "--allowedTools", "Bash(sow:*)"]},
    }
    bindings = {"implementer": ["plain", "cursor"]}
    executors = {"cursor": CURSOR, "plain": plain}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    assert (first.cli, second.cli) == ("claude", "cursor-agent")
    assert "This task was run before" in second.prompt


def test_the_next_commands_name_a_role_that_one_of_its_executors_can_play(site: Site) -> None:
    begin(site, good())
    without(site, "claude")
    assert "sow agent spawn 010" in site.sow("next").out
    without(site, "cursor-agent")
    shown = site.sow("next").out
    assert "sow agent spawn 010" not in shown
    assert "sow doctor" in shown or "nstall" in shown


def test_an_orchestrator_on_a_terminal_is_the_first_that_is_installed(site: Site) -> None:
    begin(site, good())
    bindings = {"orchestrator": ["cursor", "claude-code"]}
    site.configure({"agents": {"executors": {"cursor": CURSOR}, "bindings": bindings}})
    assert site.sow("start", "--dry-run", "--json").json["argv"][0] == "cursor-agent"
    without(site, "cursor-agent")
    assert site.sow("start", "--dry-run", "--json").json["argv"][0] == "claude"
