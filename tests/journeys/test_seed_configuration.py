"""Every configuration in seeds 000 and 001, letter by letter: what it makes of the agents.

The seeds' three (000, appendix), the structure in 000 and the one with session
blocks in 001, for each of the six roles that they bind.
"""

import json
import os
import pty
import subprocess

import pytest
from config.seed_examples import (
    ADVANCED,
    GENERATED,
    MINIMAL,
    MIXED,
    STRUCTURE,
    THREE_EXECUTORS,
)
from journeys.site import SOW, Site
from standins import Run, read_runs

REPORT = [[{"sow": ["task", "set", "status", "needs_review"]}]]
ROLES = ("orchestrator", "implementer", "architect", "reviewer", "planner", "researcher")
SKIPS = {"claude": "--dangerously-skip-permissions", "cursor-agent": "--force"}

Started = tuple[str, bool, str | None]
"""The program, whether permissions are skipped, the model."""

PLAIN: Started = ("claude", False, None)
SONNET: Started = ("claude", True, "sonnet")
OPUS: Started = ("claude", True, "opus")
CURSOR: Started = ("cursor-agent", True, None)
IMPLEMENTER_BY_CURSOR = {role: CURSOR if role == "implementer" else SONNET for role in ROLES}

EFFECTS = {
    "no file": (None, dict.fromkeys(ROLES, PLAIN)),
    "minimal": (MINIMAL, dict.fromkeys(ROLES, PLAIN)),
    "generated": (GENERATED, dict.fromkeys(ROLES, PLAIN)),
    "mixed": (MIXED, IMPLEMENTER_BY_CURSOR),
    "structure": (STRUCTURE, IMPLEMENTER_BY_CURSOR),
    "three executors": (THREE_EXECUTORS, IMPLEMENTER_BY_CURSOR),
    "advanced": (
        ADVANCED,
        {
            "orchestrator": OPUS,
            "implementer": CURSOR,
            "architect": OPUS,
            "reviewer": SONNET,
            "planner": SONNET,
            "researcher": SONNET,
        },
    ),
}


def started(run: Run) -> Started:
    model = run.argv[run.argv.index("--model") + 1] if "--model" in run.argv else None
    return run.cli, SKIPS[run.cli] in run.argv, model


@pytest.mark.one_of
@pytest.mark.parametrize("name", EFFECTS)
def test_each_role_is_played_as_the_file_says(site: Site, name: str) -> None:
    text, expected = EFFECTS[name]
    if text is not None:
        site.config_file.parent.mkdir(parents=True)
        site.config_file.write_text(text)
    tasks = {f"{number}0": role for number, role in enumerate(ROLES, start=10)}
    site.project(*tasks)
    site.script(REPORT)
    for task, role in tasks.items():
        site.sow("agent", "spawn", role, task, "--reassign", "--detach")
    site.sow("agent", "wait", *tasks)
    runs = {run.env["SOW_AGENT"]: run for run in read_runs(site.root)}
    assert {role: started(run) for role, run in runs.items()} == expected


def test_windsurf_with_its_own_argument(site: Site) -> None:
    """Both files define it with `custom_args: ["--cascade"]`, and bind nobody to it."""
    site.config_file.parent.mkdir(parents=True)
    site.config_file.write_text(THREE_EXECUTORS)
    site.project("010")
    site.script(REPORT)
    environ = {"SOW_AGENTS_IMPLEMENTER": "windsurf"}  # seed 000, "Configuration Priority"
    site.sow("agent", "spawn", "implementer", "010", env=environ)
    (run,) = read_runs(site.root)
    assert (run.cli, run.argv) == ("windsurf", ("--cascade",))


def test_the_template_changes_nothing_but_what_is_changed_in_it(site: Site) -> None:
    """Seed 000, "Configuration Initialization": init, then one word changed in the editor."""
    site.sow("config", "init")
    editor = {"EDITOR": 'sed -i \'/^    implementer:/s/"claude-code"/"windsurf"/\''}
    keyboard, terminal = pty.openpty()  # an editor is opened on a terminal only
    argv = [str(SOW), "config", "edit"]
    subprocess.run(argv, stdin=terminal, env=site.environment(editor), cwd=site.root, check=True)
    os.close(keyboard)
    os.close(terminal)
    site.project("010", "020")
    site.script(REPORT)
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "spawn", "reviewer", "020", "--reassign")
    first, second = read_runs(site.root)
    assert (first.cli, started(second)) == ("windsurf", PLAIN)
    origins = site.sow("config", "show", "--json").json["origins"]
    assert origins["agents.bindings.implementer"] == "file"
    site.sow("config", "reset", "--yes")
    shown = json.loads(site.sow("config", "show", "--json").out)
    assert shown["settings"]["agents"]["bindings"]["implementer"] == "claude-code"
