"""The real agent CLIs in a sandbox: what sow promises holds there, and they see nothing else.

As root, and as an ordinary user who is made for the test (`own_user`).

| promise | test |
| --- | --- |
| it commits in its clone, sees no key, is paused, resumed, and reports | `test_it_works_…` |
| a command that its role may not run is refused | `test_it_works_…`, `test_with_the_rules_…` |
| a cancel leaves nothing | `test_a_cancel_…` |
| its session goes on whoever is killed, again and again | `test_a_storm_…` |
| a reviewer, the setup of a clone and a check | `test_review_setup_and_check_…` |
| it needs no keyring of the kernel: the filter that closes them is around each | all of these |
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from killing import NAP, pids_of
from native_trial import TASK, Trial
from natives import EVERY
from opened_trial import opened_trial, reports
from sandbox import Json, end_of, wait_until

from sow.agent_clis.description import Evidence
from sow.agent_clis.known import AGENT_CLIS
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.schema.executor_type import ExecutorType

pytestmark = [pytest.mark.real]
ROOT, USER = "root", "user"
KEY = "a-key-of-the-users"


def in_sandbox(*names: str, group: str = "natives in a sandbox") -> pytest.MarkDecorator:
    """Run a test with each of these CLIs, or with all, as root and as a user; CI draws one."""
    cases = [
        pytest.param(
            (name, who), id=f"{name}-{who}", marks=pytest.mark.one_of(group, f"{name}, {who}")
        )
        for name in names or EVERY
        for who in (ROOT, USER)
    ]
    return pytest.mark.parametrize("trial", cases, indirect=True)


@pytest.fixture
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """Return a trial of a CLI in a sandbox; its user has a key, and tasks have clones."""
    name, who = request.param
    is_root = os.geteuid() == 0
    if who == ROOT and not is_root:
        skip_or_fail("only root can run it as root")
    try:
        usable("this test")
    except SandboxUnavailable as missing:
        skip_or_fail(f"agents cannot be run in a sandbox: {missing}")
    with opened_trial(EVERY[name], tmp_path, as_user=who == USER and is_root) as found:
        (found.home / ".ssh").mkdir()
        key_of(found).write_text(KEY, encoding="utf-8")
        settle(found, {"clones": {"use": "always"}})
        found.configure(sandbox="bwrap")
        yield found


def test_the_descriptions_say_what_is_tried_here() -> None:
    tried = {kind for kind, cli in AGENT_CLIS.items() if cli.tried.sandbox is Evidence.REAL}
    assert tried - {ExecutorType.COMMAND} == set(EVERY)


def key_of(trial: Trial) -> Path:
    return trial.home / ".ssh/id_test"


def settle(trial: Trial, settings: Json) -> None:
    """Write the repository's settings."""
    file = trial.repository / ".sow/config.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    trial.hand_over()


def clone_of(trial: Trial) -> Path:
    return Path(trial.task()["clone"]["path"])


def work(trial: Trial) -> list[Json]:
    """Return the answers of a model that works, and looks round."""
    return [
        {"run": f"cat {key_of(trial)}; ls /proc | grep -c '^[0-9]'"},
        {"run": "echo made >made.txt && git add made.txt && git commit -q -m Made"},
        {"run": f"sow task show {TASK}"},
    ]


def refused(trial: Trial) -> list[Json]:
    """Return the answers of a model that tries what it may not do."""
    return [
        {"run": f"touch {trial.home}/outside.txt"},
        {"run": "sow worker stop --end-agents"},
        {"run": f"sow agent spawn implementer {TASK}"},
    ]


def nothing_came_of_it(trial: Trial, *, jobs: int) -> None:
    """See that no attempt of an agent to reach out has had a result."""
    assert not (trial.home / "outside.txt").exists()
    listed = trial.sow("job", "list", "--task", TASK, "--json").stdout.splitlines()
    assert len(listed) == jobs
    assert trial.left() == {}


def conversation(trial: Trial) -> str:
    """Return the whole of the last request of the agent's."""
    return json.dumps(trial.asked()[-1]["body"])


@in_sandbox()
def test_it_works_pauses_and_goes_on_and_reaches_nothing_else(trial: Trial) -> None:
    trial.tell(*work(trial), *reports("paused", log="Which colour?"))
    spawned = trial.spawn()
    account = "\n".join(map(str, (spawned.stdout, spawned.stderr, trial.attempts())))
    assert spawned.returncode == 0, account + trial.output()
    task, clone = trial.task(), clone_of(trial)
    assert task["status"] == "paused", account + trial.output()
    assert "Which colour?" in trial.sow("task", "log", TASK).stdout
    log = trial.run("git", "-C", str(clone), "log", "--format=%s").stdout.splitlines()
    assert "Made" in log, account
    texts = conversation(trial)
    assert KEY not in texts
    assert "Try it" in texts  # what `sow task show` has printed
    trial.tell(*refused(trial), {"run": "cat made.txt >colour.txt"}, *reports("needs_review"))
    resumed = trial.resume("Blue.")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    session = task["session_id"]
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    [first], [second] = trial.attempts(1), trial.attempts(2)
    assert first["session_id"] == second["session_id"] == session
    assert second["cause"] == "reported"
    texts = conversation(trial)
    assert "Which colour?" in texts  # the conversation goes on
    assert "Blue." in texts
    assert (clone / "colour.txt").read_text("utf-8") == "made\n"
    nothing_came_of_it(trial, jobs=2)


