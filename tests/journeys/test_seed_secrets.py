"""DESIGN §6: "Nothing secret in argv, records or logs; the queue carries a job id and nothing …".

A secret is planted in every place where sow is given one; afterwards every
file that sow has written is read, and every process was looked at while it ran.
"""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from standins import read_runs

LITERAL = "sk-literal-4711"
FROM_WORKER = "sk-worker-4712"
OF_CALLER = "sk-caller-4713"
WORDS = "the-words-of-the-prompt-4714"
REPORT = [{"sow": ["task", "set", "status", "needs_review"]}]

CONFIGURATION: dict[str, Any] = {
    "agents": {
        "executors": {
            "claude-code": {"env": {"API_KEY": LITERAL, "HEADER": "Bearer ${TOKEN}"}},
        }
    }
}
ENVIRON = {"TOKEN": FROM_WORKER}


def written_by_sow(site: Site) -> dict[Path, bytes]:
    """Every file below `.sow`."""
    return {path: path.read_bytes() for path in site.root.glob(".sow/**/*") if path.is_file()}


def holding(site: Site, secret: str) -> list[str]:
    found = [path for path, data in written_by_sow(site).items() if secret.encode() in data]
    return sorted(str(path.relative_to(site.root)) for path in found)


def script(site: Site, runs: list[list[dict[str, Any]]]) -> None:
    """Write a script whose log shows the values of the secret variables."""
    (site.root / ".standin").mkdir()
    content = {"runs": runs, "record_env": ["API_KEY", "HEADER", "CALLER_ONLY", "WORKER_ONLY"]}
    (site.root / ".standin/default.json").write_text(json.dumps(content))


def test_values_of_env_reach_the_agent_and_no_file_and_no_output(site: Site) -> None:
    """Through a crash with its retry, a failure, a resume, and every command that shows things."""
    site.project("010")
    site.configure(CONFIGURATION)
    script(site, [[{"crash": 3}], [{"sow": ["task", "set", "status", "failed"]}], REPORT])
    shown = [
        site.sow("agent", "spawn", "implementer", "010", "--verbose", env=ENVIRON, expect=1),
        site.sow("agent", "resume", "010", "go on", "--json", env=ENVIRON),
        site.sow("agent", "resume", "010", "again", "--dry-run", env=ENVIRON),
        site.sow("config", "show", env=ENVIRON),
        site.sow("config", "show", "--json", env=ENVIRON),
        site.sow("job", "show", "1", "--json"),
        site.sow("worker", "logs"),
    ]
    runs = read_runs(site.root)
    assert len(runs) == 3
    for run in runs:
        assert (run.env["API_KEY"], run.env["HEADER"]) == (LITERAL, f"Bearer {FROM_WORKER}")
    for secret in (LITERAL, FROM_WORKER):
        assert holding(site, secret) == []
        assert not any(secret in result.out + result.err for result in shown)


def test_no_variable_of_a_caller_is_stored_or_passed_on(site: Site) -> None:
    """DESIGN §6: the worker's environment, "plus the caller's PATH (no other variable …)"."""
    site.project("010")
    script(site, [REPORT])
    site.start("worker", env={"WORKER_ONLY": "yes", "CALLER_ONLY": None})
    wait_until(site.workers, "the worker is on record")
    path = f"{site.base}/extra:{site.env['PATH']}"
    environ = {"CALLER_ONLY": OF_CALLER, "PATH": path}
    site.sow("agent", "spawn", "implementer", "010", env=environ)
    (run,) = read_runs(site.root)
    assert run.env["WORKER_ONLY"] == "yes"
    assert "CALLER_ONLY" not in run.env_names
    assert run.env["PATH"] == path
    assert holding(site, OF_CALLER) == []


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_prompt_and_secrets_stand_in_no_command_line(site: Site) -> None:
    """Agent, supervisor, fork server and worker, looked at in /proc while the agent runs."""
    site.project("010")
    site.configure(CONFIGURATION)
    go = site.base / "go"
    script(site, [[{"wait_for": str(go)}, *REPORT]])
    prompt = site.base / "prompt.md"
    prompt.write_text(WORDS)
    site.start("worker", env=ENVIRON)
    wait_until(site.workers, "the worker is on record")
    site.sow("agent", "spawn", "implementer", "010", "--prompt", WORDS, "--detach", env=ENVIRON)
    run = wait_until(lambda: (read_runs(site.root) or [None])[0], "the agent runs")
    supervisor = parent_of(run.pid)
    server = parent_of(supervisor)
    lines = [command_line(pid) for pid in (run.pid, supervisor, server, parent_of(server))]
    go.touch()
    site.sow("agent", "wait", "010")
    assert WORDS in run.prompt
    assert "claude" in lines[0]
    assert "supervisor/program.py" in lines[1]
    assert "supervisor/program.py" in lines[2]
    assert "sow worker" in lines[3]
    for line in (*lines, *run.argv):
        assert not any(secret in line for secret in (WORDS, LITERAL, FROM_WORKER))
    shown = json.dumps(site.sow("job", "show", "1", "--json").json["attempts"])
    assert WORDS not in shown


def test_the_queue_carries_a_job_id_and_nothing_else(site: Site) -> None:
    """The row that a worker takes is huey's message with one argument, whatever the job holds."""
    site.project("010")
    site.configure({**CONFIGURATION, "worker": {"autostart": False}})
    site.sow("agent", "spawn", "implementer", "010", "--prompt", WORDS, "--detach", env=ENVIRON)
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db")) as queue:
        ((data,),) = queue.execute("select data from task").fetchall()
        ((executor,),) = queue.execute("select executor from job").fetchall()
    message = json.loads(data)
    assert message.pop("args") == [1]
    assert message == {
        "id": "job-1",
        "kwargs": {},
        "name": "worker.broker.run_job",
        "retries": 0,
        "retry_backoff": 0,
        "retry_delay": 0,
    }
    assert json.loads(executor)["env_names"] == ["API_KEY", "HEADER"]
    assert holding(site, LITERAL) == holding(site, FROM_WORKER) == []


def test_what_is_kept_of_a_run_is_for_its_user_alone(site: Site) -> None:
    """DESIGN §4: `run/` is 0700, the prompt 0600; §6: it is not committed."""
    site.project("010")
    script(site, [REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    run = site.root / ".sow/run"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    (prompt,) = run.glob("jobs/*/*/prompt.md")
    assert stat.S_IMODE(prompt.stat().st_mode) == 0o600
    assert stat.S_IMODE((run / "queue.db").stat().st_mode) == 0o600
    assert "run/" in (site.root / ".sow/.gitignore").read_text().split()
