"""Every command's `--json`, run for real, against `sow schema`: each key is told there."""

import json
from typing import Any

import pytest
from journeys.calls import await_runs, good
from journeys.gitsite import make_repository
from journeys.json_contract import hold
from journeys.site import Site

from sow.cli.root import run
from sow.schema.output.commands import OUTPUTS

ELSEWHERE = {
    "agent review": "needs a reviewer: test_review_loop",
    "agent open": "needs a terminal: test_agent_open",
    "clone prune": "needs a task that has ended: tests/cli_state/test_clone_commands",
    "clone update": "needs a clone: tests/cli_state/test_clone_update",
    "config edit": "needs a terminal: tests/config/test_config_edit",
    "demo": "a journey of its own: test_demo",
    "merge": "needs a git repository: test_merge",
    "job resolve": "needs an agent that nobody can verify: test_job_resolve",
    "worker": "serves until it is stopped: test_worker_command",
}
"""The commands whose output other tests hold against their schemas."""

WALK: list[tuple[str, str]] = [
    ("init", ""),
    ("project new", "Sign-in"),
    ("task add", "One --agent implementer"),
    ("task add", "Two --agent implementer --id 020"),
    ("project status", ""),
    ("task list", ""),
    ("task show", "010"),
    ("task show", "010 --description"),
    ("task show", "999"),
    ("task set", "010 name Other"),
    ("task abandon", "010"),
    ("task reopen", "010"),
    ("agent log", "Done --task 010"),
    ("agent log", "Done"),
    ("task log", "010"),
    ("agent list", ""),
    ("agent spawn", "010 --dry-run"),
    ("agent spawn", "010"),
    ("agent resume", "010 More. --detach"),
    ("agent wait", "010"),
    ("agent resume", "010 More. --dry-run"),
    ("agent task state set-status", "completed --id 010"),
    ("agent spawn", "010 020 --detach"),
    ("job list", ""),
    ("job cancel", "3"),
    ("agent cancel", "020"),
    ("agent spawn", "020 --detach"),
    ("agent cancel", "020"),
    ("trust", "--yes"),
    ("task check", "020 unit"),
    ("task check", "020 units"),
    ("project check", "unit"),
    ("task add", "Three --agent implementer --id 030"),
    ("agent spawn", "030 --clone"),
    ("clone list", ""),
    ("clone path", "030"),
    ("task diff", "030"),
    ("review correct", "030 --file .sow/config.yaml"),
    ("review accept", "030 --summary Good."),
    ("review show", "030"),
    ("clone remove", "030 --discard"),
    ("changes", ""),
    ("job show", "1"),
    ("job explain", "1"),
    ("job logs", "1"),
    ("job logs", "1 --nonsense"),
    ("job prune", "--dry-run"),
    ("task explain", "010"),
    ("task output", "010"),
    ("queue pause", ""),
    ("queue status", ""),
    ("queue resume", ""),
    ("worker list", ""),
    ("worker logs", ""),
    ("worker stop", ""),
    ("prompt", "guidance/implementer/base"),
    ("prompt", "--list"),
    ("config init", ""),
    ("config path", ""),
    ("config show", ""),
    ("config validate", ""),
    ("config reset", "--yes"),
    ("doctor", ""),
    ("schema", ""),
    ("completion", "bash"),
]
"""What a person does in one afternoon, failures among it: a command and its arguments."""


def test_what_is_printed_is_what_is_described(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one process, save for the worker and its agents."""
    for name, value in site.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(site.root)
    make_repository(site)
    site.script([good()], task="010")
    site.script([good()], task="030")
    site.script([[{"hang": True}]], task="020")
    told: set[str] = set()
    for command, arguments in WALK:
        lines = _printed(capsys, *command.split(), *arguments.split())
        hold(command, lines)
        if command == "init":
            (site.root / ".sow" / "config.yaml").write_text("checks: {unit: echo hello}\n")
        told |= {command} if any("error" not in line for line in lines) else set()
        if arguments == "010 020 --detach":
            await_runs(site, 3)
    assert told == set(OUTPUTS) - set(ELSEWHERE)


def _printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    capsys.readouterr()
    run([*words, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