@in_sandbox(group="natives with rules in a sandbox")
def test_with_the_rules_of_its_cli_it_is_refused_and_goes_on(trial: Trial) -> None:
    """They are off in a sandbox unless they are asked for."""
    trial.configure(sandbox="bwrap", settings={"yolo_mode": False})
    trial.tell(*refused(trial), *reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review", trial.output()
    assert [attempt["cause"] for attempt in trial.attempts()] == ["reported"]
    nothing_came_of_it(trial, jobs=1)


@in_sandbox()
def test_a_cancel_leaves_nothing(trial: Trial) -> None:
    trial.tell({"run": "touch begun; sleep 300"})
    call = trial.start_sow("agent", "spawn", "implementer", TASK)

    def has_begun() -> bool:
        return bool(trial.task().get("clone")) and (clone_of(trial) / "begun").exists()

    wait_until(has_begun, "the agent's command")
    cancelled = trial.sow("agent", "cancel", TASK)
    assert cancelled.returncode == 0, cancelled.stderr
    end_of(call)
    assert trial.job()["state"] == "cancelled"
    wait_until(lambda: not trial.left(), "an empty place")


KILLED = ("agent", "supervisor", "worker", "agent", "worker")
"""Whom the storm kills, one after the other, each in the middle of a command of the agent's."""


@in_sandbox("claude", "codex", "opencode")
def test_a_storm_of_kills_ends_with_the_report_of_the_session_that_began(trial: Trial) -> None:
    trial.configure(sandbox="bwrap", retries=len(KILLED))
    trial.tell(*naps(0))
    call = trial.start_sow("agent", "spawn", "implementer", TASK)
    wait_until(lambda: trial.task().get("clone"), "the clone")
    clone = clone_of(trial)
    sessions = set[str]()
    for number, who in enumerate(KILLED):
        wait_until((clone / f"begun-{number}").exists, f"command {number} of the agent")
        sessions.add(wait_until(lambda: trial.task()["session_id"], "the session on record"))
        is_last = number + 1 == len(KILLED)
        # An agent may ask once more before it ends.
        trial.tell(*(reports("needs_review") * 2 if is_last else naps(number + 1)))
        for pid in pids_of(trial, who):
            with suppress(ProcessLookupError):  # it may have ended with another one
                os.kill(pid, signal.SIGKILL)
    done = end_of(call)
    assert done.returncode == 0, done.stdout + done.stderr
    task = trial.task()
    assert (task["status"], {task["session_id"]}) == ("needs_review", sessions)
    wait_until(lambda: not trial.left(), "an empty place")


def naps(number: int) -> list[Json]:
    """Return the answers of a model whose agent begins a command that takes long."""
    command = f"touch begun-{number}; {NAP}; true"  # its shell outlives the nap
    return [{"run": command}] * 2  # one that was cut off is begun anew


@in_sandbox("claude", "codex", "opencode")
def test_review_setup_and_check_are_in_it_as_well(trial: Trial) -> None:
    key, outside = key_of(trial), trial.home / "outside.txt"
    fenced = f"! cat {key} && ! touch {outside}"
    settle(
        trial,
        {
            "clones": {"use": "always", "setup": fenced, "setup_sandbox": "bwrap"},
            "checks": {"unit": {"run": f"{fenced} && grep made made.txt", "sandbox": "bwrap"}},
        },
    )
    assert trial.sow("trust", "--yes").returncode == 0
    trial.tell(*work(trial), *reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    checked = trial.sow("task", "check", TASK, "unit")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    trial.environ = {**trial.environ, "SOW_AGENTS_REVIEWER": trial.executor}
    trial.tell(
        {"run": f"cat {key}; touch {outside}; touch {trial.repository}/made-by-reviewer"},
        {"run": "git log -1 --format=%s; git show HEAD:made.txt; touch mine && echo written"},
        {"run": f"sow review accept {TASK} --summary 'As asked'"},
    )
    reviewed = trial.sow("agent", "review", TASK)
    assert reviewed.returncode == 0, reviewed.stdout + reviewed.stderr
    assert trial.task()["review"]["verdict"] == "accepted"
    texts = conversation(trial)
    assert KEY not in texts
    assert "Made" in texts
    assert "written" in texts
    assert not outside.exists()
    assert not (trial.repository / "made-by-reviewer").exists()
    assert not (clone_of(trial) / "mine").exists(), "it has a throw-away clone"
    assert trial.left() == {}
