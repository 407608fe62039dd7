"""What a stranger reads who mistypes a value: one plain sentence, and a hint that is true."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sow = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("job", "list", "-n", "0"), "0 is not between 1 and 1000000"),
        (("task", "log", "010", "-n", "0"), "0 is less than 1"),
        (("job", "list", "-n", "x"), "'x' is not a whole number"),
        (("completion",), "missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_in_plain_words_on_one_line(
    begun: Sow, words: tuple[str, ...], sentence: str
) -> None:
    done = begun(*words)
    first, _, hint = done.err.partition("\n\n")
    assert done.code == 2
    assert first.startswith("Error: ")
    assert first.endswith(sentence)
    assert hint.startswith("See `sow ")


def test_an_option_without_its_value_names_the_help_of_its_own_command(begun: Sow) -> None:
    done = begun("project", "new", "Sign-in", "--from-breakdown")
    assert (done.code, done.err.splitlines()[-1]) == (2, "See `sow project new --help`.")
    assert begun("next", "--nope").err.endswith("See `sow next --help`.\n")


def test_the_oldest_click_that_is_allowed_refuses_as_well(
    begun: Sow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("click.exceptions.NoArgsIsHelpError", raising=False)
    done = begun("next", "--nope")
    assert (done.code, done.err.splitlines()[-1]) == (2, "See `sow next --help`.")


def test_a_shortage_of_memory_is_no_bug(begun: Sow, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("sow.state.tasks.scan_tasks", short)
    done = begun("task", "list")
    assert (done.code, done.err) == (
        1,
        "Error: the machine is short of memory\n\nEnd the programs that use it, then run the"
        " same command again. sow's records are intact.\n",
    )


def test_a_folder_is_told_from_a_file_that_is_not_there(begun: Sow, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert "docs: it is a folder" in begun("input", "add", "docs", "--type", "goal").err
    assert "doc: there is no such file" in begun("input", "add", "doc", "--type", "goal").err


def test_a_worker_that_nobody_knows_is_a_wrong_id_as_any_other(begun: Sow) -> None:
    done = begun("worker", "stop", "w0-nobody")
    assert (done.code, "no such worker: w0-nobody" in done.err) == (4, True)


def test_no_lines_of_a_log_are_none(begun: Sow, tmp_path: Path) -> None:
    log = tmp_path / ".sow/run/workers/w1.log"
    log.parent.mkdir(parents=True)
    log.write_text("12:00:00  worker w1 started\n")
    assert "started" in begun("worker", "logs", "-n", "1").out
    assert begun("worker", "logs", "-n", "0").out == ""
    assert begun("worker", "logs", "-n", "0", "--json").out == ""


def test_a_folder_of_prompts_names_what_is_in_it(begun: Sow) -> None:
    hint = begun("prompt", "guidance/reviewer").err
    assert "There are:\n  - guidance/reviewer/base\n  - guidance/reviewer/correctness" in hint
    assert "guidance/orchestrator/review" in begun("prompt", "guidance/orchestrator/").err
    assert (
        "The nearest are:\n  - guidance/reviewer/" in begun("prompt", "guidance/reviwer/tests").err
    )
