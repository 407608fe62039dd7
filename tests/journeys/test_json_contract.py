"""Every command's `--json`, run for real, against `sow schema`: each key is told there."""

import json
from typing import Any

import pytest
from journeys.callers import await_runs, good
from journeys.gitsite import make_repository
from journeys.json_contract import hold
from journeys.site import Site

from sow.cli.root import run
from sow.schema.catalogue import outputs

ELSEWHERE = {
    "agent review": "needs a reviewer: test_review_loop",
    "agent open": "needs a terminal: test_agent_open",
    "clone prune": "needs a task that has ended: tests/cli_state/test_clone_commands",
    "clone update": "needs a clone: tests/cli_state/test_clone_update",
    "notify list": "needs a notification: test_notify",
    "notify test": "needs a command of the user's: test_notify",
    "hosts init": "needs a server: tests/cli_state/test_hosts_command",
    "hosts list": "the same",
    "config edit": "needs a terminal: tests/config/test_config_edit",
    "executor compare": "a journey of its own: test_executor_compare",
    "executor try": "a journey of its own: test_executor_try",
    "demo": "a journey of its own: test_demo",
    **{
        f"knowledge {verb}": "needs something known: tests/knowledge"
        for verb in ("list", "search", "show")
    },
    **{f"pr {verb}": "needs GitHub: tests/with_github" for verb in ("create", "status")},
    "output move": "tests/cli_state/test_lifecycle_commands",
    "approve": "needs a terminal, or a setting: tests/cli_state/test_lifecycle_commands",
    "project publish": "needs a breakdown: tests/cli_state/test_lifecycle_commands",
    "project finish": "needs a completed project: tests/cli_state/test_lifecycle_commands",
    "merge": "needs a git repository: test_merge",
    "job resolve": "needs an agent that nobody can verify: test_job_resolve",
    "worker": "serves until it is stopped: test_worker_command",
}
"""The commands whose output other tests hold against their schemas."""

WALK: list[tuple[str, str]] = [
    ("init", ""),
    ("project new", "Sign-in"),
    ("phase add", "discovery"),
    ("task add", "One --phase discovery --agent implementer"),
    ("task add", "Two --phase discovery --agent implementer --id 020"),
    ("project status", ""),
    ("task list", ""),
    ("task list", "--ready"),
    ("task export", ""),
    ("task import", "tasks.yaml"),
    ("task import", "none.yaml"),
    ("task remove", "900"),
    ("task remove", "900"),
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
    ("agent answer", "010 Yes."),
    ("task set", "010 status in_progress"),
    ("task set", "010 status paused"),
    ("agent answer", "010 Yes. --dry-run"),
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
    ("job wait", "1 2"),
    ("job retry", "6"),
    ("task add", "Three --phase discovery --agent implementer --id 030"),
    ("agent spawn", "030 --clone"),
    ("clone list", ""),
    ("clone path", "030"),
    ("task diff", "030"),
    ("review correct", "030 --file .sow/config.yaml"),
    ("review accept", "030 --summary Good."),
    ("review show", "030"),
    ("clone remove", "030 --discard"),
    ("cost", ""),
    ("stats", ""),
    ("report", ""),
    ("report", "--html report.html"),
    ("input add", ".sow/config.yaml --type settings"),
    ("input list", ""),
    ("refs add", ". --id style"),
    ("refs list", ""),
    ("refs status", ""),
    ("refs update", ""),
    ("refs init", ""),
    ("refs prune", "--dry-run"),
    ("refs remove", "style"),
    ("refs remove", "style"),
    ("status", ""),
    ("watch", ""),
    ("next", ""),
    ("start", "Sessions --dry-run"),
    ("advance", "--list"),
    ("approve", "plan"),
    ("advance", "complete"),
    ("phase list", ""),
    ("phase add", "design"),
    ("phase finish", "design"),
    ("phase reopen", "design"),
    ("project set", "description Sessions"),
    ("project list", ""),
    ("input remove", ".sow/config.yaml"),
    ("output add", ".sow/config.yaml --type settings"),
    ("output list", ""),
    ("output remove", ".sow/config.yaml"),
    ("feedback add", "Shorter"),
    ("feedback list", ""),
    ("feedback settle", "001"),
    ("log", ""),
    ("task add", "Four --phase discovery --agent implementer --id 040"),
    ("batch run", "040 --detach"),
    ("batch list", ""),
    ("batch pause", "1"),
    ("batch resume", "1"),
    ("batch show", "1"),
    ("batch wait", "1"),
    ("batch add", "1 020"),
    ("batch remove", "1 020"),
    ("batch cancel", "1"),
    ("changes", ""),
    ("job show", "1"),
    ("job explain", "1"),
    ("job logs", "1"),
    ("job logs", "1 --nonsense"),
    ("job retry", "1"),
    ("job prune", "--dry-run"),
    ("task explain", "010"),
    ("task output", "010"),
    ("queue pause", ""),
    ("queue status", ""),
    ("queue resume", ""),
    ("worker list", ""),
    ("worker logs", ""),
    ("worker unit", ""),
    ("worker unit", "--launchd"),
    ("worker stop", ""),
    ("validate", ""),
    ("validate", "--fix"),
    ("project abandon", ""),
    ("prompt", ""),
    ("prompt", "guidance/implementer/base"),
    ("prompt", "--list"),
    ("prompt", "--where"),
    ("prompt", "--check"),
    ("config init", ""),
    ("config path", ""),
    ("config show", ""),
    ("config validate", ""),
    ("config reset", "--yes"),
    ("executor list", ""),
    ("install claude", ""),
    ("install agents-md", ""),
    ("install status", ""),
    ("uninstall claude", ""),
    ("uninstall agents-md", ""),
    ("news", ""),
    ("doctor", ""),
    ("mcp", "--list"),
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
    (site.root / "tasks.yaml").write_text('- {id: "900", name: Later, agent: implementer}')
    site.script([good()], task="010")
    site.script([good()], task="030")
    site.script([good()], task="040")
    site.script([[{"hang": True}]], task="020")
    described: set[str] = set()
    for command, arguments in WALK:
        lines = _printed(capsys, *command.split(), *arguments.split())
        hold(command, lines)
        if command == "init":
            (site.root / ".sow" / "config.yaml").write_text("checks: {unit: echo hello}\n")
        described |= {command} if any("error" not in line for line in lines) else set()
        if arguments == "010 020 --detach":
            await_runs(site, 3)
    assert described == set(outputs()) - set(ELSEWHERE)


def _printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    capsys.readouterr()
    run([*words, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
