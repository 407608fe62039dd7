"""What a call shows before it acts: `--verbose`, `--dry-run` and `--help`.

The seeds ask for the trace and for the path in the help; DESIGN §5 says of
`--dry-run` that it "prints argv, folder, names of variables and prompt, and
starts nothing".
"""

import os
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import await_end, besides_news, gate, open_gate
from journeys.site import Site
from standins import Run, read_runs

from sow.cli.root import run
from sow.jobs.queue_owner import PREFIX

REPORT = [{"sow": ["task", "set", "status", "needs_review"]}]
SECRET = "sk-planted-4711"
SHELLS_OWN = {"PWD", "OLDPWD", "SHLVL", "_"}
"""What /bin/sh, which starts the stand-ins, adds to its environment."""

CONFIGURATION: dict[str, Any] = {
    "agents": {
        "executors": {
            "claude-code": {
                "settings": {"yolo_mode": True, "model": "opus"},
                "custom_args": ["--effort", "high"],
                "env": {"API_KEY": SECRET, "SECOND_KEY": "${TOKEN}-2"},
            }
        }
    }
}


def snapshot(folder: Path) -> dict[str, Any]:
    """Every file below a folder, its time of change and its bytes; of the queue, its rows.

    SQLite moves its own pages between the queue's files even for a reader, so of the second
    names of the queue's file it is kept which file they name.
    """
    kept: dict[str, Any] = {}
    for path in folder.rglob("*"):
        facts = path.lstat()
        if path.name.startswith(PREFIX):
            kept[str(path)] = (facts.st_dev, facts.st_ino, facts.st_nlink)
        elif path.is_file() and not path.name.startswith("queue.db"):
            kept[str(path)] = (facts.st_mtime_ns, path.read_bytes())
    for path in folder.rglob("queue.db"):
        with closing(sqlite3.connect(path)) as connection:
            kept[str(path)] = list(connection.iterdump())
    return kept


def test_verbose_shows_the_resolution(site: Site) -> None:
    """Seed 000: "4. Verbose output shows resolution", line for line."""
    site.project("010")
    site.script([REPORT])
    result = site.sow("agent", "spawn", "implementer", "010", "--verbose")
    assert besides_news(result.err).splitlines() == [
        "Loading agent configuration...",
        f"Config file: {site.config_file} (not found, using defaults)",
        "Agent: implementer",
        "Executor: claude-code (default)",
        "Settings: yolo_mode=false (default)",
    ]
    assert result.out.startswith("010 needs_review (")


def test_verbose_on_a_resume_shows_the_executor_that_will_run(site: Site) -> None:
    """DESIGN §5: "resume uses that one and says so where the binding has changed"."""
    site.project("010")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    site.configure({"agents": {"bindings": {"implementer": "cursor"}}})
    result = site.sow("agent", "resume", "010", "go on", "-v")
    assert "Agent: implementer" in result.err
    assert "Executor: claude-code (made the session)" in result.err.splitlines()
    assert result.err.count("implementer now uses the executor cursor") == 1


def test_a_warning_is_shown_once(site: Site) -> None:
    """`--verbose` adds facts; it does not say the same thing twice."""
    site.project("010")
    site.script([REPORT])
    site.configure({"agents": {"executors": {"windsurf": {"settings": {"yolo_mode": True}}}}})
    result = site.sow("agent", "spawn", "implementer", "010", "--verbose")
    assert result.err.count("agents.executors.windsurf.settings.yolo_mode has no effect") == 1


def dry_run(site: Site, *words: str) -> dict[str, Any]:
    shown: dict[str, Any] = site.sow(
        "agent", *words, "--dry-run", "--json", env={"TOKEN": SECRET}
    ).json
    return shown


def assert_told(ran: Run, dry: dict[str, Any]) -> None:
    """What ran is what the dry run told."""
    assert list(ran.argv) == dry["argv"][1:]
    assert ran.cwd == dry["cwd"]
    assert set(ran.env_names) - SHELLS_OWN == set(dry["env_names"]) - SHELLS_OWN
    assert ran.prompt == dry["prompt"]


def test_a_dry_run_tells_what_the_call_then_starts(site: Site) -> None:
    """For spawn and resume; only the session of a spawn is not made yet."""
    site.project("010")
    site.script([REPORT])
    site.configure(CONFIGURATION)
    environ = {"TOKEN": SECRET}
    printed = dry_run(site, "spawn", "implementer", "010", "--prompt", "Mind the gap")
    site.sow("agent", "spawn", "implementer", "010", "--prompt", "Mind the gap", env=environ)
    (spawned,) = read_runs(site.root)
    place = printed["argv"].index("--session-id") + 1
    assert printed["argv"][place] == "<new session>"
    printed["argv"][place] = spawned.session_id
    assert_told(spawned, printed)
    printed = dry_run(site, "resume", "010", "Use RS256")
    site.sow("agent", "resume", "010", "Use RS256", env=environ)
    assert_told(read_runs(site.root)[1], printed)


def test_a_dry_run_as_text(site: Site) -> None:
    """The same facts for people: one a line, the command as a shell would take it."""
    site.project("010")
    site.configure(CONFIGURATION)
    text = site.sow("agent", "spawn", "implementer", "010", "--dry-run", env={"TOKEN": SECRET}).out
    printed = dry_run(site, "spawn", "implementer", "010")
    head, prompt = text.split("Prompt:\n\n")
    assert head.splitlines() == [
        "Would spawn implementer for task 010",
        "Executor: claude-code",
        f"Command: {shlex.join(printed['argv'])}",
        f"Folder: {site.root}",
        f"Variables: {' '.join(printed['env_names'])}",
    ]
    assert prompt.strip() == printed["prompt"].strip()


