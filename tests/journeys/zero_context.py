"""An orchestrator without a memory: it runs what `sow next` prints first, and asks again.

Whoever begins anew asks `sow prompt` first. They know the first command that is printed, and a
fixed table of what to put in for each `<…>`; between two commands they keep nothing. Nothing may
stop them: no refused command, no blank that nobody explains, no command that changes nothing.
"""

import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from journeys.callers import queue
from journeys.gitsite import git
from journeys.site import Result, Site

from sow.errors import ExitCode
from sow.paths import Workspace

BLANK = re.compile(r"<[^<>]+>")
COMMAND = re.compile(r"^sow .*$", re.MULTILINE)
"""A command on a line of its own."""
ENDED = re.compile(r"\bis finished: commit ")
"""How `sow next` says that a project has ended."""
UNDONE = ExitCode.CANCELLED
"""How a wait may end for a job whose caller was killed before it was queued."""
WANTS_SOMEBODY = ExitCode.FAILED
"""How a batch's commands end when one of its tasks asks something."""
MOST_STEPS = 150
"""More than any of the projects takes, killed at each of its steps."""


@dataclass(frozen=True)
class Step:
    """The first command that was printed, filled in."""

    words: tuple[str, ...]
    why: str
    """Empty where `sow prompt` has a command of its own, and not what `sow next` says."""

    @property
    def line(self) -> str:
        """The line, as it tells this step from others."""
        return f"{shlex.join(('sow', *self.words))}  # {self.why}"


@dataclass(frozen=True)
class Newcomer:
    """Who knows what is printed, what to put in for each `<…>`, and what to write first.

    `files` is the text that belongs into a file that is named, by its place.
    """

    site: Site
    answers: Mapping[str, str]
    files: Mapping[str, str]

    def next_step(self, *, is_new: bool) -> Step | None:
        """Return what is to be done first; None where the project has ended."""
        printed = self.site.sow("prompt" if is_new else "next").out
        found = COMMAND.search(printed)
        assert found is not None, f"no command: {printed}"
        command, _, why = found[0].partition("  # ")
        if ENDED.search(printed):
            return None
        words = shlex.split(command)[1:]
        return Step(tuple(BLANK.sub(self._answer, word) for word in words), why)

    def _answer(self, blank: re.Match[str]) -> str:
        assert blank[0] in self.answers, f"nobody can tell what {blank[0]} is to be"
        answer = self.answers[blank[0]]
        if answer in self.files:
            Path(self.site.root, answer).write_text(self.files[answer])
        return answer


class Striking(Protocol):
    """Who strikes in the middle of a step; then it is to be asked for anew."""

    def is_due(self, line: str) -> bool:
        """Whether this step is cut off."""

    def strike(self, line: str, call: subprocess.Popen[str]) -> None:
        """Strike once the call has got so far."""


def run_to_its_end(
    newcomer: Newcomer, kills: Striking | None = None, *, forgiving: bool = False
) -> list[Step]:
    """Drive a project until it has ended, and return the steps that were taken.

    With `kills`, all processes die in the middle of each step before it is let through.
    `forgiving`: what a command has begun may come to nothing; it may not be refused.
    """
    site, steps = newcomer.site, list[Step]()
    last: tuple[Step, str] | None = None
    is_new = False
    while (step := newcomer.next_step(is_new=is_new)) is not None:
        steps.append(step)
        assert len(steps) < MOST_STEPS, f"no end: {[step.line for step in steps[-20:]]}"
        is_new = kills is not None and kills.is_due(step.line)
        if kills is not None and is_new:
            kills.strike(step.line, site.start(*step.words))
            continue
        found = (step, standing(site))
        assert found != last or not step.why, f"done again, and again to be done: {step}"
        last = found
        ended = site.sow(*step.words, expect=None)
        if forgiving:
            check_forgiving(ended, step)
        else:
            check(ended, step, is_killed=kills is not None)
    return steps


def check(result: Result, step: Step, *, is_killed: bool) -> None:
    """Fail where a printed command was refused, or came to nothing."""
    fine = {ExitCode.OK, ExitCode.STILL_RUNNING}
    if is_killed:
        fine.add(UNDONE)
    if step.words[0] == "batch":
        fine.add(WANTS_SOMEBODY)
    assert result.code in fine, f"{step}: {result}"


def check_forgiving(result: Result, step: Step) -> None:
    """Fail where a printed command was refused; a conflict that it has found is a result."""
    fine = {ExitCode.OK, ExitCode.STILL_RUNNING, ExitCode.FAILED}
    words = f"{result.out}{result.err}"
    in_conflict = step.words[0] == "merge" and " conflicts with " in words
    in_conflict |= step.words[:2] == ("clone", "update") and "has conflicts" in words
    assert result.code in fine or in_conflict, f"refused: {step}: {result}"


def standing(site: Site) -> str:
    """Return a digest of how the project stands: its files but its logs, its jobs, its branches."""
    found = sha256()
    for path in sorted((site.root / ".sow").rglob("*")):
        if path.is_file() and "/run/" not in f"{path}" and path.name != "log.md":
            found.update(f"{path}\n".encode() + path.read_bytes())
    found.update(git(site, "for-each-ref").encode())
    if Workspace(site.root).queue_db.exists():
        with closing(queue(site)) as database:
            rows = database.rows("select id, state, cause from job")
            found.update(repr([tuple(row) for row in rows]).encode())
    return found.hexdigest()
