"""What a client is answered, from what a command has printed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root
from sow.mcp_server.answer_size import MOST_CHARACTERS
from sow.mcp_server.answers import Ended, answer_of

TOOLS = {tool.name: tool for tool in tools_for(root, None, 50.0)}
ERROR = {
    "task": None,
    "error": {"kind": "state", "exit_code": 4, "message": "no task 999", "hint": "Look."},
}


def printed(*objects: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def test_the_objects_are_passed_on_as_they_are() -> None:
    objects = [{"task": "010", "name": "ü  "}, {"task": "020"}]
    answer = answer_of(TOOLS["task_list"], {}, Ended(0, printed(*objects)))
    assert answer.content == {"exit_code": 0, "results": objects}
    assert (answer.is_error, json.loads(answer.text)) == (False, answer.content)


def test_an_error_is_its_object_and_its_words_are_no_note() -> None:
    words = "Note: by the way\nError: no task 999\n\nLook.\n"
    answer = answer_of(TOOLS["task_show"], {}, Ended(4, printed(ERROR), words))
    assert answer.is_error
    assert answer.content == {"exit_code": 4, "results": [ERROR], "notes": ["Note: by the way"]}


def test_the_error_of_a_task_among_several() -> None:
    error = {**ERROR, "task": "999"}
    words = "Error: 999: no task 999\n\nLook.\n\n"
    answer = answer_of(TOOLS["task_show"], {}, Ended(4, printed({"id": "010"}, error), words))
    assert answer.content["results"] == [{"id": "010"}, error]
    assert "notes" not in answer.content


def test_a_command_that_fails_without_an_object_is_an_error_all_the_same() -> None:
    answer = answer_of(TOOLS["status"], {}, Ended(137, "", "Killed\n"))
    (error,) = answer.content["results"]
    assert answer.is_error
    assert (error["error"]["kind"], error["error"]["message"]) == ("failed", "Killed")


def test_a_bad_end_of_an_agent_is_a_result() -> None:
    outcome = {"task": "010", "job": 1, "status": "failed", "exit_code": 1}
    answer = answer_of(TOOLS["agent_wait"], {}, Ended(1, printed(outcome)))
    assert (answer.is_error, answer.content["exit_code"]) == (False, 1)


@pytest.mark.parametrize(("name", "kept"), [("log", "last"), ("task_list", "first")])
def test_an_answer_is_bounded(name: str, kept: str) -> None:
    objects = [{"number": number, "text": "x" * 1000} for number in range(200)]
    answer = answer_of(TOOLS[name], {}, Ended(0, printed(*objects)))
    found = answer.content["results"]
    assert len(answer.text) < MOST_CHARACTERS + 1000
    assert found == (objects[-len(found) :] if kept == "last" else objects[: len(found)])
    (note,) = answer.content["notes"]
    assert note.startswith(f"{200 - len(found)} more results are left out")
    assert f"these are the {kept}" in note


def test_a_single_result_is_never_left_out_and_its_texts_are_cut() -> None:
    texts = {"text": "x" * 100_000, "lines": ["y" * 30_000, "short"], "number": 7}
    answer = answer_of(TOOLS["log"], {}, Ended(0, printed(texts)))
    (result,) = answer.content["results"]
    assert len(answer.text) < MOST_CHARACTERS + 1000
    assert result["text"] == "x" * 20_000 + "… (80000 more characters)"
    assert (result["lines"][1], result["number"]) == ("short", 7)


def test_an_error_that_repeats_what_it_was_given_is_bounded() -> None:
    error = {**ERROR, "error": {**ERROR["error"], "message": "z" * 200_000}}
    words = f"Error: {'z' * 200_000}\n\nLook.\n"
    answer = answer_of(TOOLS["task_show"], {}, Ended(4, printed(error), words))
    assert len(answer.text) < MOST_CHARACTERS
    assert answer.content["results"][0]["error"]["message"].startswith("zzz")


def test_notes_are_bounded() -> None:
    lines = "".join(f"Note: {number} {'n' * 1000}\n" for number in range(100))
    answer = answer_of(TOOLS["status"], {}, Ended(0, printed({"a": 1}), lines + "m" * 100_000))
    notes = answer.content["notes"]
    assert sum(map(len, notes)) < 6000
    assert notes[-1] == f"{101 - len(notes) + 1} more notes"


RUNNING = {"task": "010", "job": 7, "exit_code": 75}
ENDED = {"task": "020", "job": 8, "exit_code": 0}
OF_PROJECT = {"task": None, "job": 9, "exit_code": 75}
GOES_ON = [
    ("agent_spawn", {}, [RUNNING, ENDED], "agent_wait", {"tasks": ["010"]}),
    ("agent_review", {}, [RUNNING], "agent_wait", {"tasks": ["010"]}),
    ("agent_wait", {"any": True}, [RUNNING], "agent_wait", {"tasks": ["010"], "any": True}),
    ("project_check", {}, [OF_PROJECT], "job_wait", {"jobs": ["9"]}),
    ("job_wait", {}, [RUNNING], "job_wait", {"jobs": ["7"]}),
    ("batch_run", {}, [{"batch": 3, "exit_code": 75}], "batch_wait", {"batch": "3"}),
    (
        "batch_wait",
        {"batch": "3", "since": "0"},
        [{"changes": [], "cursor": "c9"}],
        "batch_wait",
        {"batch": "3", "since": "c9"},
    ),
    (
        "agent_wait",
        {"any": True, "since": "0"},
        [{"changes": [], "cursor": "c9"}],
        "agent_wait",
        {"any": True, "since": "c9"},
    ),
]


@pytest.mark.parametrize(("name", "arguments", "results", "tool", "goes_on"), GOES_ON)
def test_a_wait_whose_time_is_up_says_how_it_goes_on(
    name: str, arguments: dict[str, Any], results: list[Any], tool: str, goes_on: dict[str, Any]
) -> None:
    answer = answer_of(TOOLS[name], arguments, Ended(75, printed(*results)))
    assert answer.content["continue_with"] == {"tool": tool, "arguments": goes_on}
    assert TOOLS[tool].line(goes_on).seconds == 50.0


def test_jobs_that_a_person_has_to_release_are_not_waited_for() -> None:
    held = {
        "task": "010",
        "job": 1,
        "exit_code": 75,
        "continue_with": "sow trust && sow agent wait",
    }
    answer = answer_of(TOOLS["agent_wait"], {}, Ended(75, printed(held)))
    assert "continue_with" not in answer.content


def test_outcomes_that_there_is_no_room_for_are_untold_and_the_next_call_tells_them() -> None:
    states = [75, *[0] * 99]
    results = [
        {"task": f"{number:03}", "job": number, "exit_code": code, "reason": "r" * 1000}
        for number, code in enumerate(states)
    ]
    for exit_code in (75, 0):
        answer = answer_of(TOOLS["agent_wait"], {}, Ended(exit_code, printed(*results)))
        kept = len(answer.content["results"])
        assert 10 < kept < 100
        assert answer.untold == set(range(kept, 100))
        goes_on = {"tasks": ["000", *[f"{number:03}" for number in range(kept, 100)]]}
        assert answer.content["continue_with"] == {"tool": "agent_wait", "arguments": goes_on}


@pytest.mark.parametrize("exit_code", [None, 0, 75])
def test_jobs_of_a_table_that_is_too_long_are_not_waited_for(exit_code: int | None) -> None:
    rows = [
        {"task": "010", "job": number, "exit_code": exit_code, "text": "r" * 1000}
        for number in range(100)
    ]
    answer = answer_of(TOOLS["job_list"], {}, Ended(0, printed(*rows)))
    assert answer.untold == frozenset()
    assert "continue_with" not in answer.content


def test_a_list_that_is_too_long_is_cut_and_a_note_says_by_how_much() -> None:
    items = [{"task": f"{number:03}", "name": "n" * 60} for number in range(3000)]
    answer = answer_of(TOOLS["status"], {}, Ended(0, printed({"tasks": items, "name": "P"})))
    (result,) = answer.content["results"]
    assert len(answer.text) < MOST_CHARACTERS + 1000
    assert result["tasks"] == items[: len(result["tasks"])]
    assert result["name"] == "P"
    assert answer.content["notes"] == [
        f"Of `tasks` {3000 - len(result['tasks'])} more are left out."
    ]


@pytest.mark.slow
@given(
    st.recursive(
        st.one_of(st.text(max_size=300), st.integers(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=20), inner, max_size=4)
        ),
        max_leaves=12,
    ),
    st.integers(1, 1_500),
)
def test_whatever_a_command_prints_its_answer_is_bounded(value: Any, times: int) -> None:
    big = {
        "many": [value] * times,
        "long": "x" * times * 40,
        "keys": {str(n): value for n in range(times)},
    }
    for tool in ("log", "status"):
        answer = answer_of(TOOLS[tool], {}, Ended(0, printed(big, big)))
        assert len(answer.text) < MOST_CHARACTERS + 6_000


CHANGES = [{"cursor": f"q:{n}", "seq": n, "data": {"reason": "r" * 200}} for n in range(1, 1001)]


@pytest.mark.parametrize("exit_code", [0, 75])
def test_more_changes_than_there_is_room_for_come_with_the_next_call(exit_code: int) -> None:
    """Nothing is missed, and nothing is told twice: the cursor leads to the first that is left."""
    changes: list[Any] = []
    arguments = {"any": True, "since": "0"}
    calls = 0
    while len(changes) < len(CHANGES):
        rest = CHANGES[len(changes) :]
        output = printed({"changes": rest, "cursor": CHANGES[-1]["cursor"]})
        answer = answer_of(TOOLS["agent_wait"], arguments, Ended(exit_code, output))
        (result,) = answer.content["results"]
        assert len(answer.text) < MOST_CHARACTERS + 1000
        changes += result["changes"]
        assert result["cursor"] == changes[-1]["cursor"]
        whole = len(changes) == len(CHANGES)
        if not whole:
            assert "the cursor leads to the rest" in answer.content["notes"][0]
        if not whole or exit_code == 75:
            arguments = answer.content["continue_with"]["arguments"]
            assert arguments == {"any": True, "since": result["cursor"]}
        calls += 1
    assert changes == CHANGES
    assert 1 < calls < 20
