"""One of the commands that come next, and who may run it."""

from enum import StrEnum

from msgspec import Struct

from sow.lifecycle.lifecycle_facts import Remedy
from sow.situation.situation import Reader


class By(StrEnum):
    """Who runs a command. The values are the words of `--json`."""

    YOU = "you"
    PERSON = "person"
    """A person at a terminal; the reader asks them to."""


class Step(Struct, frozen=True):
    """A command that takes the project on."""

    command: str
    why: str
    by: By = By.YOU


PERSONS_WORD = ("sow approve", "sow review accept --project", "sow review correct --project")
"""What whoever may approve decides."""
EDITOR = '"${EDITOR:-vi}"'
RESTORE = "git restore --source=HEAD --staged --worktree"
AT_TERMINAL = (
    *("sow trust", "sow config edit", "sow job resolve", "sow job show", "sow clone list"),
    "sow hosts list",
    *(EDITOR, RESTORE, "mv ", "rm ", "mkdir ", "cd ", "(cd "),
)
"""What a person decides, whatever the configuration says."""
BLOCKING = (
    "sow agent spawn",
    "sow agent resume",
    "sow agent answer",
    "sow start --headless",
    "sow agent review",
    "sow agent wait",
    "sow merge",
    "sow project check",
    "sow task check",
    "sow batch run",
    "sow batch wait",
)
"""What waits for an end, and takes `--wait`."""


def by_person(command: str) -> bool:
    """Whether a command is a person's, at a terminal."""
    return command.startswith(AT_TERMINAL)


def addressed(remedy: Remedy, reader: Reader) -> Step:
    """Return a command as its reader can use it: who runs it, and below their shell's limit."""
    command, why = remedy.command, remedy.why
    if by_person(command) and (reader.job is not None or not reader.is_at_terminal):
        return Step(command, why, By.PERSON)
    if command.startswith(PERSONS_WORD) and not reader.may_approve:
        return Step(command, why, By.PERSON)
    if reader.wait and command.startswith(BLOCKING):
        command = f"{command} {reader.wait}"
    return Step(command, why)


def in_a_line(step: Step) -> str:
    """Return a step as a line of a shell: what the reader may not run is a comment."""
    if step.by is By.PERSON:
        return f"# a person has to, in a terminal: {step.command}  # {step.why}"
    return f"{step.command}  # {step.why}"
