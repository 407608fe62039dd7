"""What was committed in a clone since its branch was brought back: it is what is judged."""

import pytest
from calls.desk import Desk
from calls.test_taken_up import in_repository, ready
from clones.clone_site import Site, plain
from reports.job_cases import NOW

from sow.calls.caller import Caller
from sow.calls.judging import judgement_of
from sow.calls.kinds import place
from sow.calls.request import Placed, Request
from sow.clones.bring_back import BranchInTheWay, bring_back
from sow.clones.newer_commits import CannotReview, uncommitted_work
from sow.errors import StateError
from sow.ids import TaskId
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import CheckRecord, CommandResult
from sow.state.transitions import moment

TASK = TaskId("010")
pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(desk: Desk) -> Site:
    """A task whose agent's work was brought back, and a newer commit in its clone."""
    made, _ = ready(desk)
    bring_back(made.facts, made.repository)
    made.commit("AGENTS.md", "By hand.\n")
    return made


def accepted(caller: Caller) -> str | None:
    return judgement_of(caller, TASK, "Good.", at_terminal=True).commit


def checked(desk: Desk, site: Site, *, dirty: bool) -> None:
    """Put a check of the clone's last commit on record."""
    unit = CommandResult(name="unit", passed=True)
    record = CheckRecord(passed=True, commit=site.tip, dirty=dirty, at=moment(NOW), results=[unit])
    desk.change("010", check=record)


def test_the_newer_commit_is_brought_and_judged(desk: Desk, site: Site) -> None:
    judgement = judgement_of(desk.caller, TASK, "Good.", at_terminal=True)
    assert judgement.commit == site.tip == in_repository(site)
    assert judgement.steers == ["AGENTS.md"], "what it is told to look at is of that commit"


def test_a_commit_that_was_taken_back_is_not_judged(desk: Desk, site: Site) -> None:
    assert accepted(desk.caller) == site.tip
    plain(site.clone, "reset", "-q", "--hard", "HEAD~1")
    assert accepted(desk.caller) == site.tip == in_repository(site)


def test_what_is_not_committed_is_named_and_nothing_is_brought(desk: Desk, site: Site) -> None:
    before = in_repository(site)
    (site.clone / "left").write_text("left\n")
    with pytest.raises(CannotReview, match=r"cannot be reviewed: .* not committed: left") as caught:
        accepted(desk.caller)
    assert (caught.value.paths, in_repository(site)) == (("left",), before)
    site.commit("left", "left\n")
    assert accepted(desk.caller) == site.tip


@pytest.mark.parametrize("dirty", [False, True])
def test_what_a_check_of_that_commit_has_left_is_in_nobodys_way(
    desk: Desk, site: Site, *, dirty: bool
) -> None:
    checked(desk, site, dirty=dirty)
    (site.clone / "report.xml").write_text("<report/>\n")
    named = ("report.xml",) if dirty else ()
    assert uncommitted_work(desk.workspace, desk.read("010")) == named
    if dirty:
        with pytest.raises(CannotReview, match=r"report\.xml"):
            accepted(desk.caller)
        return
    assert accepted(desk.caller) == site.tip
    plain(site.clone, "commit", "-q", "--allow-empty", "-m", "After the check")
    with pytest.raises(CannotReview, match=r"report\.xml"):
        accepted(desk.caller)


def test_another_branch_that_is_checked_out_is_named(desk: Desk, site: Site) -> None:
    checked(desk, site, dirty=False)
    plain(site.clone, "switch", "-q", "-c", "mine")
    with pytest.raises(CannotReview, match="mine is checked out there"):
        accepted(desk.caller)


def test_somebodys_commit_in_the_repository_is_not_lost(desk: Desk, site: Site) -> None:
    tree = plain(site.main, "rev-parse", "HEAD^{tree}")
    own = plain(site.main, "commit-tree", tree, "-p", "HEAD", "-m", "Somebody's")
    plain(site.main, "update-ref", f"refs/heads/{site.facts.branch}", own)
    with pytest.raises(BranchInTheWay):
        accepted(desk.caller)
    assert in_repository(site) == own


def test_a_branch_that_nobody_has_brought_is_no_newer_work(desk: Desk) -> None:
    made, _ = ready(desk)
    with pytest.raises(StateError, match="cannot be reviewed"):
        accepted(desk.caller)
    assert in_repository(made) == ""


def test_a_reviewer_judges_what_it_was_given(desk: Desk, site: Site) -> None:
    given = in_repository(site)
    terms = ReviewTerms(commit=given)
    job = desk.insert(task_id=TASK, verb=Verb.REVIEW, state=JobState.RUNNING, terms=terms)
    assert accepted(desk.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="reviewer")) == given
    assert in_repository(site) == given


def reviewed(desk: Desk) -> Placed:
    desk.program("claude")
    return place(desk.caller, desk.database, desk.config, Request(Verb.REVIEW, TASK))


def test_a_review_is_of_the_newer_commit_and_stays_the_same_job(desk: Desk, site: Site) -> None:
    first = reviewed(desk)
    assert first.job.terms == ReviewTerms(commit=site.tip)
    tip = site.tip
    plain(site.clone, "commit", "-q", "--allow-empty", "-m", "During the review")
    assert reviewed(desk) == Placed(first.job, attached=True)
    assert in_repository(site) == tip
