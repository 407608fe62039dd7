"""What goes wrong with the real Claude Code, and what sow makes of it."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from journey import Journey, tool_results
from sandbox import SUBSCRIBER, end_of, wait_until
from scripted_model import HANG, REPORT, quota

pytestmark = pytest.mark.real


def find(journey: Journey, words: str) -> int | None:
    """Return the process in the namespace whose command line contains `words`."""
    inside = journey.sandbox.namespace.inhabitants()
    return next((pid for pid, line in inside.items() if words in line), None)


def find_claude(journey: Journey, claude_folder: Path) -> int | None:
    """Return the process of Claude Code; its supervisor's command line looks the same."""
    binary = (claude_folder / "claude").resolve()
    for pid in journey.sandbox.namespace.inhabitants():
        with suppress(OSError):
            if Path(f"/proc/{pid}/exe").readlink() == binary:
                return pid
    return None


def transcripts(journey: Journey) -> str:
    """Return what Claude Code has written of its conversations: some time after they went on."""
    files = journey.sandbox.home.glob(".claude/projects/*/*.jsonl")
    return "".join(file.read_text("utf-8") for file in files)


def read(journey: Journey, file: str) -> str:
    """Return a file of the repository as it stands; empty where there is none."""
    path = journey.sandbox.repository / file
    return path.read_text("utf-8") if path.exists() else ""


def verbs(journey: Journey, job: int = 1) -> list[tuple[str, str]]:
    return [(attempt["verb"], attempt["cause"]) for attempt in journey.attempts(job)]


@pytest.mark.one_of
@pytest.mark.parametrize(("status", "cause"), [(401, "auth"), (404, "bad_model")])
def test_what_no_retry_can_cure_fails_at_once(journey: Journey, status: int, cause: str) -> None:
    journey.sandbox.behave(status=status)
    done = journey.spawn("--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["cause"], record["attempt_count"]) == (1, cause, 1)
    assert journey.task()["status"] == "failed"


@pytest.mark.one_of("real services that are asked again")
def test_an_overloaded_service_is_asked_again_in_the_same_session(journey: Journey) -> None:
    """Claude Code itself asks twice here; then it ends, and sow resumes it."""
    journey.sandbox.behave(status=529, times=2)
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "api_error"), ("resume", "reported")]
    assert len({attempt["session_id"] for attempt in journey.attempts()}) == 1


@pytest.mark.one_of("real services that are asked again")
def test_a_quota_is_waited_out(journey: Journey) -> None:
    """A subscriber's: it tells when it begins anew."""
    journey.configure(environ=SUBSCRIBER)
    journey.sandbox.behave(status=429, headers=quota("rejected", "{soon}"), times=1)
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "rate_limited"), ("resume", "reported")]


def test_an_agent_that_ends_without_a_status_is_asked_for_it(journey: Journey) -> None:
    journey.sandbox.behave(commands=["ls"])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: len(journey.sandbox.requests()) >= 2, "the first attempt's end")
    journey.sandbox.behave(commands=REPORT)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "no_status"), ("resume", "reported")]


@pytest.mark.one_of("real agents that are killed")
def test_a_killed_agent_is_resumed_with_its_conversation(
    journey: Journey, claude_folder: Path
) -> None:
    journey.configure(settings={"allowed_tools": ["Bash"]})
    journey.sandbox.behave(commands=["echo before {task_id}", HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    before = f'"content":"before {journey.task_id}"'
    wait_until(lambda: before in transcripts(journey), "the first command's result on disk")
    journey.sandbox.behave(commands=REPORT, forgives=True)
    killed = find_claude(journey, claude_folder)
    assert killed
    os.kill(killed, signal.SIGKILL)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "crashed"), ("resume", "reported")]
    last = journey.sandbox.requests()[-1]
    assert f"before {journey.task_id}" in json.dumps(tool_results(last))
    assert HANG not in journey.sandbox.namespace.inhabitants().values()


