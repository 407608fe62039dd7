"""The page on lifecycles is the tables; the tables name only what there is."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from lifecycle import lifecycle_page
from msgspec.structs import replace
from repository.command_tree import COMMANDS

from sow.cli import project
from sow.lifecycle import guards
from sow.lifecycle.guards import Guard
from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, TaskFacts
from sow.lifecycle.stages import ProjectType, type_of_branch
from sow.lifecycle.types import LIFECYCLES

GUARDS = [found for found in vars(guards).values() if isinstance(found, Guard)]
WORST = Facts(
    tasks=tuple(
        TaskFacts(f"0{number}0", status, depends_on=(f"0{number}0",), is_unmerged=True)
        for number, status in enumerate(
            ("pending", "in_progress", "paused", "needs_review", "failed", "completed"), start=1
        )
    ),
    outputs=(DocumentFacts("a b/it's.md", is_approved=False, is_kept=False),),
    open_feedback=("001", "002"),
    open_phases=("discovery",),
    has_checks=True,
)
"""A project in which as much as possible is missing."""
STANDINGS = [
    WORST,
    Facts(),
    replace(WORST, verdict="accepted", verdict_holds=True),
    replace(WORST, verdict="accepted"),
    replace(WORST, verdict="corrections", verdict_holds=True),
]


def parse(command: str) -> None:
    """Read a command line as click does, without running it."""
    words = tuple(shlex.split(command))[1:]
    known = next(words[:end] for end in range(len(words), 0, -1) if words[:end] in COMMANDS)
    COMMANDS[known].make_context("sow", list(words[len(known) :]))


def test_the_page_is_up_to_date() -> None:
    assert lifecycle_page.PAGE.read_text(encoding="utf-8") == lifecycle_page.page()


def test_every_guard_belongs_to_an_event() -> None:
    used = {
        guard.name
        for lifecycle in LIFECYCLES.values()
        for event in lifecycle.events
        for guard in event.guards
    }
    assert used == {guard.name for guard in GUARDS}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_each_command_that_meets_a_guard_exists(guard: Guard) -> None:
    remedies = [remedy for facts in STANDINGS for remedy in guard.unmet(facts)]
    assert remedies, "it can be unmet"
    for remedy in remedies:
        parse(remedy.command)
    for command in guard.commands:
        words = tuple(word for word in command.split()[1:] if word not in ("plan", "--project"))
        assert words in COMMANDS, command


def test_states_are_those_of_the_events() -> None:
    for lifecycle in LIFECYCLES.values():
        named = {event.source for event in lifecycle.events} | {
            event.target for event in lifecycle.events
        }
        assert named == set(lifecycle.states)
        pairs = [(event.source, event.name) for event in lifecycle.events]
        assert len(pairs) == len(set(pairs))


def test_the_type_follows_from_the_branch() -> None:
    assert type_of_branch("explore/x") is ProjectType.EXPLORATION
    assert type_of_branch("design/x") is ProjectType.DESIGN
    assert type_of_branch("breakdown/x") is ProjectType.BREAKDOWN
    assert type_of_branch("feat/design/x") is ProjectType.STANDARD
    assert type_of_branch(None) is ProjectType.STANDARD


def test_the_words_of_the_option_are_the_types() -> None:
    assert tuple(ProjectType) == project.TYPES


def test_the_tables_need_nothing_else(tmp_path: Path) -> None:
    """They are plain data, below all calls."""
    program = "import sys, sow.lifecycle.types; print([m for m in sys.modules if m[:4] == 'sow.'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )
    found = eval(done.stdout)
    assert {name.split(".")[1] for name in found} == {"lifecycle"}
