"""No call waits for a held job that only a command releases: it ends with 75 and names that."""

import os
import pty

import pytest
from journeys.callers import await_state, good
from journeys.gitsite import commit, make_repository
from journeys.site import Site
from journeys.test_merge import work

from sow.schema.job import JobState

SETTINGS = """\
checks: {unit: "true", default: [unit]}
clones: {setup: "true", merge_check: unit}
"""


@pytest.fixture
def held(site: Site) -> Site:
    """A repository of two tasks, the second of which is done, whose commands nobody accepted."""
    make_repository(site)
    site.project("010", "020")
    work(site, "020", "first.txt", "first\n")
    (site.root / ".sow/config.yaml").write_text(SETTINGS)
    commit(site, "settings")
    return site


PLACING = {
    "project check": "sow job wait 1",
    "task check 010": "sow agent wait 010",
    "agent spawn 010 --clone": "sow agent wait 010",
    "merge 020": "sow agent wait 020",
    "task check 010 --json": "sow agent wait 010 --json",
}


@pytest.mark.one_of
@pytest.mark.parametrize("call", PLACING)
def test_a_call_that_a_person_has_to_release_is_not_waited_for(held: Site, call: str) -> None:
    """There is no `--wait`, and it returns all the same."""
    leads_on = f"{PLACING[call]}  # before that a person has to, in a terminal: sow trust"
    left = held.sow(*call.split(), expect=75)
    assert "is held: the command lines in" in left.err
    if call.endswith("--json"):
        assert left.json["continue_with"] == f"sow trust && {PLACING[call]}"
    else:
        assert left.out.splitlines()[-1] == leads_on
    held.sow(*PLACING[call].split()[1:], expect=75)
    last = held.sow("job", "wait", "1", expect=75).out.splitlines()[-1]
    assert last == "sow job wait 1  # before that a person has to, in a terminal: sow trust"
    keyboard, screen = pty.openpty()
    with os.fdopen(keyboard), os.fdopen(screen) as terminal:
        at_desk = held.start("job", "wait", "1", stdin=terminal)
        assert at_desk.communicate(timeout=120)[0].endswith("\nsow trust && sow job wait 1\n")
    held.sow(*call.split(), expect=75)  # the same call finds the job, and does not wait either

    held.sow("trust", "--yes")
    held.sow("job", "wait", "1")


def test_a_review_that_a_person_has_to_release_is_not_waited_for(held: Site) -> None:
    held.script([good()], task="010")
    settings = held.root / ".sow/config.yaml"
    settings.write_text("clones: {use: always}\n")
    commit(held, "settings")
    held.sow("agent", "spawn", "010")
    settings.write_text(SETTINGS)
    commit(held, "settings")
    left = held.sow("agent", "review", "010", expect=75)
    assert left.out.splitlines()[-1].endswith("a person has to, in a terminal: sow trust")


def test_a_job_that_waits_in_vain_for_a_task_is_not_waited_for(site: Site) -> None:
    site.project("010", "020")
    site.sow("task", "set", "020", "depends_on", "010")
    site.sow("task", "abandon", "010")
    left = site.sow("agent", "spawn", "020", "--when-ready", expect=75)
    assert "task 010 needs your help first" in left.err
    assert left.out.splitlines()[-1] == "sow task reopen 010 && sow agent wait 020"


def test_a_job_that_another_call_may_release_is_waited_for(site: Site) -> None:
    site.project("010", "020")
    site.sow("task", "set", "020", "depends_on", "010")
    caller = site.start("agent", "spawn", "020", "--when-ready")
    await_state(site, "020", JobState.HELD)
    site.sow("task", "set", "010", "status", "in_progress")
    site.sow("task", "set", "010", "status", "completed")
    out, err = caller.communicate(timeout=240)
    assert caller.returncode == 0, (out, err)


NAMED = "not accepted (checks.unit, clones.setup); jobs that need them are held: `sow trust`"


def test_what_nobody_has_accepted_is_named_before_a_job_is_held(held: Site) -> None:
    held.script([good(), good()], task="010")
    assert "sow trust  # jobs that need a command line" in held.sow("next").out
    assert NAMED in held.sow("agent", "spawn", "implementer", "010").err
    assert NAMED not in held.sow("agent", "resume", "010", "More.").err
    held.sow("task", "add", "More", "--agent", "implementer")
    assert "sow trust" in held.sow("next").out
    held.sow("trust", "--yes")
    assert "sow trust" not in held.sow("next").out


def test_a_batch_that_is_the_first_work_of_a_checkout_names_it_too(held: Site) -> None:
    held.script([good()], task="010")
    assert NAMED in held.sow("batch", "run", "--detach").err
    assert NAMED not in held.sow("batch", "run", "--detach").err
    assert NAMED not in held.sow("batch", "run", "010", "--name", "b", expect=4).err
