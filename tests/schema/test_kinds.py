"""The kinds of jobs stand in one table, and whoever treats jobs differently asks there."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from repository.sources import ROOT, SOURCES, nodes_of

from sow.schema.job import Verb
from sow.schema.kinds import KINDS, JobKind, SessionUse, verbs_of
from worker.kinds.registry import WORKER_KINDS

OF_EXECUTORS = {"sow/attempts/plan.py", "sow/attempts/launch.py"}
"""What an executor's CLI is told is its own matter: these choose between its two ways."""
VERB_IN_SQL = re.compile(r"\bverb\s*(=|<>|!=|in|not in)\s*\(?\s*'")


@pytest.mark.parametrize("verb", Verb)
def test_every_verb_has_its_row(verb: Verb) -> None:
    assert KINDS[verb].verb is verb


def test_the_kinds_that_there_are() -> None:
    leased = tuple(verb for verb in Verb if verb is not Verb.OPEN)
    assert verbs_of(lambda kind: kind.is_leased) == leased
    agents = (Verb.SPAWN, Verb.RESUME, Verb.OPEN, Verb.REVIEW)
    assert verbs_of(lambda kind: kind.is_agents) == agents
    assert verbs_of(lambda kind: kind.makes_work) == (Verb.SPAWN, Verb.RESUME, Verb.OPEN)
    assert verbs_of(lambda kind: kind.marks_task) == (Verb.SPAWN, Verb.RESUME, Verb.OPEN)
    assert verbs_of(lambda kind: kind.is_interactive) == (Verb.OPEN,)
    assert verbs_of(lambda kind: kind.session is SessionUse.BEGINS) == (Verb.SPAWN,)
    assert verbs_of(lambda kind: kind.session is SessionUse.OWN) == (Verb.REVIEW,)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.verb)
def test_what_only_agents_have_only_agents_have(kind: JobKind) -> None:
    assert (kind.session is not None) is kind.is_agents
    assert kind.is_agents or not (kind.marks_task or kind.reports_status or kind.is_interactive)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.verb)
def test_what_a_worker_takes_has_a_package_and_a_step_its_program(kind: JobKind) -> None:
    assert (kind.package in WORKER_KINDS) is kind.is_leased
    if not kind.is_agents:
        assert callable(import_module(f"worker.kinds.{kind.package}.program").run)


@pytest.mark.xdist_group("sources")
def test_nobody_asks_for_a_verb_by_its_name() -> None:
    asking = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES.values()
        if (lines := list(_comparisons(path)))
    }
    assert set(asking) == OF_EXECUTORS, asking


def test_no_statement_names_a_verb() -> None:
    naming = [path.name for path in SOURCES.values() if VERB_IN_SQL.search(path.read_text())]
    assert naming == []


def _comparisons(path: Path) -> Iterator[int]:
    """Yield the lines that compare something with a member of `Verb`, or with its word."""
    words = {verb.value for verb in Verb}
    for node in nodes_of(path):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        by_name = any(
            isinstance(side, ast.Attribute) and ast.unparse(side.value) == "Verb" for side in sides
        )
        of_verb = any(isinstance(side, ast.Attribute) and side.attr == "verb" for side in sides)
        by_word = any(isinstance(side, ast.Constant) and side.value in words for side in sides)
        if by_name or (of_verb and by_word):
            yield node.lineno
