"""The exit codes of a call, one journey for each row of the contract's table (DESIGN, "The call").

Elsewhere: 7 in `test_call_cancel`, 75 in `test_call_owed`, 130 in
`test_call_signals`, 6 without a worker in `test_call_worker`, and what several
tasks exit with in `test_call_several`.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from journeys.callers import Step, all_jobs, good, report
from journeys.site import Site
from own_queue import make_own
from standins import read_runs

from sow.paths import Workspace

SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010", "Go on.")


@pytest.mark.parametrize("status", ["needs_review", "paused", "completed"])
def test_0_the_agent_left_a_good_status(site: Site, status: str) -> None:
    site.project("010")
    site.script([[report(status)]])
    result = site.sow(*SPAWN, expect=0)
    assert result.out.startswith(f"010 {status} (")


def test_0_whatever_the_agents_own_exit_code(site: Site) -> None:
    """Reported: the status is no longer in_progress, whatever the exit code."""
    site.project("010")
    site.script([[report(), {"crash": 9}]])
    site.sow(*SPAWN, expect=0)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([report("failed")], ""),
        ([{"crash": 3}], "exit code 3"),
        ([{"not_logged_in": True}], "Please run /login"),
        ([{"error_result": 404}], "selected model"),
        ([{"deny": "Bash"}], "allowed_tools"),
    ],
    ids=["left failed", "crashed", "auth", "bad model", "denied"],
)
def test_1_the_agent_or_its_job_failed(site: Site, steps: list[Step], words: str) -> None:
    """The agent left failed, or the job failed (auth and a bad model among them)."""
    site.project("010")
    site.configure({"agents": {"executors": {"claude-code": {"retries": 0}}}})
    site.script([steps])
    result = site.sow(*SPAWN, expect=1)
    assert result.out.startswith("010 failed (")
    assert words in result.out
    assert site.task("010")["status"] == "failed"
    assert words in (site.task_folder("010") / "log.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("agent", "spawn", "implementer"),
        ("agent", "spawn", "implementor", "010"),
        (*SPAWN, "--wait", "soon"),
        (*SPAWN, "--no-such-option"),
        ("agent", "resume", "010"),
        (*RESUME, "--file", "nowhere.md"),
        ("agent", "cancel"),
        ("agent", "frobnicate"),
    ],
)
def test_2_usage(site: Site, words: tuple[str, ...]) -> None:
    site.project("010")
    refused = site.sow(*words, expect=2)
    assert refused.err.startswith("Error: ")
    assert "\n\n" in refused.err
    assert not (site.root / ".sow/run").exists()


def test_2_an_unknown_agent_is_told_the_nearest(site: Site) -> None:
    site.project("010")
    refused = site.sow("agent", "spawn", "implementor", "010", expect=2)
    assert "unknown agent: implementor" in refused.err
    assert "implementer" in refused.err


@pytest.mark.parametrize("words", [SPAWN, RESUME, ("agent", "wait", "010")])
def test_3_configuration(site: Site, words: tuple[str, ...]) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    site.config_file.parent.mkdir(parents=True, exist_ok=True)
    site.config_file.write_text("agents: {executors: {claude-code: {yolo: true}}}\n")
    refused = site.sow(*words, expect=3)
    assert "yolo" in refused.err
    assert str(site.config_file).removeprefix(str(site.base / "home")) in refused.err
    assert len(all_jobs(site)) == 1


def test_3_a_variable_of_the_executor_that_is_gone_when_the_agent_starts(site: Site) -> None:
    """The worker reads the values of `env` from the user's file; they may name what it lacks."""
    site.project("010")
    env = {"TOKEN": "${NO_SUCH_VARIABLE}"}
    site.configure({"agents": {"executors": {"claude-code": {"env": env}}}})
    refused = site.sow(*SPAWN, expect=3)
    assert "NO_SUCH_VARIABLE" in refused.out + refused.err
    assert read_runs(site.root) == []


def test_4_no_project(site: Site) -> None:
    nowhere = site.sow(*SPAWN, expect=4)
    assert "no .sow folder" in nowhere.err
    assert "sow init" in nowhere.err
    site.sow("init")
    unbegun = site.sow(*SPAWN, expect=4)
    assert "sow project new" in unbegun.err


