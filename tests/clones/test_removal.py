"""A clone goes when nothing of it would be lost, or when somebody says so; nothing else goes."""

import os
import shutil
from contextlib import suppress

import pytest
from clones.clone_site import make_hostile, plain, traces
from clones.lost_work import repository
from clones.making_site import NOON, abandon, beside, bring, commit, make_home

from sow.clones.listing import removal_risks_of
from sow.clones.locks import LinkedFolder, draft_path, gone_path
from sow.clones.main_checkout import main_checkout
from sow.clones.removal import prune_clones, remove_clone
from sow.clones.throw_away_clone import remove_review_clone, review_place, sweep_reviews
from sow.errors import StateError
from sow.state.tasks import change_task, list_tasks

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def home(tmp_path):
    made = make_home(tmp_path).with_settings(copy=(".env",))
    (made.top / ".env").write_text("KEY=1\n")
    return made


def main_of(home):
    return main_checkout(home.workspace, home.settings)


def reasons(home, task="010"):
    return removal_risks_of(main_of(home), home.place(task)).reasons


def remove(home, task="010", **more):
    return remove_clone(main_of(home), home.place(task), **{"discard": False, **more})


def merge(home, task="010"):
    plain(home.top, "merge", "-q", "--no-edit", bring(home, task))


def complete(home, task="010"):
    change_task(home.workspace, task, lambda _: {"status": "completed"}, now=NOON)


def test_a_clone_in_which_nothing_was_done_can_go(home):
    home.make()
    path = home.place().path
    assert reasons(home) == ()
    assert remove(home).path == path
    assert not path.exists()
    assert not path.parent.exists()
    assert remove(home) is None


def test_uncommitted_work_stands_against_it(home):
    home.make()
    path = home.place().path
    (path / "file").write_text("changed\n")
    (path / "new").write_text("new\n")
    (path / "src/code.py").unlink()
    assert reasons(home) == ("uncommitted: file, new, src/code.py",)
    with pytest.raises(StateError, match="the clone of task") as caught:
        remove(home)
    assert "uncommitted: file, new, src/code.py" in caught.value.message
    assert "sow clone remove 010 --discard" in caught.value.hint
    assert (path / "new").exists()
    assert remove(home, discard=True).reasons == ("uncommitted: file, new, src/code.py",)
    assert not path.exists()


def test_no_name_of_what_would_be_lost_steers_a_terminal_or_begins_a_line(home):
    home.make()
    inner = home.place().path / "in\x1b]0;harm\x07\nner"
    repository(inner, "file")
    (home.place().path / "new\x1b[2J\ndone").write_text("new\n")
    shown = reasons(home)
    assert len(shown) == 2
    assert all(words.isprintable() for words in shown), shown


def test_work_hidden_in_the_clones_index_is_seen(home):
    home.make()
    path = home.place().path
    plain(path, "update-index", "--assume-unchanged", "file")
    (path / "file").write_text("hidden\n")
    assert plain(path, "status", "--porcelain") == ""
    assert reasons(home) == ("uncommitted: file",)


def test_commits_that_were_not_brought_stand_against_it_on_every_branch(home):
    home.make()
    place = home.place()
    tip = commit(place.path, "file", "work\n")
    plain(place.path, "checkout", "-q", "-b", "aside")
    commit(place.path, "file", "aside\n")
    plain(place.path, "checkout", "-q", place.branch)
    found = removal_risks_of(main_of(home), place)
    assert set(found.unbrought) == {"what is checked out", place.branch, "aside"}
    assert found.unmerged == tip
    merge(home)
    assert reasons(home) == ("not in the repository: aside",)


def test_stashes_and_tags_stand_against_it(home):
    home.make()
    path = home.place().path
    for text in ("first\n", "second\n"):
        (path / "file").write_text(text)
        plain(path, "stash", "-q")
    plain(path, "tag", "-a", "-m", "kept", "kept", "stash@{1}")
    plain(path, "pack-refs", "--all")
    found = removal_risks_of(main_of(home), home.place())
    stashes = [name for name in found.unbrought if name.startswith("stash ")]
    assert len(stashes) == 2
    assert {"stash", "tags/kept"} <= set(found.unbrought)


def test_brought_but_unmerged_work_stands_against_it_until_it_is_merged(home):
    home.make()
    tip = commit(home.place().path, "new", "work\n")
    assert bring(home) == tip
    assert reasons(home) == (f"not merged: {tip[:12]}",)
    with pytest.raises(StateError, match="the clone of task"):
        remove(home)
    merge(home)
    assert reasons(home) == ()
    remove(home)
    assert plain(home.top, "rev-parse", home.place().branch) == tip


def test_discarding_keeps_the_branch_and_the_clone_is_made_again_from_it(home):
    home.make()
    path = home.place().path
    tip = commit(path, "new", "work\n")
    bring(home)
    (path / "later").write_text("lost\n")
    remove(home, discard=True)
    assert home.make().is_new
    assert plain(path, "rev-parse", "HEAD") == tip
    assert not (path / "later").exists()


def test_nothing_of_a_hostile_clone_acts(home, tmp_path):
    home.make()
    place = home.place()

    class Site:
        clone = place.path

    folder = make_hostile(Site, tmp_path / "traps")
    (place.path / "a.txt").write_text("text\n")
    assert "a.txt" in reasons(home)[0]
    remove(home, discard=True)
    assert traces(folder) == []
    assert not place.path.exists()


