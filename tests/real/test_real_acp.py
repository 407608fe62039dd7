"""Real agents over ACP: what sow promises for each of them. Two have no executor of their own."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from acp_agents import AGENTS
from capabilities import skip_or_fail
from claude_install import ClaudeUnavailable
from namespace import NamespaceUnavailable
from native_trial import TASK, Trial, open_trial
from natives import install_native
from sandbox import end_of, read_lines, wait_until
from started_with import STARTED_WITH

from sow.acp.presets import PRESETS

pytestmark = [pytest.mark.real]
ASKING = tuple(name for name in AGENTS if PRESETS[name].fence == "asking")


def of_each(*names: str) -> pytest.MarkDecorator:
    """Run a test with each of these agents, or with all; CI draws one."""
    cases = [
        pytest.param(name, marks=pytest.mark.one_of("agents by ACP", name))
        for name in names or AGENTS
    ]
    return pytest.mark.parametrize("trial", cases, indirect=True)


@pytest.fixture
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """Return a trial of the agent that the test names."""
    agent = AGENTS[request.param]
    with ExitStack() as stack:
        try:
            program = install_native(agent, STARTED_WITH)
            opened = open_trial(tmp_path, agent, program, STARTED_WITH)
            found = stack.enter_context(opened)
        except (ClaudeUnavailable, NamespaceUnavailable) as missing:
            skip_or_fail(f"{agent.name} cannot be run: {missing}")
        yield found


def reports(status: str, *, log: str = "") -> list[dict[str, str]]:
    """Return the answers of a model that logs, and sets its task's status."""
    logs = [{"run": f'sow agent log "{log}"'}] if log else []
    return [*logs, {"run": f"sow task set status {status}"}]


@of_each()
def test_it_pauses_is_resumed_and_reports(trial: Trial) -> None:
    trial.tell(*reports("paused", log="Which colour?"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    task = trial.task()
    assert task["status"] == "paused"
    session = task["session_id"]
    trial.tell(*reports("needs_review", log="Made it blue"))
    resumed = trial.resume("Blue.")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    [first] = trial.attempts(1)
    [second] = trial.attempts(2)
    assert first["session_id"] == second["session_id"] == session
    assert first["tool_uses"] == second["tool_uses"] == 2
    texts = json.dumps(trial.asked()[-1]["body"])
    assert "Which colour?" in texts  # the conversation goes on
    assert "Blue." in texts
    wire = read_lines(trial.repository / ".sow/run/jobs/2/1/acp.jsonl")
    assert "session/prompt" in [line["to"].get("method") for line in wire if "to" in line]
    wait_until(lambda: not trial.left(), "an empty place")


@of_each(*ASKING)
def test_what_its_role_may_not_do_is_refused_and_it_goes_on(trial: Trial) -> None:
    outside = trial.home / "outside.txt"
    inside = trial.repository / "inside.txt"
    trial.tell(
        {"run": f"touch {outside}"},
        {"run": "sow worker stop"},
        {"run": f"sow task show {TASK} > {inside}"},
        {"run": f"sow task show {TASK}; touch {inside}"},
        *reports("needs_review"),
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert not outside.exists()
    assert not inside.exists()
    denials = [line for line in trial.output().splitlines() if '"type": "denial"' in line]
    assert len(denials) == 4


@of_each()
def test_a_cancel_leaves_nothing(trial: Trial) -> None:
    mark = trial.repository / "begun"
    trial.tell({"run": f"touch {mark.name}; sow task show > /dev/null; sleep 300"})
    trial.configure(settings={"yolo_mode": True})
    call = trial.start_sow("agent", "spawn", "implementer", TASK)
    wait_until(mark.exists, "the agent's command")
    cancelled = trial.sow("agent", "cancel", TASK)
    assert cancelled.returncode == 0, cancelled.stderr
    end_of(call)
    assert trial.job()["state"] == "cancelled"
    wait_until(lambda: not trial.left(), "an empty place")


@of_each()
@pytest.mark.parametrize("status", [401, 400])
def test_a_failing_service_is_no_success(trial: Trial, status: int) -> None:
    trial.tell(then={"status": status})
    trial.configure(api_timeout="60s")
    spawned = trial.spawn()
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    attempt = trial.attempts()[-1]
    if trial.native.name == "copilot":  # it says so as its agent's words, and ends its turn well
        assert attempt["cause"] == "no_status"
    elif trial.native.name == "pi":  # it ends its turn well, without a word
        assert attempt["cause"] == "api_error"
    else:
        assert attempt["cause"] == ("auth" if status == 401 else "api_error"), attempt["reason"]
    wait_until(lambda: not trial.left(), "an empty place")


@of_each()
def test_the_words_of_a_prompt_reach_the_model_as_they_are(trial: Trial) -> None:
    (trial.repository / "NAME").write_text("what stands in the file", encoding="utf-8")
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    for words in ("/clear and more", "@NAME is a name, a@NAME too", "!ls", "-x is a flag"):
        trial.tell(*reports("paused"))
        resumed = trial.resume("--", words)
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        text = json.dumps(trial.asked()[-1]["body"])
        masked = words.replace("@", "\\@", 1) if PRESETS[trial.native.name].reads_at else words
        assert json.dumps(masked)[1:-1] in text
        assert "what stands in the file" not in text


@of_each()
def test_it_goes_on_in_its_session_when_killed_in_the_middle(trial: Trial) -> None:
    mark = trial.repository / "begun"
    trial.tell(
        {"run": "sow agent log begun"},
        {"run": f"touch {mark.name}; sleep 300"},
        then={"say": "That is all."},
    )
    trial.configure(settings={"yolo_mode": True}, retries=2)
    call = trial.start_sow("agent", "spawn", "implementer", TASK)
    wait_until(mark.exists, "the agent's command")
    session = wait_until(lambda: trial.task()["session_id"], "the session on record")
    # The agent may ask the model once more before it ends.
    trial.tell(then={"run": "sow task set status needs_review"})
    inside = trial.namespace.inhabitants()
    for pid in (pid for pid, line in inside.items() if "-m sow.acp" in line):
        os.kill(pid, signal.SIGKILL)
    done = end_of(call)
    assert done.returncode == 0, done.stdout + done.stderr
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    wait_until(lambda: not trial.left(), "an empty place")