@pytest.mark.one_of("real sessions that are lost or taken")
@pytest.mark.parametrize("kept_lines", [None, 0, 2], ids=["no file", "empty", "no message"])
def test_an_agent_killed_before_claude_had_kept_its_conversation_begins_another(
    journey: Journey, claude_folder: Path, kept_lines: int | None
) -> None:
    """Its first lines tell of the prompt's queue alone: no resume finds it, and its id is taken."""
    journey.configure(settings={"allowed_tools": ["Bash"]})
    journey.sandbox.behave(commands=[HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    wait_until(lambda: journey.task()["session"]["started"], "the session on record")
    lost = journey.task()["session_id"]
    killed = find_claude(journey, claude_folder)
    assert killed
    os.kill(killed, signal.SIGSTOP)
    for transcript in journey.sandbox.home.glob(f".claude/projects/*/{lost}.jsonl"):
        if kept_lines is None:
            transcript.unlink()
        else:
            lines = transcript.read_bytes().splitlines(keepends=True)
            transcript.write_bytes(b"".join(lines[:kept_lines]))
    journey.sandbox.behave(commands=REPORT, forgives=True)
    os.kill(killed, signal.SIGKILL)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [
        ("spawn", "crashed"),
        ("resume", "session_unknown"),
        ("spawn", "reported"),
    ]
    assert journey.task()["session_id"] != lost
    assert lost in journey.log()
    assert "cut off after 1 tool call" in json.dumps(journey.sandbox.requests()[-1]["messages"])


@pytest.mark.one_of("real agents that are killed")
def test_an_agent_survives_its_worker(journey: Journey) -> None:
    journey.configure(settings={"allowed_tools": ["Bash"]})
    wait = "until test -e go; do sleep 0.1; done"
    journey.sandbox.behave(commands=[wait, *REPORT])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: find(journey, "until test -e go"), "the command")
    worker = find(journey, "sow worker --background")
    assert worker
    os.kill(worker, signal.SIGKILL)
    (journey.sandbox.repository / "go").touch()
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "reported")]


def test_a_cancelled_agent_leaves_nothing_and_can_be_resumed(
    journey: Journey, claude_folder: Path
) -> None:
    journey.configure(settings={"allowed_tools": ["Bash"]})
    journey.sandbox.behave(commands=[HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    assert journey.sandbox.sow("agent", "cancel", journey.task_id).returncode == 0
    assert end_of(process).returncode == 7
    assert journey.task()["status"] == "paused"
    assert find_claude(journey, claude_folder) is None
    assert HANG not in journey.sandbox.namespace.inhabitants().values()
    journey.sandbox.behave(commands=REPORT, forgives=True)
    done = journey.resume("Go on.")
    assert done.returncode == 0, done.stderr
    assert journey.task()["status"] == "needs_review"


@pytest.mark.one_of("real sessions that are lost or taken")
def test_a_session_that_claude_has_lost_is_never_begun_anew_in_silence(journey: Journey) -> None:
    assert journey.spawn().returncode == 0
    for transcript in journey.sandbox.home.glob(".claude/projects/*/*.jsonl"):
        transcript.unlink()
    before = len(journey.sandbox.requests())
    done = journey.resume("Go on.")
    assert done.returncode == 5
    assert "--fresh" in done.stderr
    assert len(journey.sandbox.requests()) == before


@pytest.mark.one_of
@pytest.mark.parametrize("cut", [3, 4], ids=["in a block", "after a block"])
def test_a_stream_that_is_cut_is_mended_by_the_cli_itself(journey: Journey, cut: int) -> None:
    """It asks again without a stream; sow need not even know."""
    journey.sandbox.behave(commands=REPORT, cut=cut, times=1)
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "reported")]


