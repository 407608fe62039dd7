"""A model that leads a project, and only repeats what sow has printed.

It knows three things: what `sow prompt` and `sow next` print is run, the first command of it;
after any other command it asks `sow next`; and for each `<…>` there is an answer in a table, with
a file to write first where the answer names one. It ends when `sow next` says that the project
has ended, or when it has reported its own task's status.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

ASK = "sow next"
SHELL, WRITE = "Bash", "Write"
TELLING = re.compile(r"sow (next|prompt)\b")
"""What prints commands that are to be run."""
COMMAND = re.compile(r"^ *(sow [^\n]*?)(?:  # [^\n]*)?$", re.MULTILINE)
BLANK = re.compile(r"<[^<>]+>")
ENDED = re.compile(r"^sow project new .*\bis finished: commit ")
REPORTED = re.compile(r"sow task set status \w+$")


class NothingToPutIn(Exception):
    """A printed command has a blank that the table has no answer for."""


@dataclass(frozen=True)
class Use:
    """One use of a tool, and what it printed."""

    tool: str
    input: Mapping[str, Any]
    output: str = ""

    @property
    def command(self) -> str:
        return str(self.input.get("command", ""))


def next_use(
    prompt: str, done: Sequence[Use], answers: Mapping[str, str], files: Mapping[str, str]
) -> Use | None:
    """Return the next tool to use; None where nothing is left to be done.

    `files` is the text of each file that an answer names. Raises NothingToPutIn.
    """
    commands = [use for use in done if use.tool == SHELL]
    last = commands[-1] if commands else None
    if last is not None and (ENDED.search(last.output) or REPORTED.match(last.command)):
        return None
    command = ASK
    if last is None or TELLING.match(last.command):
        command = first_command(prompt if last is None else last.output)
    blanks = BLANK.findall(command)
    missing = [blank for blank in blanks if blank not in answers]
    if missing:
        raise NothingToPutIn(f"{command}: {missing}")
    written = {use.input["file_path"] for use in done if use.tool == WRITE}
    for path in (answers[blank] for blank in blanks):
        if path in files and path not in written:
            return Use(WRITE, {"file_path": path, "content": files[path]})
    filled = BLANK.sub(lambda blank: answers[blank[0]], command)
    return Use(SHELL, {"command": filled, "description": "Do what sow says"})


def first_command(text: str) -> str:
    """Return the first command that stands on a line of its own; `sow next` where none does."""
    found = COMMAND.search(text)
    return found[1].strip() if found is not None else ASK
