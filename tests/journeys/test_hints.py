"""Each hint is a command that works at that moment: those that can be provoked are run."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from journeys.callers import await_runs, gate, good, open_gate, report
from journeys.gitsite import commit, make_repository
from journeys.site import Result, Site
from own_queue import make_own

from sow.commands import CALLABLE, Right
from sow.paths import Workspace

HINT = re.compile(r"`(sow [^`]+)`")
WORKED = {0, 1, 7, 75}
"""Done, or told of a job that failed, was cancelled or still runs; the others are refusals."""
LASTS = ("sow worker", "sow agent cancel")
"""Commands that do not end by themselves, or that change the state for the others."""

PROVOKED = """
agent resume 010 "x"
agent open 010
agent wait 010
agent cancel 010
task explain 010
agent spawn reviewer 010
agent spawn 020
agent spawn 990
agent spawn 10
job show 990
job show 010
task show 990
agent spawn 030
task explain 030
task explain 040
agent spawn 040
task explain 050
agent spawn 050
agent resume 050 "x"
task set 050 status in_progress
task explain 060
agent spawn 060
agent resume 070 "x"
task abandon 050
agent cancel 030
job list --task 070
task list --phase none
worker stop nobody
"""
"""What somebody may type; what it says, refused or not, is searched for hints."""

RUNNING = """
agent spawn reviewer 010
agent resume 010 "x"
task abandon 010
task set 010 status completed
task explain 010
job list --active
agent spawn 020
"""


LATER = {
    "sow clone update 010": "it meets a conflict, as it was to",
    "sow clone update 060": "the same",
    "sow agent resume 060 --conflict": "after the update that is named before it",
    "sow merge 060 070": "after the conflict is solved",
}
"""Hints that are steps of a way, or whose exit code tells what they have found."""
APART = """
clone path 030
clone path 020
clone update 020
clone remove 010
clone remove 020
clone prune
clone list
task diff 030
task show 010
task check 010 none
task check 010
project check
merge 010
merge 020
merge 030
merge 040
merge 060 070
agent review 030
agent review 010 --wait 1s
review accept 030 --summary "x"
review show 010
review show 050
agent resume 010 --feedback
agent resume 010 --conflict
agent resume 040 --conflict
agent resume 020 "x"
agent spawn 010 --no-clone
task explain 070
task abandon 050
job wait 99
job wait 010
job retry 1
job show 1
next
"""
"""The same of tasks that are done apart: 010 to 070, each of which stands otherwise."""


def hints_of(result: Result) -> list[str]:
    """Return the commands that a command has named; what it leaves open is a file that is there."""
    return [hint.replace("FILE", "code.txt") for hint in HINT.findall(result.out + result.err)]


@pytest.mark.one_of("hints that are followed")
def test_every_hint_works_where_nothing_runs(site: Site, tmp_path: Path) -> None:
    site.configure({"worker": {"idle_exit": "1s"}})
    site.project("010", "020", "030", "040", "050", "060", "070")
    site.sow("task", "set", "020", "depends_on", "010")
    site.script([good()])
    question = {"sow": ["agent", "log", "Which one?"]}
    site.script([[question, report("paused")], good()], task="030")
    site.script([[{"not_logged_in": True}], good()], task="060")
    site.sow("agent", "spawn", "030", "040", "050", "060", expect=1)
    site.sow("task", "set", "050", "status", "completed")
    site.sow("task", "abandon", "070")
    hints = provoke(site, PROVOKED)
    assert len(hints) >= 15, hints
    assert refused_of(site, hints, tmp_path / "kept") == {}


@pytest.mark.one_of("hints that are followed")
def test_every_hint_works_of_tasks_that_are_done_apart(site: Site, tmp_path: Path) -> None:
    site.configure({"worker": {"idle_exit": "1s"}})
    make_repository(site)
    site.project("010", "020", "030", "040", "050", "060", "070")
    settings = {"clones": {"use": "always"}, "checks": {"unit": "true"}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    commit(site, "a project")
    site.sow("trust", "--yes")  # else the checks that are run below wait for a person
    for task in ("010", "020", "040", "050", "060", "070"):
        work = {"shell": f"echo {task} >code.txt"}  # so that no two go together
        site.script([good(work), good()], task=task)
    site.sow("agent", "spawn", "010", "020", "040", "050", "060", "070")
    site.sow("clone", "remove", "020", "--discard")
    site.sow("task", "set", "040", "status", "completed")
    site.sow("review", "accept", "060", "--summary", "Good.")
    site.sow("review", "accept", "070", "--summary", "Good.")
    hints = provoke(site, APART)
    assert len(hints) >= 20, hints
    hints = {hint: by for hint, by in hints.items() if hint not in LATER}
    assert refused_of(site, hints, tmp_path / "kept") == {}


@pytest.mark.one_of("hints that are followed")
def test_every_hint_works_while_an_agent_runs(site: Site) -> None:
    site.project("010", "020")
    site.sow("task", "set", "020", "depends_on", "010")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "010", "--detach")
    await_runs(site)
    hints = provoke(site, RUNNING)
    assert "sow agent cancel 010" in hints
    refused = {}
    for hint in sorted(hints, key=lambda hint: hint.startswith(LASTS)):
        words = shlex.split(hint)[1:]
        following = ["--follow"] if "--follow" in words else []
        bounded = ["--wait", "1s"] if words[:2] == ["agent", "wait"] else []
        result = site.sow(*(word for word in words if word not in following), *bounded, expect=None)
        if result.code not in WORKED:
            refused[hint] = (hints[hint], result.err)
    assert refused == {}
    open_gate(site, "go")


def provoke(site: Site, lines: str) -> dict[str, str]:
    """Run some command lines; return the commands that they name, each with who named it."""
    named: dict[str, str] = {}
    for line in lines.strip().splitlines():
        result = site.sow(*shlex.split(line), expect=None)
        named |= dict.fromkeys(hints_of(result), f"sow {line}")
    return named


def refused_of(site: Site, named: dict[str, str], kept: Path) -> dict[str, tuple[str, str]]:
    """Run commands that were named; return those that are refused, with who named them, and why."""
    site.sow("worker", "stop")
    put_in_place(site.base, kept)
    return {
        hint: (by, result.err)
        for hint, by in named.items()
        if not hint.startswith("sow worker") or hint == "sow worker stop"
        for result in [run_hint(site, hint, kept)]
        if result.code not in WORKED
    }


def run_hint(site: Site, hint: str, kept: Path) -> Result:
    """Run one hint; what it has changed is put back: the next finds what its giver found."""
    words = shlex.split(hint)[1:]
    if tuple(words[:2]) in CALLABLE and CALLABLE[tuple(words[:2])].right is Right.READS:
        return site.sow(*words, expect=None)
    try:
        return site.sow(*words, expect=None)
    finally:
        site.sow("worker", "stop")
        put_in_place(kept, site.base)


def put_in_place(kept: Path, place: Path) -> None:
    """Make the repository and the home at `place` what they are in `kept`."""
    for name in ("repo", "home"):
        shutil.rmtree(place / name, ignore_errors=True)
        shutil.copytree(kept / name, place / name, symlinks=True)
    make_own(Workspace(place / "repo"))  # else it is a copy, whose jobs are not told