@pytest.mark.one_of("real services that are asked again")
def test_a_service_that_cannot_be_reached_is_tried_again(journey: Journey) -> None:
    """Nothing listens there. The CLI has begun its session, so the retry is a resume."""
    journey.configure(environ={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, retries=1)
    done = journey.spawn("--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["cause"]) == (1, "api_error")
    assert "ECONNREFUSED" in record["reason"]
    assert verbs(journey) == [("spawn", "api_error"), ("resume", "api_error")]


@pytest.mark.one_of("real sessions that are lost or taken")
def test_a_session_that_the_cli_has_already_is_resumed(journey: Journey) -> None:
    """Begun by a run of which sow saw nothing: the id of a spawn is in use."""
    (journey.sandbox.repository / ".sow/config.yaml").write_text("worker: {autostart: false}\n")
    assert journey.spawn("--detach").returncode == 0
    session = journey.task()["session_id"]
    journey.sandbox.behave(commands=[])
    begun = journey.sandbox.run("claude", "-p", "--session-id", session, stdin="Read the README.")
    assert begun.returncode == 0, begun.stderr
    journey.sandbox.behave(commands=REPORT)
    drained = journey.sandbox.sow("worker", "--drain")
    assert journey.task()["status"] == "needs_review", drained.stderr
    assert verbs(journey) == [("spawn", "session_in_use"), ("resume", "reported")]
    assert journey.task()["session_id"] == session
    assert "Read the README." in json.dumps(journey.sandbox.requests()[-1]["messages"])


@pytest.mark.one_of("real sessions that are lost or taken")
@pytest.mark.skipif(os.geteuid() != 0, reason="the CLI refuses only root")
def test_root_without_the_sandbox_flag_and_then_a_session_that_never_began(
    journey: Journey, claude_folder: Path
) -> None:
    """A wrapper of the user's drops the variable: refused in the CLI's own words, at once.

    So the session never began; the resume that follows finds it unknown and becomes a spawn.
    """
    wrapper = Path(journey.sandbox.environ["PATH"].split(":")[0]) / "claude"
    wrapper.write_text(f'#!/bin/sh\nunset IS_SANDBOX\nexec "{claude_folder}/claude" "$@"\n')
    wrapper.chmod(0o755)
    journey.configure(settings={"yolo_mode": True})
    done = journey.spawn("--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["cause"], record["attempt_count"]) == (1, "bad_flags", 1)
    assert "cannot be used with root/sudo privileges" in record["reason"]
    assert journey.task()["status"] == "failed"
    assert journey.sandbox.requests() == []

    session = journey.task()["session_id"]
    wrapper.unlink()
    done = journey.resume("Now it is allowed.")
    assert done.returncode == 0, done.stderr
    assert verbs(journey, 2) == [("resume", "session_unknown"), ("spawn", "reported")]
    assert journey.task()["session_id"] == session
    assert "Now it is allowed." in json.dumps(journey.sandbox.requests()[0]["messages"])


@pytest.mark.one_of("real agents that are killed")
def test_an_agent_killed_with_its_worker_and_supervisor_goes_on_in_its_conversation(
    journey: Journey, claude_folder: Path
) -> None:
    """The caller starts the next worker; the shell command that was left behind is ended."""
    journey.configure(settings={"allowed_tools": ["Bash"]})
    journey.sandbox.behave(commands=["echo before {task_id}", HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    before = f'"content":"before {journey.task_id}"'
    wait_until(lambda: before in transcripts(journey), "the first command's result on disk")
    wait_until(lambda: journey.task()["session"]["started"], "the session on record")
    journey.sandbox.behave(commands=REPORT, forgives=True)
    supervisor = journey.attempts()[0]["pid"]
    worker, claude = find(journey, "sow worker --background"), find_claude(journey, claude_folder)
    assert worker
    assert claude
    for pid in (worker, supervisor, claude):
        os.kill(pid, signal.SIGKILL)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "worker_died"), ("resume", "reported")]
    assert len({attempt["worker"] for attempt in journey.attempts()}) == 2
    assert len({attempt["session_id"] for attempt in journey.attempts()}) == 1
    last = journey.sandbox.requests()[-1]
    assert f"before {journey.task_id}" in json.dumps(tool_results(last))
    assert "the worker above you stopped" in json.dumps(last["messages"])
    assert HANG not in journey.sandbox.namespace.inhabitants().values()


@pytest.mark.one_of("real agents that seem to hang")
def test_an_agent_that_waits_for_its_background_task_is_not_taken_for_hung(
    journey: Journey,
) -> None:
    """After its result Claude Code waits for the task, begins another turn, and reports in that."""
    journey.configure(settings={"allowed_tools": ["Bash"]})
    wait = "until test -e go; do sleep 0.1; done"
    journey.sandbox.behave(commands=[wait], in_background=[wait])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    output = ".sow/run/jobs/1/1/output.jsonl"
    wait_until(lambda: '"terminal_reason"' in read(journey, output), "the first result")
    journey.sandbox.behave(commands=[wait, *REPORT], in_background=[wait])
    (journey.sandbox.repository / "go").touch()
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "reported")]
    assert read(journey, output).count('"terminal_reason"') == 2
    assert '"background_tasks_changed"' in read(journey, output)


@pytest.mark.one_of("real agents that seem to hang")
def test_a_background_task_that_never_ends_does_not_keep_its_agent(journey: Journey) -> None:
    """Claude Code would wait for it for ever (measured: more than 200 s); the agent is done.

    The limit leaves a busy machine time to start Claude Code, which may look idle for seconds.
    """
    journey.configure(settings={"allowed_tools": ["Bash"]}, stall_timeout="10s")
    journey.sandbox.behave(commands=[HANG, *REPORT], in_background=[HANG])
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "reported")]
    assert HANG not in journey.sandbox.namespace.inhabitants().values()


@pytest.mark.one_of("real agents that seem to hang")
def test_an_agent_that_hangs_in_a_command_is_ended_and_resumed_once(journey: Journey) -> None:
    """Claude Code that waits is never quite idle: its event loop must not pass for work."""
    journey.configure(settings={"allowed_tools": ["Bash"]}, stall_timeout="10s")
    journey.sandbox.behave(commands=[HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    journey.sandbox.behave(commands=REPORT, forgives=True)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    assert verbs(journey) == [("spawn", "stalled"), ("resume", "reported")]
    assert HANG not in journey.sandbox.namespace.inhabitants().values()
