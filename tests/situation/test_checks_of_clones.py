"""What `sow next` makes of a check once somebody has committed in the task's clone by hand."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import make_desk
from clones.clone_site import plain
from situation.refusal_site import RefusalSite

from sow.config.checks import hash_of
from sow.jobs.database import open_queue
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.schema.task import CheckRecord, CommandResult, TaskStatus
from sow.state.transitions import moment

pytestmark = pytest.mark.slow

CHECK, REVIEW, RESUME = (
    "sow task check 010",
    "sow agent review 010",
    'sow agent resume 010 "<what the check has printed>"',
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RefusalSite]:
    """A project with one task, whose work is in its clone."""
    desk = make_desk(tmp_path, open_queue)
    desk.configure({"approve": "agents"})
    site = RefusalSite(desk)
    site.settings(checks={"unit": "true", "default": ["unit"]})
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    yield site
    desk.close()


def head(site: RefusalSite) -> str:
    return plain(site.place("010").path, "rev-parse", "HEAD").strip()


def commit(site: RefusalSite) -> None:
    """Commit something in the task's clone by hand."""
    plain(site.place("010").path, "commit", "-q", "--allow-empty", "-m", "By hand")


def checked(site: RefusalSite, *, passed: bool, name: str = "unit", **record: object) -> None:
    """Have a check of the task end as the task's last job."""
    ends = {"state": JobState.DONE if passed else JobState.FAILED, "settled": 1}
    cause = Cause.PASSED if passed else Cause.CHECK_FAILED
    terms = CheckTerms(names=("unit",))
    no_agent = {"agent": "", "executor": None}
    site.desk.insert(task_id="010", verb=Verb.CHECK, terms=terms, cause=cause, **no_agent, **ends)
    result = CommandResult(name=name, passed=passed, command=hash_of("true"))
    found = {"commit": head(site), "at": moment(time.time()), "results": [result], **record}
    site.desk.change("010", check=CheckRecord(passed=passed, **found))


def follows(site: RefusalSite) -> str:
    return site.first().partition(" --wait")[0]


def test_work_that_was_fixed_by_hand_after_a_red_check_is_checked_again(site: RefusalSite) -> None:
    checked(site, passed=False)
    assert follows(site) == RESUME
    commit(site)
    assert follows(site) == CHECK, "its agent would be asked to fix what is fixed"


def test_a_green_check_says_nothing_of_what_was_committed_by_hand_since(site: RefusalSite) -> None:
    checked(site, passed=True)
    assert follows(site) == REVIEW
    commit(site)
    assert follows(site) == CHECK, "a review costs more than a check"
    checked(site, passed=True)
    assert follows(site) == REVIEW, "though the repository does not have that commit yet"
    site.take(REVIEW)
    commit(site)
    assert follows(site) == CHECK, "the review came last"


def test_what_a_check_itself_has_committed_is_not_checked_again(site: RefusalSite) -> None:
    before = head(site)
    commit(site)
    checked(site, passed=True, commit=before, dirty=True)
    assert follows(site) == REVIEW
    checked(site, passed=True, commit=before, dirty=True, at=moment(time.time() - 60))
    assert follows(site) == CHECK, "it was committed a minute after the check"


def test_a_clone_beside_its_branch_is_not_checked_again_and_again(site: RefusalSite) -> None:
    plain(site.place("010").path, "checkout", "-q", "--detach", "HEAD~1")
    checked(site, passed=False, name="branch")
    assert follows(site) == REVIEW


def test_another_command_line_is_run_though_the_last_one_was_red(site: RefusalSite) -> None:
    checked(site, passed=False)
    site.settings(checks={"unit": "true # again", "default": ["unit"]})
    assert follows(site) == CHECK


def test_a_batch_checks_again_what_was_fixed_by_hand(site: RefusalSite) -> None:
    batch = {"clone": True, "check": True, "merge": True, "max_iterations": 1}
    site.settings(checks={"unit": "true", "default": ["unit"]}, batch=batch)
    clone = site.place("010").path
    (clone / "red").write_text("x")
    plain(clone, "add", "red")
    commit(site)
    site.run("batch", "run", "--detach")
    site.work_off()
    assert site.first().startswith('sow agent resume 010 "<your words>"')
    plain(clone, "rm", "-q", "red")
    commit(site)
    site.work_off()
    assert site.first().startswith("sow review accept 010"), "its agent has nothing to do"
