"""A review's throw-away clone: whoever makes or deletes one is killed; the second try is clean."""

import pytest
from clones.clone_site import plain
from clones.killed import killed_at, steps_of
from clones.making_site import Home, beside, commit, make_home

from sow.clones.locks import gone_path
from sow.clones.make import finish_clone
from sow.clones.mark import own_mark
from sow.clones.place import Place
from sow.clones.throw_away_clone import make_review_clone, remove_review_clone, review_place

STEPS = (
    "draft begun",
    "objects borrowed",
    "settings taken",
    "checked out",
    "files copied",
    "put in place",
)

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def home(tmp_path) -> Home:
    made = make_home(tmp_path, tasks=1)
    (made.top / ".env").write_text("KEY=1\n")
    made.make()
    return made


def place_of_review(home: Home) -> Place:
    return review_place(home.place(), 7)


def make(home: Home, judged: str, **more):
    place = place_of_review(home)
    return make_review_clone(place, home.repository, judged, copy=(".env",), **more)


def brought(home: Home) -> str:
    """Commit in the task's clone; return the commit, as far as it is in the main repository."""
    judged = commit(home.place().path, "work", "work\n")
    plain(home.top, "fetch", "-q", str(home.place().path), judged)
    return judged


def test_these_are_all_the_windows(home):
    judged = brought(home)
    assert steps_of(lambda step: make(home, judged, step=step)) == STEPS
    assert steps_of(lambda step: make(home, judged, step=step)) == STEPS, "it was not set up"
    finish_clone(place_of_review(home))
    assert steps_of(lambda step: make(home, judged, step=step)) == (), "its reviewer goes on in it"


@pytest.mark.parametrize("window", STEPS)
def test_a_kill_at_any_step_is_followed_by_a_clean_second_try(home, window):
    judged = brought(home)
    place = place_of_review(home)

    killed_at(window, lambda step: make(home, judged, step=step))

    assert place.path.exists() is (own_mark(place) is not None) is (window == "put in place")
    folder = make(home, judged)
    assert beside(place) == [".lock-010", ".review-7", "010"]
    assert plain(folder, "rev-parse", "HEAD") == judged
    assert ((folder / "work").read_text(), (folder / ".env").read_text()) == ("work\n", "KEY=1\n")
    assert not (folder / ".sow" / "project").exists()
    assert plain(folder, "status", "--porcelain") == ""
    for repository in (folder, home.top, home.place().path):
        plain(repository, "fsck", "--strict")


def test_a_removal_that_is_killed_is_completed_by_the_next(home):
    judged = brought(home)
    place = place_of_review(home)
    make(home, judged)
    place.path.rename(gone_path(place.path))  # as it lies while it is deleted
    remove_review_clone(place)
    make(home, judged)
    assert beside(place) == [".lock-010", ".review-7", "010"]
