"""The kinds of jobs stand in one table, and whoever treats jobs differently asks there."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from repository.sources import ROOT, SOURCES, nodes_of

from sow.schema.job import Verb
from sow.schema.job_terms import JobTerms
from sow.schema.kinds import KINDS, JobKind, SessionUse, verbs_of
from worker.kinds import worker_kinds

PACKAGES = ("sow/schema/kinds.py", "sow/calls/kinds/", "worker/kinds/")
"""Where a kind may be named, and what was asked of its jobs alone."""
TERMS = ("sow/schema/job.py", "sow/schema/job_terms.py", "sow/attempts/review.py")
"""Where the parameters of a job are read: their own modules, and what reviewers alone have."""
OF_EXECUTORS = {"sow/attempts/plan.py", "sow/attempts/review.py"}
"""What an executor's CLI is told is its own matter: these choose between its two ways."""
TERMS_OF_KINDS = {terms.__name__ for terms in get_args(JobTerms)}
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
def test_a_leased_kind_has_its_package_and_a_step_its_program(kind: JobKind) -> None:
    assert (kind.package in worker_kinds()) is kind.is_leased
    if not kind.is_agents:
        assert callable(import_module(f"worker.kinds.{kind.package}.program").run)


@pytest.mark.slow
def test_nobody_asks_for_a_verb_by_its_name() -> None:
    asking = {name: lines for name, path in outside() if (lines := list(_comparisons(path)))}
    assert set(asking) == OF_EXECUTORS, asking


@pytest.mark.slow
def test_nobody_asks_what_kind_of_parameters_a_job_has() -> None:
    asking = {
        name: lines
        for name, path in outside()
        if not name.startswith(TERMS) and (lines := list(_asks_for_terms(path)))
    }
    assert asking == {}


def outside() -> Iterator[tuple[str, Path]]:
    """Yield the modules outside of the packages of kinds."""
    for path in SOURCES.values():
        name = str(path.relative_to(ROOT))
        if not name.startswith(PACKAGES):
            yield name, path


def _asks_for_terms(path: Path) -> Iterator[int]:
    """Yield the lines that ask whether something is the parameters of a certain kind."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            if names & TERMS_OF_KINDS:
                yield node.lineno


@pytest.mark.slow
def test_no_statement_names_a_verb() -> None:
    naming = [path.name for path in SOURCES.values() if VERB_IN_SQL.search(path.read_text())]
    assert naming == []


def _comparisons(path: Path) -> Iterator[int]:
    """Yield the lines that choose by a member of `Verb`, by its word, or by a kind's package."""
    words = {verb.value for verb in Verb} | {kind.package for kind in KINDS.values()}
    for node in nodes_of(path):
        if isinstance(node, ast.Dict):
            if any(key is not None and _is_verb(key) for key in node.keys):
                yield node.lineno
        elif isinstance(node, ast.MatchValue):
            if _is_verb(node.value):
                yield node.value.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = {side.attr for side in sides if isinstance(side, ast.Attribute)}
            by_word = any(isinstance(side, ast.Constant) and side.value in words for side in sides)
            is_kinds = any(name in ("verb", "package") or name.endswith("_verb") for name in asked)
            if any(map(_is_verb, sides)) or (is_kinds and by_word):
                yield node.lineno


def _is_verb(node: ast.expr) -> bool:
    """Whether an expression is a member of `Verb`, or a sequence of such."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_is_verb, node.elts))
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Verb"
