"""A review runs on another host than its task's: its verdict comes home, and nothing else does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
from journeys.gitsite import git
from journeys.staff import start_worker
from journeys.two_checkouts import Pair, host_of, pair_at

AUTHOR = """
if [ -e work.txt ]; then echo two >>work.txt; else echo one >work.txt; fi
sow task set status needs_review
"""
REVIEWER = """
pwd >>"$WHERE"
echo evil >code.txt
echo "A draft" >"$1/notes.md"
sow agent log "Looked at it"
if grep -q two work.txt; then
    sow review accept "$SOW_TASK_ID" --summary "It says two."
else
    echo "Say two." | sow review correct "$SOW_TASK_ID" --file - --summary No.
fi
"""


@pytest.fixture(params=[False, True], ids=["one role", "roles of their own"])
def pair(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: postgres.Server
) -> Iterator[Pair]:
    """The owner's role drives its batches, so it may run jobs, too."""
    with pair_at(tmp_path, postgres_server) as made:
        if request.param:
            made.give_roles()
        reviewer = REVIEWER.replace("$WHERE", str(tmp_path / "where"))
        serves = {"owner": ["author"], "host": ["judge"]}
        made.begin_with_shell("010", author=AUTHOR, reviewer=reviewer, **serves)
        if request.param:
            made.admit_owner()
        yield made


def verdict(pair: Pair) -> Any:
    return pair.owner.task("010")["review"]


def test_its_verdicts_come_home_and_its_feedback(pair: Pair, tmp_path: Path) -> None:
    owner = pair.owner
    there, here = start_worker(pair.host), start_worker(owner)
    owner.sow("agent", "spawn", "010", "--clone")
    done = owner.sow("agent", "review", "010")
    assert done.out.startswith("010 corrections (review reviewer by judge, job 2"), done
    first = git(owner, "rev-parse", pair.branch_of("010")).strip()
    found = verdict(pair)
    assert (found["verdict"], found["commit"], found["job"]) == ("corrections", first, 2)
    assert (found["by"], found["summary"]) == ("reviewer", "No.")
    assert owner.task("010")["feedback"] == [{"file": "001.md", "status": "open"}]
    assert (owner.task_folder("010") / "feedback/001.md").read_text().strip() == "Say two."
    assert "action: Looked at it" in pair.log_of("010")
    job = owner.job(2)
    assert "changes outside of the task: " in job["warnings"][0]
    assert "notes.md" in job["warnings"][0]
    assert not (owner.task_folder("010") / "notes.md").exists()

    batch = owner.sow("batch", "run", "010", "--no-check", "--review", "--no-merge", expect=None)
    assert "1 done" in batch.out, (batch, here.log_text)
    assert (verdict(pair)["verdict"], verdict(pair)["summary"]) == ("accepted", "It says two.")
    assert git(owner, "show", f"{pair.branch_of('010')}:work.txt") == "one\ntwo\n"
    assert "evil" not in git(owner, "show", f"{pair.branch_of('010')}:code.txt")
    assert owner.task("010")["status"] == "completed"
    assert ("review", host_of(there)) in pair.ran()
    assert ("review", host_of(here)) not in pair.ran()
    guests = str(pair.host.base / "home/.local/state/sow")
    folders = (tmp_path / "where").read_text().splitlines()
    assert len(folders) == 2
    assert all(folder.startswith(guests) for folder in folders)
    assert not any(Path(folder).exists() for folder in folders), "they were thrown away"
