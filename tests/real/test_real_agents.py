"""Real agent CLIs, by their own executors and over ACP alike: what sow promises of each of them.

Which test shows what, here or where it is named:

| promise | test |
| --- | --- |
| spawn, paused, resumed, needs_review; `sow` is called by the agent | `test_it_pauses_…` |
| SIGKILL of agent, supervisor, worker or client of ACP, and on it goes | `test_it_goes_on_when_…` |
| a cancel leaves nothing; the record has the exact argv | `test_a_cancel_leaves_nothing` |
| 401, 400 | `test_a_refused_request_…` |
| 500 | `test_a_service_that_fails_…` |
| 429 with and without a header | `test_a_limit_that_lasts_…` |
| a stream that breaks off | `test_a_stream_that_breaks_off_…` |
| a slow service | `test_a_slow_service_…` |
| a prompt that begins with `/`, `@`, `!`, `-` | `test_the_words_of_a_prompt_…` |
| a denied command | `test_what_its_role_may_not_do_…` of the two files below |
| what holds of an executor of their own alone | `test_real_natives.py` |
| what holds over ACP alone | `test_real_acp.py` |

Of one agent over ACP CI draws one part, which `by_each` names, and of one CLI with an executor of
its own one part as well.
"""

import json
import os
import signal

import pytest
from killing import pids_of
from native_trial import TASK, Trial
from opened_trial import by_acp, by_each, reports
from sandbox import end_of, read_lines, wait_until

from sow.acp.presets import PRESETS

pytestmark = [pytest.mark.real]


def preset_of(trial: Trial) -> str:
    """Return which agent over ACP it is; nothing for a CLI that has an executor of its own."""
    return str(trial.native.settings.get("preset", ""))


def leaves_nothing(trial: Trial) -> None:
    """See that nothing of a call that has come back runs on; over ACP, after a moment."""
    if preset_of(trial):
        wait_until(lambda: not trial.left(), "an empty place")
    assert trial.left() == {}


@by_each("work")
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
    assert first["tool_uses"] == 2
    texts = json.dumps(trial.asked()[-1]["body"])
    assert "Which colour?" in texts  # the conversation goes on
    assert "Blue." in texts
    if preset_of(trial):
        assert second["tool_uses"] == 2  # what was replayed is not counted
        wire = read_lines(trial.repository / ".sow/run/jobs/2/1/acp.jsonl")
        assert "session/prompt" in [line["to"].get("method") for line in wire if "to" in line]
    leaves_nothing(trial)


@by_each("work")
def test_a_cancel_leaves_nothing(trial: Trial) -> None:
    mark = trial.repository / "begun"
    trial.tell({"run": f"touch {mark.name}; sow task show > /dev/null; sleep 300"})
    trial.configure(settings={"yolo_mode": True})
    call = trial.start_sow("agent", "spawn", "implementer", TASK)
    wait_until(mark.exists, "the agent's command")
    words = " ".join(trial.attempts()[0]["argv"][1:])
    running = [line for line in trial.namespace.inhabitants().values() if line.endswith(words)]
    assert running, "what is on record is what runs"
    if preset_of(trial):
        orders = json.loads(trial.orders())
        agents = " ".join(orders["command"])
        inside = trial.namespace.inhabitants().values()
        assert [line for line in inside if line.endswith(agents)], inside
    cancelled = trial.sow("agent", "cancel", TASK)
    assert cancelled.returncode == 0, cancelled.stderr
    end_of(call)
    assert trial.job()["state"] == "cancelled"
    wait_until(lambda: not trial.left(), "an empty place")


@by_each("words")
def test_the_words_of_a_prompt_reach_the_model_as_they_are(trial: Trial) -> None:
    (trial.repository / "NAME").write_text("what stands in the file", encoding="utf-8")
    preset = preset_of(trial)
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    for words in ("/clear and more", "@NAME is a name, a@NAME too", "!ls", "-x is a flag"):
        trial.tell(*reports("paused"))
        resumed = trial.resume("--", words)
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        text = json.dumps(trial.asked()[-1]["body"])
        is_masked = bool(preset) and PRESETS[preset].reads_at
        seen = words.replace("@", "\\@", 1) if is_masked else words
        assert json.dumps(seen)[1:-1] in text
        assert "what stands in the file" not in text


