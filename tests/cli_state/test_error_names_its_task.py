"""The error of a call with `--json` names the task that the call was about."""

from collections.abc import Callable
from typing import Any

import pytest

Sow = Callable[..., Any]


@pytest.mark.parametrize(
    "words",
    [
        ("task", "show", "999"),
        ("task", "show", "--id", "999"),
        ("task", "set", "999", "name", "X"),
        ("task", "abandon", "999"),
        ("task", "reopen", "999"),
        ("task", "log", "999"),
        ("task", "output", "999"),
        ("task", "explain", "999"),
        ("agent", "spawn", "999"),
        ("agent", "spawn", "implementer", "999"),
        ("agent", "resume", "999", "Go on."),
        ("agent", "wait", "999"),
        ("agent", "cancel", "999"),
        ("agent", "open", "999"),
        ("agent", "log", "Did it", "--task", "999"),
    ],
    ids=" ".join,
)
def test_a_single_call_that_fails_names_its_task(begun: Sow, words: tuple[str, ...]) -> None:
    failed = begun(*words, "--json")
    assert failed.code != 0
    assert [line["task"] for line in failed.lines] == ["999"]


def test_the_environment_names_a_task_too(begun: Sow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOW_TASK_ID", "999")
    assert begun("task", "show", "--json").json["task"] == "999"
    assert begun("agent", "log", "Did it", "--json").json["task"] == "999"


@pytest.mark.parametrize(
    "words",
    [
        ("task", "show", "x1"),
        ("task", "show"),
        ("task", "list", "--status", "x"),
        ("job", "show", "7"),
        ("agent", "spawn", "nobody", "010"),
    ],
    ids=" ".join,
)
def test_where_no_one_task_is_named_none_is(begun: Sow, words: tuple[str, ...]) -> None:
    assert begun(*words, "--json").json["task"] in (None, "010")


def test_of_several_each_refused_one_is_named_once(begun: Sow) -> None:
    refused = begun("task", "show", "998", "999", "--json")
    assert [line["task"] for line in refused.lines] == ["998", "999"]


def test_one_call_says_nothing_of_the_task_of_the_one_before(begun: Sow) -> None:
    begun("task", "show", "999", "--json")
    assert begun("task", "list", "--status", "x", "--json").json["task"] is None
