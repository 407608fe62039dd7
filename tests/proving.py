"""What a proof runs and each commit draws from, and results that can be kept.

`make proof` names a folder in SOW_PROOF. A test that belongs to it takes its seeds and its points
of death from `drawn`, is as long as `rounds` says, and hands in what it has come to by `hand_in`;
the report is made from these files (`proof/report.py`). Without the variable the commit draws one
seed or point, rounds are fewer, and nothing is kept.

What CI alone cuts short, and `make test` at a desk runs whole, bears the mark `one_of` or `few`,
and `conftest.py` draws from what bears it.
"""

import json
import os
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

FOLDER = os.environ.get("SOW_PROOF")
"""Read once: a test's own environment has nothing of the user's."""

T = TypeVar("T")


def drawn(*every: T) -> tuple[T, ...]:
    """Return all for a proof, else the one that this commit draws: the next one draws another."""
    return every if FOLDER else (every[place_of(commit(), len(every))],)


def one_in(count: int, every: Sequence[T]) -> Sequence[T]:
    """Return all for a proof, else each `count`-th, from a place on that this commit draws.

    For points of death that one test goes through; the next commit goes through others.
    """
    return every if FOLDER else every[place_of(commit(), count) :: count]


def one_of_each(groups: Mapping[str, Collection[str]], *, drawn_by: str) -> set[str]:
    """Return one name of each group, the one that a commit draws, whatever their order."""
    return {
        sorted(names)[place_of(f"{drawn_by} {group}", len(names))]
        for group, names in groups.items()
    }


def few_of(names: Collection[str], most: int, *, drawn_by: str) -> list[str]:
    """Return all names, or of more than so many those that a commit draws."""
    if len(names) <= most:
        return [*names]
    return sorted(names, key=lambda name: sha256(f"{drawn_by} {name}".encode()).digest())[:most]


class Case(NamedTuple):
    """A test, and how CI draws it."""

    name: str
    group: str = ""
    """Of all that share it one choice is drawn; what has none is always run."""
    choice: str = ""
    most: int | None = None
    """How many cases of its function are drawn, instead of what its group says."""


def drawn_cases(cases: Iterable[Case], *, drawn_by: str) -> set[str]:
    """Return the names of the tests that a commit has CI run."""
    groups: dict[str, dict[str, list[str]]] = {}
    functions: dict[tuple[str, int], list[str]] = {}
    names: set[str] = set()
    for case in cases:
        if case.most is not None:
            functions.setdefault((function_of(case.name), case.most), []).append(case.name)
        elif case.group:
            groups.setdefault(case.group, {}).setdefault(case.choice, []).append(case.name)
        else:
            names.add(case.name)
    chosen = one_of_each(groups, drawn_by=drawn_by)
    for choices in groups.values():
        names.update(name for choice in choices.keys() & chosen for name in choices[choice])
    for (_, most), every in functions.items():
        names.update(few_of(every, most, drawn_by=drawn_by))
    return names


def function_of(name: str) -> str:
    """Return the name of a test without its case."""
    return name.partition("[")[0]


def place_of(drawn_by: str, count: int) -> int:
    """Return which of so many a commit draws, from 0."""
    return int(sha256(f"{drawn_by} {count}".encode()).hexdigest(), 16) % count


@cache
def commit() -> str:
    """Return the commit that is checked out; nothing where there is none."""
    words = ("git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD")
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def rounds(of_a_proof: int, else_so_many: int) -> int:
    """Return how long a storm is."""
    return of_a_proof if FOLDER else else_so_many


def need_enough(is_enough: bool, counted: object) -> None:
    """Fail where a test has killed too little to judge; call it once no promise was found broken.

    The report of a proof (`proof/report.py`) tells such a test from a broken promise by its words.
    """
    if not is_enough:
        pytest.fail(f"could not judge: too little was killed ({counted})")


def hand_in(name: str, seed: int, facts: dict[str, Any]) -> None:
    """Keep what a test has come to, for the report of a proof."""
    if FOLDER:
        text = json.dumps({"name": name, "seed": seed, **facts}, indent=2)
        (Path(FOLDER) / f"{name.replace(' ', '-')}-{seed}.json").write_text(text)
