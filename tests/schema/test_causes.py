"""The table of causes is whole, each of its columns has a reader, and the documents print it."""

import ast
import re
from functools import cache
from pathlib import Path
from string import Formatter

import cause_page
import msgspec
import pytest

from sow.clones.branch_move import IndexInUse
from sow.files import NotWritten
from sow.git.git_errors import GitKilled
from sow.schema.cause_table import (
    CAUSES,
    GOOD_ORDER,
    NEVER_BEGAN,
    SESSION_UNKNOWN,
    WITHOUT_AGENT,
    Blame,
    CauseFacts,
    RetryRule,
    SessionRule,
)
from sow.schema.causes import RAISABLE, Cause
from worker.steps.result_file import failure_result

ROOT = Path(__file__).resolve().parents[2]
OPEN_TO_REMEDIES = {"executor", "settings", "job", "task"}


def test_every_cause_has_a_row() -> None:
    assert list(CAUSES) == list(Cause)


def test_a_limit_that_can_be_raised_is_one_of_which_shares_are_given() -> None:
    assert {cause for cause, facts in CAUSES.items() if facts.retry is RetryRule.SHARE} == RAISABLE


@pytest.mark.parametrize("column", CauseFacts.__struct_fields__)
def test_every_column_is_read_by_the_product(column: str) -> None:
    assert column in _columns_read(), f"nothing reads CauseFacts.{column}"


@cache
def _columns_read() -> set[str]:
    """Return the columns that the product reads."""
    modules = [path for folder in ("sow", "worker") for path in (ROOT / folder).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in modules]
    return {column for text in texts if "CAUSES[" in text for column in _read_in(text)}


def _read_in(text: str) -> set[str]:
    """Return the attributes that a module reads of `CAUSES[…]`, or of a name that was set to it."""
    tree = ast.parse(text)
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_row(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (_is_row(node.value) or (isinstance(node.value, ast.Name) and node.value.id in names))
    }


def _is_row(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "CAUSES"
    )


@pytest.mark.parametrize("cause", Cause)
def test_a_remedy_takes_only_what_advice_can_fill_in(cause: Cause) -> None:
    fields = {name for _, name, _, _ in Formatter().parse(CAUSES[cause].remedy) if name}
    assert fields <= OPEN_TO_REMEDIES


@pytest.mark.parametrize("cause", Cause)
def test_what_is_forgiven_once_has_a_name_for_the_second(cause: Cause) -> None:
    once = CAUSES[cause].retry in (RetryRule.ONCE, RetryRule.ONCE_RESUMED, RetryRule.HANG)
    assert bool(CAUSES[cause].second) is once


@pytest.mark.parametrize("rules", [Blame, RetryRule, SessionRule])
def test_every_rule_is_that_of_some_cause(rules: type) -> None:
    used = {value for row in CAUSES.values() for value in msgspec.structs.astuple(row)}
    assert set(rules) <= {value for value in used if isinstance(value, rules)}  # type: ignore[call-overload]


def test_the_endings_that_show_something_of_the_session() -> None:
    """Written out once more: each is a promise on which a person's conversation depends."""
    assert {
        Cause.REPORTED,
        Cause.NO_STATUS,
        Cause.NO_VERDICT,
        Cause.DENIED,
        Cause.CLOSED,
    } == GOOD_ORDER
    refused = {Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN, Cause.MISSING_BINARY, Cause.BAD_FLAGS}
    refused |= {Cause.SETUP_FAILED, Cause.SETUP_PREVENTED, Cause.SANDBOX_FAILED}
    steps = {Cause.PASSED, Cause.CHECK_FAILED, Cause.MERGE_CONFLICT, Cause.MERGE_REFUSED}
    steps |= {Cause.PREVENTED}
    assert refused | steps | {Cause.CONFIGURATION, Cause.FOLDER_UNUSABLE} == WITHOUT_AGENT
    began_elsewhere = {Cause.WORKER_DIED, Cause.WORKER_STOPPED, Cause.SESSION_LOST}
    assert WITHOUT_AGENT | began_elsewhere == NEVER_BEGAN
    assert {Cause.SESSION_UNKNOWN, Cause.SESSION_LOST} == SESSION_UNKNOWN


def test_the_page_is_current() -> None:
    assert cause_page.rendered() in cause_page.PAGE.read_text(encoding="utf-8"), (
        "run `python tests/schema/cause_page.py`"
    )


CLASS_NAME = re.compile(r"\b(?:sow|worker)\.[a-z_]+\.|\b[A-Z][a-z]+[A-Z]\w*")
"""A module of ours with its dots, or a name in the form of a class."""


@pytest.mark.parametrize("cause", Cause)
def test_no_class_name_is_among_a_cause_s_words(cause: Cause) -> None:
    row = CAUSES[cause]
    for text in (row.words, row.remedy, row.to_agent, row.second, row.blame, row.retry):
        assert not CLASS_NAME.search(text), text


def test_nothing_that_is_told_is_put_together_with_the_name_of_an_error_s_class() -> None:
    """People are told what failed; a traceback in a log has the class."""
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("sow", "worker")
        for path in (ROOT / folder).rglob("*.py")
        if "__name__" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "__name__" and _is_class(node.value)
    ]
    assert named == []


def _is_class(node: ast.expr) -> bool:
    of_type = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return (of_type and node.func.id == "type") or (  # type: ignore[attr-defined]
        isinstance(node, ast.Attribute) and node.attr == "__class__"
    )


@pytest.mark.parametrize(
    "error",
    [
        IndexInUse(Path("x/index.lock")),
        GitKilled(Path("x"), ["fetch"], 9),
        NotWritten(Path("x"), OSError(28, "No space left on device")),
        OSError(28, "No space left on device", "x"),
        MemoryError(),
        KeyError(),
    ],
)
def test_what_keeps_a_step_from_its_work_is_told_without_a_class(error: Exception) -> None:
    words = failure_result(error, passing=Cause.PREVENTED, lasting=Cause.CRASHED).reason
    assert words
    assert not CLASS_NAME.search(words)
    assert type(error).__name__ not in words