@pytest.mark.parametrize("verb", [SPAWN[:3], ("agent", "wait"), ("agent", "cancel")])
def test_4_an_unknown_task(site: Site, verb: tuple[str, ...]) -> None:
    site.project("010")
    for task in ("999", "10", "../010", "010/../020"):
        assert task in site.sow(*verb, task, expect=4).err


@pytest.mark.parametrize("words", [SPAWN, RESUME, ("agent", "wait", "010"), ("job", "list")])
def test_4_a_working_folder_that_is_gone(site: Site, words: tuple[str, ...]) -> None:
    site.project("010")
    gone = site.base / "gone"
    gone.mkdir()
    removing = ["/bin/sh", "-c", 'rmdir "$PWD" && exec sow "$@"', "sh", *words]
    env = site.environment({"SOW_ROOT": str(site.root)})
    refused = subprocess.run(
        removing, cwd=gone, env=env, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 4
    assert "the working folder no longer exists" in refused.stderr


def test_4_an_invalid_state(site: Site) -> None:
    site.project("010")
    state = site.task_folder("010") / "state.yaml"
    broken = state.read_text().replace("status: pending", "status: paused?")
    state.write_text(broken)
    refused = site.sow(*SPAWN, expect=4)
    assert "state.yaml" in refused.err
    assert "status" in refused.err
    assert state.read_text() == broken
    assert all_jobs(site) == []


def test_5_an_unknown_executor_however_it_was_bound(site: Site) -> None:
    site.project("010")
    by_variable = site.sow(*SPAWN, env={"SOW_AGENTS_IMPLEMENTER": "aider"}, expect=5)
    assert "aider" in by_variable.err
    assert "SOW_AGENTS_IMPLEMENTER" in by_variable.err
    assert all_jobs(site) == []


def test_5_not_installed(site: Site) -> None:
    site.project("010")
    (site.base / "bin/claude").unlink()
    refused = site.sow(*SPAWN, expect=5)
    assert "executor binary not found: claude" in refused.err
    assert site.task("010")["status"] == "pending"
    assert all_jobs(site) == []


def test_5_cannot_resume_is_told_before_a_missing_session(site: Site) -> None:
    site.project("010")
    site.configure({"agents": {"bindings": {"implementer": "windsurf"}}})
    refused = site.sow(*RESUME, expect=5)
    assert 'executor "windsurf" does not support session resumption' in refused.err


def test_5_no_session(site: Site) -> None:
    site.project("010")
    assert "no session found for task 010" in site.sow(*RESUME, expect=5).err


def test_5_a_session_that_its_cli_has_lost(site: Site) -> None:
    """A started session that the CLI has lost is an error that names the choices."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    shutil.rmtree(site.base / "home/.claude")
    lost = site.sow(*RESUME, expect=5)
    assert "--fresh" in lost.out + lost.err
    assert site.task("010")["status"] == "failed"
    assert len(read_runs(site.root)) == 1


@pytest.mark.parametrize(
    "words", [SPAWN, RESUME, ("agent", "wait", "010"), ("agent", "cancel", "010")]
)
def test_6_a_queue_that_is_not_a_database_is_left_untouched(
    site: Site, words: tuple[str, ...]
) -> None:
    site.project("010")
    queue = site.root / ".sow/run/queue.db"
    queue.parent.mkdir(mode=0o700)
    queue.write_bytes(b"not a database, but somebody's file\n" * 100)
    make_own(Workspace(site.root))  # written over in place
    refused = site.sow(*words, expect=6)
    assert "is not a SQLite database; sow did not change it" in refused.err
    assert queue.read_bytes() == b"not a database, but somebody's file\n" * 100
    queue.unlink()


def test_a_caller_below_the_root_finds_it_and_the_agent_runs_in_the_root(site: Site) -> None:
    site.project("010")
    site.script([good()])
    below = Path(site.root, "src/deep")
    below.mkdir(parents=True)
    site.sow(*SPAWN, cwd=below)
    (run,) = read_runs(site.root)
    assert run.cwd == str(site.root)
