"""Where a task's clone is, by sow's own record and by the task's state: which of them counts."""

import subprocess
from pathlib import Path

import pytest
from clones.making_site import NOON, Home, bring, commit, make_home

from sow.clone_mark import CloneMark
from sow.clones.judged import judged_change, judged_commit
from sow.clones.main_checkout import main_checkout
from sow.clones.record import forget_clone, note_clone, noted_clone, record_clone
from sow.errors import StateError
from sow.state.tasks import change_task, read_task

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path, tasks=1)


def noted(home: Home) -> CloneMark:
    """Make the clone of task 010, on both records."""
    mark = home.make().mark
    note_clone(home.repository, mark)
    record_clone(home.workspace, mark, now=NOON)
    return mark


def forge(home: Home, **fields: str) -> None:
    """Write another word on its clone into the state of task 010, as its author can."""
    clone = read_task(home.workspace, "010").clone
    forged = {name: fields.get(name, getattr(clone, name)) for name in ("path", "branch", "base")}
    change_task(home.workspace, "010", lambda _: {"clone": forged}, now=NOON)


def test_what_the_state_says_counts_for_nothing_beside_the_record(home: Home) -> None:
    mark = noted(home)
    place = home.place()
    later = commit(place.path, "file", "hidden\n")
    forge(home, path="/", branch="main", base=later)
    assert home.place() == place
    assert (place.branch, place.base) == (mark.branch, mark.base)


def test_without_a_record_the_state_counts(home: Home) -> None:
    mark = noted(home)
    place = home.place()
    forget_clone(home.repository, mark.project, "010")
    assert noted_clone(home.repository, mark.project, "010") is None
    assert home.place() == place


def test_a_record_that_is_damaged_is_none(home: Home) -> None:
    mark = noted(home)
    (path,) = (home.repository.git_dir / "sow/clones").rglob("*.json")
    for data in (b"", b"[1]", b'{"path": 1}', b"\xff"):
        path.write_bytes(data)
        assert noted_clone(home.repository, mark.project, "010") is None


def test_a_record_holds_any_names(home: Home) -> None:
    mark = noted(home)._replace(copied=("caf\udce9", "a b"))
    note_clone(home.repository, mark)
    found = noted_clone(home.repository, mark.project, "010")
    assert found is not None
    assert found.made_by_sow == mark.copied


def test_a_verdict_is_about_the_tasks_own_branch_whatever_its_author_names(home: Home) -> None:
    noted(home)
    forge(home, branch="main")
    with pytest.raises(StateError, match="cannot be reviewed:"):
        judged_commit(home.workspace, read_task(home.workspace, "010"))
    own = commit(home.place().path, "file", "mine\n")
    bring(home)
    assert judged_commit(home.workspace, read_task(home.workspace, "010")) == own


def test_a_branch_that_is_not_the_tasks_is_not_judged_without_a_record_either(home: Home) -> None:
    mark = noted(home)
    forget_clone(home.repository, mark.project, "010")
    forge(home, branch="main")
    with pytest.raises(StateError, match="cannot be reviewed:"):
        judged_commit(home.workspace, read_task(home.workspace, "010"))


def test_a_reader_is_shown_what_a_forged_base_would_hide(home: Home) -> None:
    noted(home)
    hidden = commit(home.place().path, "file", "hidden\n")
    own = commit(home.place().path, "src/code.py", "mine\n")
    bring(home)
    forge(home, base=hidden)
    change = judged_change(home.workspace, read_task(home.workspace, "010"), own)
    assert change.files == ("file", "src/code.py")


def test_the_record_of_a_checkout_that_was_copied_leads_to_no_clone_of_the_original(
    home: Home, tmp_path: Path
) -> None:
    noted(home)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(home.top), str(copy)], check=True)
    twin = Home(type(home.workspace)(copy), home.settings)
    assert twin.place().path != home.place().path
    assert twin.place().base == home.place().base
    assert main_checkout(twin.workspace, twin.settings).checkout not in str(home.place().path)