def test_a_dry_run_starts_and_writes_nothing(site: Site) -> None:
    """DESIGN §5: "and starts nothing"; below `.sow` not a byte and not a time changes."""
    site.project("010", "020")
    site.script([REPORT])
    site.configure(CONFIGURATION)
    environ = {"TOKEN": SECRET}
    site.sow("agent", "spawn", "implementer", "010", env=environ)
    site.sow("worker", "stop")
    before = snapshot(site.root)
    for words in (("spawn", "implementer", "020"), ("resume", "010", "go on")):
        for form in ((), ("--json",)):
            shown = site.sow("agent", *words, "--dry-run", *form, env=environ)
            assert "API_KEY" in shown.out
            assert SECRET not in shown.out + shown.err
    assert snapshot(site.root) == before


def test_a_dry_run_in_a_project_that_never_ran_anything_makes_no_queue(site: Site) -> None:
    """Not even the queue's file is made."""
    site.project("010")
    before = snapshot(site.root)
    site.sow("agent", "spawn", "implementer", "010", "--dry-run")
    assert snapshot(site.root) == before


def test_a_dry_run_with_cursor_makes_no_chat(site: Site) -> None:
    """A session that a command of the CLI makes is not made for a dry run."""
    site.project("010")
    cursor = site.base / "bin/cursor-agent"
    cursor.write_text(f"#!/bin/sh\ntouch {site.base}/started\n")
    environ = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
    shown = site.sow(
        "agent", "spawn", "implementer", "010", "--dry-run", "--json", env=environ
    ).json
    assert shown["argv"][-2:] == ["--resume", "<new session>"]
    assert not (site.base / "started").exists()


REFUSED = {
    "completed": ["spawn", "implementer", "010"],
    "depends on": ["spawn", "implementer", "020"],
    "no session found": ["resume", "020", "go on"],
    "unknown executor": ["spawn", "architect", "020"],
    "executor binary not found": ["spawn", "reviewer", "040", "--reassign"],
    "unknown agent": ["spawn", "nobody", "020"],
    "has started": ["spawn", "implementer", "030"],
    "assigned to implementer": ["spawn", "tester", "030"],
    "is for implementer, not for tester": ["spawn", "tester", "040"],
}


@pytest.fixture
def refused_site(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A project in which every call of REFUSED is refused, and this process inside it."""
    site.project("010", "020", "030", "040")
    site.configure({"agents": {"bindings": {"architect": "aider", "reviewer": "windsurf"}}})
    (site.base / "bin/windsurf").unlink()
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010", "030")
    site.sow("task", "set", "010", "status", "completed")
    site.sow("task", "set", "020", "depends_on", "030,040")
    monkeypatch.chdir(site.root)
    for name, value in site.environment().items():
        monkeypatch.setenv(name, value)
    return site


def test_a_dry_run_is_refused_as_the_call_would_be(
    refused_site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run that says "would spawn" of a call that is refused would be a lie."""
    for reason, words in REFUSED.items():
        true_code, true_err = run(["agent", *words]), capsys.readouterr().err
        dry_code, dry_err = run(["agent", *words, "--dry-run"]), capsys.readouterr().err
        assert reason in true_err
        assert (dry_code, dry_err) == (true_code, true_err), words
        assert dry_code != 0


def test_a_dry_run_in_the_place_of_a_live_job(site: Site) -> None:
    """One live job per task: a different call is refused, naming it; the same one would wait."""
    site.project("010")
    site.script([[gate("go"), *REPORT]])
    call = ("agent", "spawn", "implementer", "010")
    site.sow(*call, "--detach")
    refused = site.sow(*call, "--prompt", "another", "--dry-run", expect=4)
    assert refused.err.startswith("Error: task 010 has a job that has not ended: job 1 (")
    same = site.sow(*call, "--dry-run")
    assert same.out == "Would wait for job 1, which the same command queued\n"
    record = site.sow(*call, "--dry-run", "--json").json
    assert (record["task"], record["job"], record["argv"]) == ("010", 1, None)
    open_gate(site, "go")
    site.sow("agent", "wait", "010")


def test_a_dry_run_leaves_an_owed_outcome_owed(site: Site) -> None:
    """The call itself would print the outcome; having asked does not spend it."""
    site.project("010")
    site.script([[gate("go"), *REPORT]])
    call = ("agent", "spawn", "implementer", "010")
    site.sow(*call, "--wait", "1ms", expect=75)
    open_gate(site, "go")
    await_end(site, "010")
    shown = site.sow(*call, "--dry-run").out
    assert shown == (
        "Would print the outcome of job 1, which the same command queued; `--fresh` would run it"
        " again\n"
    )
    assert site.sow(*call).out.startswith("outcome of job 1, which ended ")
    assert len(read_runs(site.root)) == 1


def test_help_names_the_platforms_own_path(site: Site) -> None:
    """Seed 000: "2. Help text references location", word for word where a line has room."""
    lines = [line.strip() for line in site.sow("agent", "spawn", "--help").out.splitlines()]
    assert "Agent selection uses configuration from ~/.config/sow/config.yaml" in lines
    assert "Run 'sow config init' to create a configuration file." in lines
    assert "Run 'sow config path' to see the full path." in lines


def test_help_never_breaks_the_path_over_lines(site: Site) -> None:
    """A path that is longer than a line, with hyphens in it, can still be copied."""
    long = site.base / ("configuration-of-a-user-with-a-long-name/" * 3)
    help_text = site.sow("agent", "spawn", "--help", env={"XDG_CONFIG_HOME": str(long)}).out
    assert f"{os.path.normpath(long)}/sow/config.yaml" in help_text
