"""What lies whole in a clone, and not in the repository, is taken up without a run."""

import time
from pathlib import Path

import pytest
from calls.batch_desk import begin, look
from calls.desk import Desk
from clones.clone_site import Site, name_author, plain, task_clone
from msgspec import UNSET
from msgspec.structs import replace

from sow.calls.batch_actions import Step, do
from sow.clones.bring_back import bring_back
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import Stage, mark_for, write_mark
from sow.clones.taken_up import NothingToTakeUp, is_untaken, take_up
from sow.ids import TaskId
from sow.jobs import jobs
from sow.schema.batch import Action, ItemState
from sow.schema.job import NOT_BROUGHT_BACK, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.tasks import change_task, read_task

pytestmark = pytest.mark.slow  # process after process


def ready(desk: Desk) -> tuple[Site, MainCheckout]:
    """Leave the work of a task in its whole clone, and nowhere else."""
    root = desk.workspace.root
    plain(root, "init", "-q", "-b", "main")
    name_author(root)
    (root / ".gitignore").write_text(".sow\n")
    plain(root, "add", ".gitignore")
    plain(root, "commit", "-q", "-m", "First")
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    site = task_clone(root)
    main = main_checkout(desk.workspace, known_settings(desk.workspace))
    place = main.place(read_task(desk.workspace, "010"))
    write_mark(place.path, mark_for(place, site.facts.base)._replace(stage=Stage.WHOLE))
    site.commit("made", "made\n")
    return site, main


def in_repository(site: Site) -> str:
    words = ("rev-parse", "--verify", "-q", f"refs/heads/{site.facts.branch}")
    return plain(site.main, *words, accepted=(0, 1))


def test_a_batch_takes_it_up_and_asks_nobody(desk: Desk) -> None:
    site, _ = ready(desk)
    work = begin(desk, merge=True)
    (found,) = look(work).standings
    assert (found.state, found.action) == (ItemState.CHECKING, Action.TAKE_UP)
    do(work, Step(TaskId("010"), Action.TAKE_UP, 1))
    assert in_repository(site) == site.tip
    (found,) = look(work).standings
    assert found.reason == "its work waits for your review"


def test_an_old_warning_does_not_outlive_what_healed_it(desk: Desk) -> None:
    site, _ = ready(desk)
    work = begin(desk, merge=True)
    job = desk.insert(verb=Verb.SPAWN, task_id="010", batch=work.batch.id, batch_step=1)
    warnings = (f"{NOT_BROUGHT_BACK}: git was ended by signal 9",)
    ended = {"state": JobState.DONE, "started_at": 1.0, "ended_at": 2.0}
    jobs.change_job(desk.database, job.id, warnings=warnings, **ended)
    bring_back(site.facts, site.repository)
    (found,) = look(work).standings
    assert found.reason == "its work waits for your review"


def test_what_was_not_committed_for_a_fault_is_committed_then(desk: Desk) -> None:
    site, main = ready(desk)
    task = read_task(desk.workspace, "010")
    bring_back(site.facts, site.repository)
    (site.clone / "more").write_text("more\n")
    assert not is_untaken(main, main.place(task), task, site.tip, was_prevented=False)
    assert is_untaken(main, main.place(task), task, site.tip, was_prevented=True)
    commit = take_up(main, task, now=time.time())
    assert commit == in_repository(site) == site.tip
    assert plain(site.main, "show", f"{commit}:more") == "more"
    assert not is_untaken(main, main.place(task), task, commit, was_prevented=True)


def test_what_cannot_be_taken_is_named_rather_than_tried_for_ever(desk: Desk) -> None:
    site, main = ready(desk)
    bring_back(site.facts, site.repository)
    inner = site.clone / "inner"
    inner.mkdir()
    plain(inner, "init", "-q")
    (inner / "file").write_text("x\n")
    with pytest.raises(NothingToTakeUp, match="inner"):
        take_up(main, read_task(desk.workspace, "010"), now=time.time())


def test_a_state_that_has_lost_its_clone_gets_it_back(desk: Desk) -> None:
    site, main = ready(desk)
    task = replace(read_task(desk.workspace, "010"), clone=UNSET)
    change_task(desk.workspace, "010", lambda _: {"clone": UNSET}, now=time.time())
    take_up(main, task, now=time.time())
    clone = read_task(desk.workspace, "010").clone
    assert clone is not UNSET
    assert Path(clone.path) == site.clone
