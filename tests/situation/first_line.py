"""Whoever runs what `sow next` prints first, and asks again: in this process, with stand-ins.

Where a person would choose, chance does: what to put in for a blank, and which of the
other lines to run instead. A refused command fails, and so does one after which
everything stands as before.
"""

import json
import random
import re
import shlex
from dataclasses import dataclass, field
from hashlib import sha256
from unittest.mock import patch

from calls.desk import Desk
from in_process import Ended, run_in_process
from situation.stand_in_worker import StandInWorker

from sow.jobs import jobs

BLANK = re.compile(r"<[^<>]+>")
PERSON = "# a person has to, in a terminal: "
OVER = "is finished: commit "
JOBS = (
    "agent spawn",
    "agent resume",
    "agent answer",
    "agent review",
    "project check",
    "batch run",
    "task check",
)
REFUSED = (2, 3, 4, 5, 6)
"""The exit codes of a command that was refused, or could not be carried out."""
AT_TERMINAL = (
    "sow.cli.approve.is_at_terminal",
    "sow.cli.project_verdict.is_at_terminal",
    "sow.cli.confirming.is_at_terminal",
)
MOST_STEPS = 250


@dataclass
class FirstLine:
    """One project, and who leads it by `sow next` alone."""

    desk: Desk
    chance: random.Random
    steps: list[str] = field(default_factory=list)
    files: int = 0

    def __post_init__(self) -> None:
        self.worker = StandInWorker(self.desk, self.chance)

    def run(self, *words: str, as_person: bool = False) -> Ended:
        """Run a command in this process, as a person at a terminal or without one."""
        with patch(AT_TERMINAL[0], lambda: as_person), patch(AT_TERMINAL[1], lambda: as_person):
            return run_in_process(*words, env=dict(self.desk.caller.environ), cwd=self.root)

    @property
    def root(self):
        return self.desk.workspace.root

    def next_lines(self) -> list[str]:
        """Return what `sow next` prints."""
        told_now = self.run("next")
        assert told_now.code == 0, told_now
        assert told_now.out, f"a dead end after {self.steps[-8:]}"
        return told_now.out.splitlines()

    def lead(self) -> None:
        """Lead the project to its end."""
        last = ""
        while True:
            lines = self.next_lines()
            if OVER in lines[0]:
                return
            line = lines[0] if self.chance.random() < 0.8 else self.chance.choice(lines)
            assert len(self.steps) < MOST_STEPS, self.steps[-20:]
            self.steps.append(line)
            before = self.standing()
            self.take(line)
            now = f"{line} {self.standing()}"
            assert now != last or before != self.standing(), f"for ever: {self.steps[-3:]}"
            last = now

    def take(self, line: str) -> None:
        """Run a line as it was printed, its blanks filled in."""
        as_person = line.startswith(PERSON)
        command = line.removeprefix(PERSON).partition("  # ")[0]
        program, *words = shlex.split(command)
        assert program == "sow", line
        words = [BLANK.sub(self._answer, word) for word in words]
        waits = words[1:2] == ["wait"] or "the same call waits" in line
        if " ".join(words[:2]) in JOBS and not waits:  # a true worker would be waited for
            words = [*_without_wait(words), "--detach"]
        if waits:
            self.worker.end_one()
            words = [*_without_wait(words), "--wait", "0s"]
        ended = self.run(*words, as_person=as_person)
        assert ended.code not in REFUSED, f"{line}: {ended}\nafter {self.steps[-12:]}"
        assert "sow itself failed" not in ended.err, ended
        if self.chance.random() < 0.3 or not self.worker.live:
            self._drive()

    def _drive(self) -> None:
        if self.desk.workspace.project_state.exists():
            self.worker.drive_batches()

    def _answer(self, blank: re.Match[str]) -> str:
        """Return what a person might put in."""
        match blank[0]:
            case "<name>":
                return self.chance.choice(("Sign-in", "It's a \u201cname\u201d", "x"))
            case "<role>":
                return self.chance.choice(("implementer", "tester"))
            case "<ids>":
                return ""
            case "<type>":
                return self.chance.choice(("design", "summary"))
            case "<folder>":
                return "docs/kept"
            case "<file of tasks>":
                return self._write("tasks.json", self._tasks())
            case "<path>" | "<file>":
                return self._write(f"{self.files}.md", "Words.\n")
            case _:
                return "As you think best."

    def _write(self, name: str, text: str) -> str:
        self.files += 1
        folder = self.chance.choice(("docs", ".sow/project/context"))
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path.relative_to(self.root))

    def _tasks(self) -> str:
        keys = ["one", "two", "three"][: self.chance.choice((1, 2, 3))]
        tasks = [
            {
                "key": key,
                "name": key,
                "agent": "implementer",
                "depends_on": [other for other in keys[:number] if self.chance.random() < 0.4],
            }
            for number, key in enumerate(keys)
        ]
        return "\n".join(map(json.dumps, tasks))

    def standing(self) -> str:
        """Return what tells how all stands from how it stood before, the logs left out."""
        found = sha256()
        for path in sorted((self.root / ".sow").rglob("*")):
            if path.is_file() and "/run/" not in f"{path}" and path.name != "log.md":
                found.update(f"{path}\n".encode() + path.read_bytes())
        for job in jobs.recent_jobs(self.desk.database, limit=400):
            found.update(f"{job.id} {job.state}".encode())
        rows = self.desk.database.rows("select id, state from batch")
        found.update(repr([tuple(row) for row in rows]).encode())
        found.update(repr(len(self.desk.database.rows("select 1 from waiter"))).encode())
        return found.hexdigest()


def _without_wait(words: list[str]) -> list[str]:
    """Return a command's words without `--wait TIME`."""
    if "--wait" not in words:
        return words
    place = words.index("--wait")
    return [*words[:place], *words[place + 2 :]]
