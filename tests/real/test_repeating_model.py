"""The model that leads a project by what sow prints: which command follows, and when it ends."""

import pytest
from repeating_model import NothingToPutIn, Use, next_use

ANSWERS = {"<name>": "Sign-in", "<path>": "/r/d.md"}
FILES = {"/r/d.md": "# Sign-in\n"}


def shell(command: str, output: str = "") -> Use:
    return Use("Bash", {"command": command}, output)


def command_after(*done: Use, prompt: str = "") -> str:
    use = next_use(prompt, done, ANSWERS, FILES)
    assert use is not None
    return use.command


def test_it_begins_with_the_first_command_of_its_prompt() -> None:
    assert command_after(prompt="Lead, as `sow x` says:\n\n    sow prompt\n    sow next") == (
        "sow prompt"
    )
    assert command_after(prompt="Lead.") == "sow next"


def test_what_is_printed_first_is_run_without_its_reason() -> None:
    printed = shell("sow next", "sow advance  # all is ready\nsow task add x  # or this\n")
    assert command_after(printed) == "sow advance"
    assert command_after(printed, shell("sow advance", "sow elsewhere\n")) == "sow next"


def test_blanks_are_filled_from_the_table_alone() -> None:
    printed = shell("sow next", 'sow project new "<name>"  # there is none\n')
    assert command_after(printed) == 'sow project new "Sign-in"'
    with pytest.raises(NothingToPutIn, match="<role>"):
        command_after(shell("sow next", 'sow task add "<name>" --agent "<role>"'))


def test_a_file_is_written_once_before_it_is_named() -> None:
    printed = shell("sow next", 'sow output add "<path>" --type x')
    use = next_use("", [printed], ANSWERS, FILES)
    assert use is not None
    assert (use.tool, use.input["file_path"]) == ("Write", "/r/d.md")
    assert command_after(printed, use) == 'sow output add "/r/d.md" --type x'


def test_it_ends_with_the_project_or_with_its_own_report() -> None:
    ended = 'sow project new "<name>"  # X is finished: commit .sow/a; this begins another\n'
    assert next_use("", [shell("sow next", ended)], ANSWERS, FILES) is None
    reported = shell("sow task set status completed", "ok")
    assert next_use("", [reported], ANSWERS, FILES) is None