SAYS_NOTHING = ("pi",)
"""The agents over ACP that end their turn well when a request has failed, and do not say why."""


@by_each("service")
@pytest.mark.parametrize("status", [401, 400])
def test_a_refused_request_is_told_by_its_cause(trial: Trial, status: int) -> None:
    trial.tell(then={"status": status})
    trial.configure(api_timeout="120s")  # a busy machine takes long to start an agent
    spawned = trial.spawn()
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    [attempt] = trial.attempts()
    is_auth = status == 401 and preset_of(trial) not in SAYS_NOTHING
    assert attempt["cause"] == ("auth" if is_auth else "api_error"), attempt["reason"]
    leaves_nothing(trial)


@by_each("service")
def test_a_slow_service_is_waited_for(trial: Trial) -> None:
    slow = [{**answer, "after": 8} for answer in reports("needs_review")]
    trial.tell(*slow)
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"


@by_each("service")
def test_a_stream_that_breaks_off_once_is_mended(trial: Trial) -> None:
    trial.tell({"cut": True}, *reports("needs_review"))
    trial.configure(retries=2)
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"


@by_each("limits")
def test_a_service_that_fails_is_told_as_such(trial: Trial) -> None:
    trial.tell(then={"status": 500})
    trial.configure(api_timeout="25s" if preset_of(trial) else "60s")
    spawned = trial.spawn()
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    [attempt] = trial.attempts()
    assert attempt["cause"] == "api_error", attempt["reason"]
    leaves_nothing(trial)


@by_each("limits")
@pytest.mark.parametrize("headers", [{}, {"retry-after": "1"}], ids=["untold", "retry-after"])
def test_a_limit_that_lasts_is_told_as_one(trial: Trial, headers: dict[str, str]) -> None:
    trial.tell(then={"status": 429, "headers": headers})
    trial.configure(api_timeout="25s")
    spawned = trial.spawn()
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    [attempt] = trial.attempts()
    if preset_of(trial) in SAYS_NOTHING:
        assert attempt["cause"] == "api_error", attempt["reason"]
    elif "no answer from its model" in attempt["reason"]:  # sow's own clock; not all say why
        assert attempt["cause"] in ("rate_limited", "api_error")
    else:
        assert attempt["cause"] == "rate_limited", attempt["reason"]
    leaves_nothing(trial)


@by_each("killed")
@pytest.mark.parametrize("who", ["agent", "worker", "supervisor"])
def test_it_goes_on_when_killed_in_the_middle(trial: Trial, who: str) -> None:
    goes_on_when_killed(trial, who)


@by_acp("killed")
def test_it_goes_on_when_the_client_of_acp_is_killed(trial: Trial) -> None:
    goes_on_when_killed(trial, "client of ACP")


def goes_on_when_killed(trial: Trial, who: str) -> None:
    """Kill one of those around an agent in the middle of its work, and see its session go on."""
    mark = trial.repository / "begun"
    trial.tell(
        {"run": "sow agent log begun"},
        {"run": f"touch {mark.name}; sleep 300; true"},  # its shell outlives the nap
        then={"say": "That is all."},
    )
    trial.configure(settings={"yolo_mode": True}, retries=2)
    call = trial.start_sow("agent", "spawn", "implementer", TASK)
    wait_until(mark.exists, "the agent's command")
    session = wait_until(lambda: trial.task()["session_id"], "the session on record")
    trial.tell(*reports("needs_review") * 2)  # an agent may ask once more before it ends
    for pid in pids_of(trial, who):
        os.kill(pid, signal.SIGKILL)
    done = end_of(call)
    assert done.returncode == 0, done.stdout + done.stderr
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    wait_until(lambda: not trial.left(), "an empty place")
