"""The stand-ins behave as their README says, and as the real Claude Code was measured to."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_bench import Bench
from standins import install_standins, overlapping, read_refusals, read_runs, write_script

pytestmark = pytest.mark.slow  # each case starts a stand-in

UUID = "3f0c0b5e-1111-4222-8333-444455556667"
STREAM = ["-p", "--output-format", "stream-json", "--verbose"]
FREE = [*STREAM, "--allowedTools", "Bash"]


def start(bench: Bench, *argv: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=cwd or bench.root,
        env=dict(bench.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(
    bench: Bench, *argv: str, prompt: str = "Do task 010.", cwd: Path | None = None
) -> tuple[int, str, str]:
    with start(bench, *argv, cwd=cwd) as process:
        out, err = process.communicate(prompt.encode(), timeout=240)
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def wait_until(condition: Callable[[], object], seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


REFUSED = [
    (["-p", "--bogus"], "error: unknown option '--bogus'"),
    (["-p", "--model"], "argument missing"),
    (["-p", "--output-format", "wrong"], "Allowed choices are text, json, stream-json."),
    (["-p", "--permission-mode", "wrong"], "Allowed choices are acceptEdits"),
    (
        ["-p", "--output-format", "stream-json"],
        "Error: When using --print, --output-format=stream-json requires --verbose",
    ),
    (["-p", "--session-id", "x"], "Error: Invalid session ID. Must be a valid UUID."),
    (["-p", "--resume"], "Error: --resume requires a valid session ID"),
    (["-p", "--resume", "A", "--session-id", UUID], "if --fork-session is also specified."),
    (["-p", "--resume", UUID], f"No conversation found with session ID: {UUID}"),
]


@pytest.mark.parametrize(("argv", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_claude_refuses(argv: list[str], words: str, bench: Bench) -> None:
    code, out, err = run(bench, "claude", *argv)
    assert (code, out) == (1, "")
    assert words in err
    assert read_runs(bench.root) == []
    assert words in read_refusals(bench.root)[0]["reason"]


def test_claude_needs_a_prompt(bench: Bench) -> None:
    code, _, err = run(bench, "claude", "-p", prompt=" \n")
    assert code == 1
    assert "Error: Input must be provided either through stdin" in err


def test_an_unknown_session_also_gives_a_result_line(bench: Bench) -> None:
    _, out, _ = run(bench, "claude", *STREAM, "--resume", UUID)
    assert '"error_during_execution"' in out
    assert '"num_turns": 0' in out


def test_a_prompt_that_begins_with_a_slash_is_a_command(bench: Bench) -> None:
    code, out, _ = run(bench, "claude", "-p", prompt="/deploy now")
    assert (code, out) == (0, "Unknown command: /deploy\n")
    assert read_runs(bench.root) == []


def test_a_session_is_found_from_its_own_repository_only(bench: Bench, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", bench.root], check=True, env=dict(bench.environ))
    below, other = bench.root / "below", tmp_path / "other"
    below.mkdir()
    other.mkdir()
    assert run(bench, "claude", *STREAM, "--session-id", UUID)[0] == 0
    assert run(bench, "claude", *STREAM, "--resume", UUID, cwd=below)[0] == 0
    assert run(bench, "claude", *STREAM, "--resume", UUID, cwd=other)[0] == 1
    assert run(bench, "claude", *STREAM, "--session-id", UUID)[0] == 1
    assert run(bench, "claude", *STREAM, "--session-id", UUID, cwd=other)[0] == 0


def test_a_resume_keeps_the_model_but_not_the_permissions(bench: Bench) -> None:
    write_script(bench.root, [[{"shell": "touch made-{run}"}]])
    run(bench, "claude", *FREE, "--model", "opus", "--session-id", UUID)
    _, out, _ = run(bench, "claude", *STREAM, "--resume", UUID)
    assert '"model":"opus"' in out
    assert (bench.root / "made-1").exists()
    assert not (bench.root / "made-2").exists()
    assert [run.denied for run in read_runs(bench.root)] == [(), ("Bash",)]


@pytest.mark.parametrize(
    ("mode", "rules", "command", "allowed"),
    [
        ("default", "", "touch f", False),
        ("acceptEdits", "", "touch f", True),
        ("acceptEdits", "", "touch ../f", False),
        ("default", "", "ls -la", True),
        ("default", "", "git status", True),
        ("default", "", "git push", False),
        ("acceptEdits", "", "cat /etc/hostname", False),
        ("default", "Bash(touch *)", "touch f", True),
        ("acceptEdits", "Bash(sow task:*)", "sow task set status failed", True),
        ("acceptEdits", "Bash(sow task:*)", "cd . && sow task show", True),
        ("acceptEdits", "Bash(sow task:*)", "sow task show | cat", True),
        ("acceptEdits", "Bash(sow task:*)", "sow task show > out 2>&1", True),
        ("acceptEdits", "Bash(sow task:*)", "X=1 sow task show", False),
        ("acceptEdits", "Bash(sow task:*)", 'sow task show "$(id)"', False),
        ("acceptEdits", "Bash(sow task:*)", "sow task show '$(id)'", True),
        ("acceptEdits", "Bash(sow task:*)", "sow task show; npm test", False),
        ("acceptEdits", "Bash(sow task:*)", "/usr/bin/sow task show", False),
        ("acceptEdits", "Bash(sow task:*)", "sow taskx", False),
        ("dontAsk", "", "touch f", False),
        ("default", "Bash", "npm test", True),
        ("default", "Bash(npm test),WebFetch", "npm test", True),
    ],
)
def test_claude_allows(mode: str, rules: str, command: str, allowed: bool, bench: Bench) -> None:
    write_script(bench.root, [[{"shell": command}]])
    argv = [*STREAM, "--permission-mode", mode, *(["--allowedTools", rules] if rules else [])]
    assert run(bench, "claude", *argv)[0] == 0
    (tool,) = read_runs(bench.root)[0].tools
    assert (tool.exit is not None) is allowed


def test_the_write_tool_needs_permission_too(bench: Bench) -> None:
    write_script(bench.root, [[{"write": ["src/a.py", "x = {task}\n"]}]])
    run(bench, "claude", *STREAM)
    assert not (bench.root / "src/a.py").exists()
    run(bench, "claude", *STREAM, "--permission-mode", "acceptEdits")
    assert (bench.root / "src/a.py").read_text() == "x = 010\n"


@pytest.mark.parametrize(
    ("number", "code", "child_lives"),
    [(signal.SIGINT, 1, False), (signal.SIGTERM, 143, True), (signal.SIGHUP, 129, True)],
)
def test_signals(number: int, code: int, child_lives: bool, bench: Bench) -> None:
    write_script(bench.root, [[{"shell": "echo $$ > pid; exec sleep 60"}]])
    process = start(bench, "claude", *FREE)
    assert process.stdin
    process.stdin.write(b"Do it.")
    process.stdin.close()
    pid_file = bench.root / "pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    child = int(pid_file.read_text())
    try:
        assert os.getsid(child) == child, "a tool's command has a session of its own"
        process.send_signal(number)
        assert process.wait(20) == code
        if child_lives:
            assert is_alive(child)
        else:
            wait_until(lambda: not is_alive(child))
        assert read_runs(bench.root)[0].exit == code
    finally:
        if is_alive(child):
            os.kill(child, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            assert pipe
            pipe.close()


def test_runs_are_counted_by_task_and_the_last_repeats(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "first"}], [{"say": "run {run} of {task}"}]])
    printed = [run(bench, "claude", "-p")[1].strip() for _ in range(3)]
    assert printed == ["first", "run 2 of 010", "run 3 of 010"]
    assert [each.number for each in read_runs(bench.root)] == [1, 2, 3]


def test_a_tasks_own_script_comes_first_and_the_prompt_names_the_task(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "default"}]])
    write_script(bench.root, [[{"say": "mine"}]], task="020")
    free = Bench(bench.root, bench.path, {**bench.environ, "SOW_TASK_ID": ""})
    prompt = "Your task lies in .sow/project/phases/implementation/tasks/020/."
    assert run(free, "claude", "-p", prompt=prompt)[1] == "mine\n"
    assert run(free, "claude", "-p", prompt="Do task 030")[1] == "default\n"
    assert run(free, "claude", "-p", prompt="Hello")[1] == "default\n"
    assert [each.task for each in read_runs(bench.root)] == ["020", "030", "unknown"]
    assert read_runs(bench.root)[0].prompt_task == "020"


def test_without_a_script_it_is_a_good_agent(bench: Bench) -> None:
    sow = bench.root.parent / "bin" / "sow"
    sow.write_text('#!/bin/sh\necho "$@" >> calls\n')
    sow.chmod(0o755)
    assert run(bench, "claude", *FREE, prompt="Run sow prompt guidance/tester/base")[0] == 0
    assert (bench.root / "calls").read_text().splitlines() == [
        "prompt guidance/tester/base",
        "agent log Did the work",
        "task set status needs_review",
    ]
    assert [tool.exit for tool in read_runs(bench.root)[0].tools] == [0, 0, 0]


def test_its_commands_see_that_they_are_nested(bench: Bench) -> None:
    write_script(bench.root, [[{"shell": "env > seen"}]])
    run(bench, "claude", *FREE, "--session-id", UUID)
    seen = (bench.root / "seen").read_text()
    assert "CLAUDECODE=1" in seen
    assert f"CLAUDE_CODE_SESSION_ID={UUID}" in seen


def test_what_a_run_records(bench: Bench) -> None:
    environ = {**bench.environ, "SOW_JOB_ID": "7", "TOKEN": "hidden", "MODE": "shown"}
    path = write_script(bench.root, [])
    path.write_text('{"runs": [[{"say": "x"}]], "record_env": ["MODE"]}')
    run(Bench(bench.root, bench.path, environ), "claude", "-p", prompt="Do \u00e4 thing.")
    (record,) = read_runs(bench.root)
    assert record.env["SOW_JOB_ID"] == "7"
    assert record.env["MODE"] == "shown"
    assert "TOKEN" in record.env_names
    assert "TOKEN" not in record.env
    assert record.prompt == "Do \u00e4 thing."
    assert record.argv == ("-p",)
    assert record.exit == 0
    assert record.ended is not None
    assert record.started < record.ended


def test_waiting_and_touching(bench: Bench) -> None:
    write_script(bench.root, [[{"touch": "here/I-am"}, {"wait_for": "go"}, {"say": "gone"}]])
    process = start(bench, "claude", "-p")
    assert process.stdin
    process.stdin.write(b"Do it.")
    process.stdin.close()
    wait_until((bench.root / "here/I-am").exists)
    assert process.poll() is None
    (bench.root / "go").touch()
    assert process.stdout
    assert process.stderr
    assert process.stdout.read() == b"gone\n"
    assert process.wait(20) == 0
    process.stdout.close()
    process.stderr.close()


def test_waiting_in_vain_ends_the_run(bench: Bench) -> None:
    write_script(bench.root, [[{"wait_for": "never", "timeout": 0.02}]])
    code, _, err = run(bench, "claude", "-p")
    assert code == 70
    assert "nobody made never" in err


def test_raw_bytes_and_volume(bench: Bench) -> None:
    write_script(bench.root, [[{"noise": "\udcffraw"}, {"stderr": "e"}, {"bytes": 9000}]])
    with start(bench, "claude", *STREAM) as process:
        out, err = process.communicate(b"Do it.", timeout=240)
    assert b"\xffraw" in out
    assert err == b"e"
    lines = [json.loads(line) for line in out.split(b"\xffraw", 1)[1].splitlines()]
    spoken = [line["message"]["content"][0] for line in lines if line["type"] == "assistant"]
    assert sum(len(block["text"]) for block in spoken) == 9000


def test_a_child_is_left_behind(bench: Bench) -> None:
    write_script(bench.root, [[{"background": "echo $$ > pid; exec sleep 60"}]])
    run(bench, "claude", "-p")
    pid_file = bench.root / "pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    child = int(pid_file.read_text())
    try:
        assert is_alive(child)
        assert os.getsid(child) == child
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_killed_run_has_no_end(bench: Bench) -> None:
    write_script(bench.root, [[{"signal": 9}]])
    assert run(bench, "claude", "-p")[0] == -9
    assert read_runs(bench.root)[0].ended is None


def test_ignored_signals_leave_only_the_last_resort(bench: Bench) -> None:
    steps = [{"ignore": ["INT", "TERM"]}, {"touch": "deaf"}, {"hang": True}]
    write_script(bench.root, [steps])
    process = start(bench, "claude", "-p")
    assert process.stdin
    process.stdin.write(b"Do it.")
    process.stdin.close()
    wait_until((bench.root / "deaf").exists)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    process.kill()
    assert process.wait(20) == -9
    for pipe in (process.stdout, process.stderr):
        assert pipe
        pipe.close()


def test_many_at_once_keep_their_records_apart(bench: Bench) -> None:
    """They wait for one another, so every pair overlaps."""
    count = 12
    waits = [{"wait_for": f"ready-{number}"} for number in range(1, count + 1)]
    write_script(bench.root, [[{"touch": "ready-{run}"}, *waits]])
    processes = [start(bench, "claude", "-p") for _ in range(count)]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"x" * 20_000)
        process.stdin.close()
        process.stdin = None
    assert [process.wait(60) for process in processes] == [0] * count
    for process in processes:
        process.communicate()
    runs = read_runs(bench.root)
    assert sorted(each.number for each in runs) == list(range(1, count + 1))
    assert len(overlapping(runs)) == count * (count - 1) // 2


def test_runs_one_after_another_do_not_overlap(bench: Bench) -> None:
    for _ in range(3):
        run(bench, "claude", "-p")
    assert overlapping(read_runs(bench.root)) == []


def test_cursor_rules_come_from_its_own_files(bench: Bench) -> None:
    write_script(bench.root, [[{"shell": "npm test"}]])
    argv = ["-p", "--trust", "--output-format", "stream-json"]
    run(bench, "cursor-agent", *argv)
    (bench.root / ".cursor").mkdir()
    (bench.root / ".cursor/cli.json").write_text('{"permissions": {"allow": ["Shell(npm)"]}}')
    run(bench, "cursor-agent", *argv)
    run(bench, "cursor-agent", *argv, "--force")
    assert [each.denied for each in read_runs(bench.root)] == [("Bash",), (), ()]


def test_the_program_starts_without_the_users_python(bench: Bench) -> None:
    (bench.root / "json.py").write_text("raise SystemExit(99)")
    environ = {**bench.environ, "PYTHONPATH": str(bench.root), "PYTHONSTARTUP": "x"}
    assert run(Bench(bench.root, bench.path, environ), "claude", "-p")[0] == 0


def test_a_python_with_a_space_in_its_path(bench: Bench, tmp_path: Path) -> None:
    spaced = tmp_path / "a b"
    spaced.mkdir()
    (spaced / "python").symlink_to(sys.executable)
    install_standins(spaced, str(spaced / "python"))
    assert run(bench, str(spaced / "claude"), "--version")[0] == 0
