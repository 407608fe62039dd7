"""Each hint is a command that works at that moment: those that can be provoked are run."""

import re
import shlex
import shutil
from pathlib import Path

from journeys.calls import await_runs, gate, good, open_gate, report
from journeys.site import Result, Site

from sow.cli.agent_rights import RIGHTS, Right

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


def hints_of(result: Result) -> list[str]:
    return HINT.findall(result.out + result.err)


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
    said = {}
    for line in PROVOKED.strip().splitlines():
        result = site.sow(*shlex.split(line), expect=None)
        said |= dict.fromkeys(hints_of(result), f"sow {line}")
    site.sow("worker", "stop")
    put_in_place(site.base, kept := tmp_path / "kept")
    assert len(said) >= 15, said
    refused = {
        hint: (said_by, result.err)
        for hint, said_by in said.items()
        if not hint.startswith("sow worker") or hint == "sow worker stop"
        for result in [run_hint(site, hint, kept)]
        if result.code not in WORKED
    }
    assert not refused, "\n".join(f"{key}: {value}" for key, value in refused.items())


def test_every_hint_works_while_an_agent_runs(site: Site) -> None:
    site.project("010", "020")
    site.sow("task", "set", "020", "depends_on", "010")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "010", "--detach")
    await_runs(site)
    said = {}
    for line in RUNNING.strip().splitlines():
        result = site.sow(*shlex.split(line), expect=None)
        said |= dict.fromkeys(hints_of(result), f"sow {line}")
    assert "sow agent cancel 010" in said
    refused = {}
    for hint in sorted(said, key=lambda hint: hint.startswith(LASTS)):
        words = shlex.split(hint)[1:]
        following = ["--follow"] if "--follow" in words else []
        bounded = ["--wait", "1s"] if words[:2] == ["agent", "wait"] else []
        result = site.sow(*(word for word in words if word not in following), *bounded, expect=None)
        if result.code not in WORKED:
            refused[hint] = (said[hint], result.err)
    assert refused == {}
    open_gate(site, "go")


def run_hint(site: Site, hint: str, kept: Path) -> Result:
    """Run one hint; what it has changed is put back: the next finds what its giver found."""
    words = shlex.split(hint)[1:]
    if RIGHTS.get(tuple(words[:2])) is Right.READS:
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