@pytest.mark.parametrize("hostile", ["git is a link", "clone is a link", "git is a file", "no git"])
def test_a_clone_that_cannot_be_judged_stays_until_it_is_discarded(home, tmp_path, hostile):
    home.make()
    path = home.place().path
    kept = tmp_path / "kept"
    if hostile == "clone is a link":
        path.rename(kept)
        path.symlink_to(kept)
    else:
        (path / ".git").rename(kept)
        if hostile == "git is a link":
            (path / ".git").symlink_to(kept)
        elif hostile == "git is a file":
            (path / ".git").write_text(f"gitdir: {kept}\n")
    inside = sorted(kept.iterdir())
    with pytest.raises(StateError, match="cannot be checked"):
        remove(home)
    assert os.path.lexists(path)
    remove(home, discard=True)
    assert not os.path.lexists(path)
    assert sorted(kept.iterdir()) == inside


def test_a_job_at_work_in_a_clone_keeps_it(home):
    home.make()

    def ask(task):
        raise StateError(f"task {task} has a job")

    with pytest.raises(StateError, match="has a job"):
        remove(home, discard=True, ask=ask)
    complete(home)
    done = prune_clones(main_of(home), list_tasks(home.workspace), ask=ask)
    assert done.removed == done.kept == ()
    assert home.place().path.exists()


def test_pruning_takes_what_has_ended_and_is_merged(home):
    for task in ("010", "020", "030"):
        home.make(task)
    commit(home.place("010").path, "a", "merged\n")
    merge(home, "010")
    complete(home, "010")
    tip = commit(home.place("020").path, "b", "not merged\n")
    bring(home, "020")
    abandon(home.workspace, "020")
    tasks = list_tasks(home.workspace)

    dry = prune_clones(main_of(home), tasks, dry_run=True)
    assert home.place("010").path.exists()
    done = prune_clones(main_of(home), tasks)

    assert done == dry
    assert [each.task for each in done.removed] == ["010"]
    assert [(each.task, each.reasons) for each in done.kept] == [
        ("020", (f"not merged: {tip[:12]}",))
    ]
    assert not home.place("010").path.exists()
    assert home.place("020").path.exists()
    assert home.place("030").path.exists()


def test_pruning_takes_the_clones_of_tasks_that_are_gone_if_nothing_is_lost(home):
    home.make("020")
    home.make("030")
    paths = [home.place(task).path for task in ("020", "030")]
    commit(paths[1], "b", "work\n")
    gone = [task for task in list_tasks(home.workspace) if task.id == "010"]
    done = prune_clones(main_of(home), gone)
    assert [each.task for each in done.removed] == ["020"]
    assert [each.task for each in done.kept] == ["030"]
    assert [path.exists() for path in paths] == [False, True]


def test_pruning_sweeps_what_the_dead_have_left_and_nothing_of_the_living(home):
    from sow.clones.locks import locked_place

    home.make("010")
    dead, living = home.place("020"), home.place("030")
    for path in (draft_path(dead.path), gone_path(dead.path), draft_path(living.path)):
        (path / "deep").mkdir(parents=True)
    with locked_place(living):
        done = prune_clones(main_of(home), list_tasks(home.workspace))
    assert len(done.swept) == 2
    left = beside(home.place("010"))
    assert len([name for name in left if name.startswith(".draft-030")]) == 1
    assert [name for name in left if name.startswith((".draft-020", ".gone-020"))] == []
    assert "010" in left


@pytest.mark.parametrize("dry_run", [True, False])
def test_pruning_takes_what_reviews_that_are_over_have_left(home, dry_run):
    home.make()
    over, living = (review_place(home.place(), job).path for job in (7, 8))
    for path in (over, living, draft_path(over), gone_path(over), draft_path(living)):
        (path / "deep").mkdir(parents=True)
    before = [name for name in beside(home.place()) if "review" in name]
    done = prune_clones(
        main_of(home), list_tasks(home.workspace), dry_run=dry_run, is_live=lambda job: job == 8
    )
    assert {path.name.split("review-")[1][0] for path in done.swept} == {"7"}
    assert len(done.swept) == 3
    left = [name for name in before if dry_run or "review-7" not in name]
    assert [name for name in beside(home.place()) if "review" in name] == left
    assert living.exists()


def test_clones_of_another_project_and_another_checkout_are_left_alone(home, tmp_path):
    home.make()
    path = home.place().path
    shutil.copytree(path, path.parent.with_name("ffffffff") / "010", symlinks=True)
    stranger = path.parent.parent.with_name("a-shop-00000000") / path.parent.name / "020"
    shutil.copytree(path, stranger, symlinks=True)
    prune_clones(main_of(home), [])
    assert (path.parent.with_name("ffffffff") / "010").exists()
    assert stranger.exists()


@pytest.mark.parametrize("which", ["project", "checkout"])
def test_a_folder_of_clones_that_is_a_link_leads_nowhere(home, tmp_path, which):
    home.make()
    place = home.place()
    folder = place.path.parent if which == "project" else place.path.parent.parent
    precious = tmp_path / "precious"
    lying = precious / place.path.relative_to(folder)
    lying.mkdir(parents=True)
    (lying / "file").write_text("kept\n")
    review = lying.with_name(".review-7")
    review.mkdir()
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(precious)
    with pytest.raises(LinkedFolder, match="is a symbolic link"):
        remove(home, discard=True)
    with pytest.raises(LinkedFolder, match="is a symbolic link"):
        home.make()
    with pytest.raises(LinkedFolder, match="is a symbolic link"):
        remove_review_clone(review_place(place, 7))
    assert sweep_reviews(place.path.parent, lambda _: False) == []
    complete(home)
    main = main_of(home)
    with suppress(LinkedFolder):
        prune_clones(main, list_tasks(home.workspace))
    assert (lying / "file").read_text() == "kept\n"
    assert review.is_dir()
