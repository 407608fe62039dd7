"""What lies in a clone and nowhere else keeps it, whatever form it has, and is named."""

import os
import shutil
from random import Random

import pytest
from clones.clone_site import make_hostile, plain, traces
from clones.lost_work import FORMS, add_submodule, initialise, repository
from clones.making_site import abandon, bring, commit, make_home
from proving import drawn

from sow.clones.listing import removal_risks_of
from sow.clones.made_by_setup import ready_clone
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import own_mark
from sow.clones.record import note_clone
from sow.clones.removal import prune_clones, remove_clone
from sow.errors import StateError
from sow.git.view import View
from sow.state.tasks import list_tasks

pytestmark = pytest.mark.slow  # process after process
ALONE = ("-c", "fetch.recurseSubmodules=false")
ANSWER = View.answer


@pytest.fixture
def home(tmp_path):
    """Return a repository with a submodule, and a clone in which a task has done its work."""
    made = make_home(tmp_path)
    add_submodule(made.top, repository(tmp_path / "library", "lib.txt"))
    made.make()
    return made


def main_of(home):
    return main_checkout(home.workspace, home.settings)


def merge(home):
    plain(home.top, "merge", "-q", "--no-edit", bring(home, words=ALONE))


@pytest.mark.few(7)
@pytest.mark.parametrize("form", FORMS)
def test_work_of_every_form_keeps_the_clone_and_is_named(home, form):
    path = home.place().path
    commit(path, "new", "work\n")
    words = FORMS[form](path)
    merge(home)
    before = plain(path, "for-each-ref")
    with pytest.raises(StateError, match="the clone of task") as caught:
        remove_clone(main_of(home), home.place(), discard=False)
    assert words in caught.value.message
    assert "--discard" in caught.value.hint
    abandon(home.workspace, "010")
    done = prune_clones(main_of(home), list_tasks(home.workspace))
    assert [each.task for each in done.kept] == ["010"]
    assert any(words in reason for reason in done.kept[0].reasons)
    assert plain(path, "for-each-ref") == before
    gone = remove_clone(main_of(home), home.place(), discard=True)
    assert any(words in reason for reason in gone.reasons)
    assert not path.exists()


def test_what_was_pushed_or_is_in_the_projects_own_submodule_is_kept(home, tmp_path):
    path = home.place().path
    lib = initialise(path)
    pushed = commit(lib, "lib.txt", "pushed\n")
    plain(lib, "push", "-q", "origin", "HEAD:refs/heads/from-the-task")
    fetched = commit(lib, "lib.txt", "fetched\n")
    assert removal_risks_of(main_of(home), home.place()).losses
    plain(home.top / "lib", "fetch", "-q", str(lib), f"{fetched}:refs/heads/kept")
    plain(path, "checkout", "-q", "--", ".")
    found = removal_risks_of(main_of(home), home.place())
    assert [work.files or work.commits for work in found.inventory.inner] == []
    assert pushed != fetched


def test_what_was_amended_rebased_or_squashed_keeps_no_clone(home):
    path = home.place().path
    commit(path, "new", "first\n")
    (path / "new").write_text("better\n")
    plain(path, "commit", "-q", "-a", "--amend", "-m", "Better")
    for text in ("a\n", "b\n"):
        commit(path, "more", text)
    plain(path, "reset", "-q", "--soft", "HEAD~2")
    plain(path, "commit", "-q", "-m", "Both")
    merge(home)
    assert removal_risks_of(main_of(home), home.place()).reasons == ()


def test_commits_that_were_reset_and_ignored_files_are_told_and_keep_no_clone(home):
    path = home.place().path
    gone = commit(path, "bad", "bad\n")
    plain(path, "reset", "-q", "--hard", "HEAD^")
    (path / "out.local").mkdir()
    for name in ("one", "two"):
        (path / "out.local" / name).write_text(name)
    (path / "note.local").write_text("note\n")
    found = removal_risks_of(main_of(home), home.place())
    assert found.reasons == ()
    assert found.goes_along == (
        "ignored files: note.local, out.local/ (2 files)",
        f"commits that were reset: {gone[:12]}",
    )


def staged_and_replaced(top):
    """Stage a file that is changed afterwards, and one that is removed; and stage a change."""
    for name in ("replaced", "removed", "staged"):
        (top / name).write_text("staged\n")
        plain(top, "add", name)
    (top / "replaced").write_text("better\n")
    (top / "removed").unlink()


def test_a_version_in_the_index_alone_is_told_and_keeps_no_clone(home):
    path = home.place().path
    inner = repository(path / "box.local")
    plain(path, "worktree", "add", "-q", "tree.local")
    for top in (path, inner, path / "tree.local"):
        staged_and_replaced(top)
        for name in ("replaced", "staged"):
            (top / name).unlink()
    plain(path, "config", "core.fsmonitor", "false")
    found = removal_risks_of(main_of(home), home.place())
    assert found.uncommitted == ()
    assert [work.files for work in found.inventory.inner if work.files] == []
    names = ["removed", "replaced", "staged"]
    below = [f"{top}/{name}" for top in ("box.local", "tree.local") for name in names]
    assert sorted(found.inventory.staged) == sorted([*names, *below])
    (reason,) = (words for words in found.goes_along if words.startswith("staged"))
    assert reason.startswith("staged versions that are in no file: removed, replaced, staged")


def test_a_staged_file_that_is_there_or_was_committed_is_not_told_twice(home):
    path = home.place().path
    staged_and_replaced(path)
    plain(path, "mv", "file", "renamed")
    found = removal_risks_of(main_of(home), home.place())
    assert found.inventory.staged == ("removed", "replaced")
    assert {"replaced", "staged", "renamed"} <= set(found.uncommitted)


def test_a_version_in_a_split_index_is_told(home):
    path = home.place().path
    plain(path, "update-index", "--split-index")
    staged_and_replaced(path)
    assert removal_risks_of(main_of(home), home.place()).inventory.staged == ("removed", "replaced")


def test_many_staged_files_are_looked_at_together(home, monkeypatch):
    """An agent stages all that a generator has made, say."""
    path = home.place().path
    for number in range(300):
        (path / f"made-{number}").write_text("made\n")
    plain(path, "add", ".")
    asked = []

    def answer(view, *words, **more):
        asked.append(words)
        return ANSWER(view, *words, **more)

    monkeypatch.setattr(View, "answer", answer)
    assert len(removal_risks_of(main_of(home), home.place()).uncommitted) == 300
    assert len(asked) < 100


def test_a_commit_before_a_reset_is_named_where_no_reflog_is_kept(home):
    path = home.place().path
    plain(path, "config", "core.logAllRefUpdates", "false")
    shutil.rmtree(path / ".git" / "logs")
    gone = commit(path, "bad", "bad\n")
    plain(path, "reset", "-q", "--hard", "HEAD^")
    found = removal_risks_of(main_of(home), home.place())
    assert (found.reasons, found.goes_along) == ((), (f"commits that were reset: {gone[:12]}",))


def test_a_damaged_index_hides_nothing_else(home):
    path = home.place().path
    (path / ".git" / "index").write_bytes(b"DIRC damaged")
    (path / "fresh").write_text("fresh\n")
    found = removal_risks_of(main_of(home), home.place())
    assert (found.uncommitted, found.inventory.staged) == (("fresh",), ())


def test_nothing_of_a_hostile_repository_within_acts(home, tmp_path):
    path = home.place().path
    inner = repository(path / "evil.local")

    class Site:
        clone = inner

    folder = make_hostile(Site, tmp_path / "traps")
    (inner / "a.txt").write_text("text\n")
    assert "evil.local/a.txt" in removal_risks_of(main_of(home), home.place()).reasons[0]
    assert traces(folder) == []


def test_a_bare_repository_that_the_commit_has_as_files_is_a_part_of_the_work(home):
    """So projects keep repositories that their tests need."""
    path = home.place().path
    fixture = path / "tests" / "data.git"
    plain(path, "clone", "-q", "--bare", str(repository(path.parent / "source")), str(fixture))
    for hook in (fixture / "hooks").iterdir():
        hook.unlink()
    for empty in ("refs/heads", "refs/tags", "objects/info"):
        (fixture / empty / "keep").write_text("")
    plain(path, "add", "-f", "tests")
    plain(path, "commit", "-q", "-m", "A repository for tests")
    merge(home)
    assert removal_risks_of(main_of(home), home.place()).reasons == ()


def test_more_repositories_than_are_looked_at_keep_the_clone(home, monkeypatch):
    monkeypatch.setattr("sow.clones.inventory.MOST_REPOSITORIES", 2)
    path = home.place().path
    for number in range(3):
        repository(path / f"many.local/{number}")
    reasons = removal_risks_of(main_of(home), home.place()).reasons
    assert "3 repositories are in it, and 1 of them were not checked" in reasons[0]


def test_a_commit_that_a_branch_names_is_kept_if_it_is_there(home, monkeypatch):
    path, place = home.place().path, home.place()
    made = commit(path, "new", "work\n")
    bring(home)
    asked = []
    answer = View.answer

    def noting(view, *words, **more):
        asked.append((view.folder, words[0]))
        return answer(view, *words, **more)

    monkeypatch.setattr(View, "answer", noting)
    assert removal_risks_of(main_of(home), place).unbrought == ()
    assert (home.top, "rev-list") not in asked
    there = home.top / ".git/objects" / made[:2] / made[2:]
    there.unlink(missing_ok=True)
    for pack in (home.top / ".git/objects/pack").iterdir():
        pack.unlink()
    assert removal_risks_of(main_of(home), place).unbrought != ()


def results(path):
    for name in ("out.local/a.csv", "out.local/deep/b.csv", "cache.local", "new"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    (path / "out.local/link").symlink_to("/etc/passwd")
    plain(path, "add", "new")
    plain(path, "commit", "-q", "-m", "Work")


def test_results_that_are_asked_for_are_kept_and_the_others_are_named(home):
    home = home.with_settings(keep=("out.local/",))
    place = home.place()
    results(place.path)
    merge(home)
    gone = remove_clone(main_of(home), place, discard=False)
    kept = place.path.with_name("kept") / "010"
    assert not place.path.exists()
    assert gone.kept.folder == kept
    assert (kept / "out.local/deep/b.csv").read_text() == "out.local/deep/b.csv"
    assert (kept / "out.local/link").is_symlink()
    assert gone.goes_along == ("ignored files: cache.local",)


def test_results_of_an_earlier_clone_are_not_overwritten(home):
    home = home.with_settings(keep=("out.local",))
    for text in ("first", "second"):
        home.make()
        path = home.place().path
        (path / "out.local").write_text(text)
        remove_clone(main_of(home), home.place(), discard=False)
    kept = path.with_name("kept")
    assert (kept / "010/out.local").read_text() == "first"
    assert (kept / "010.2/out.local").read_text() == "second"


@pytest.mark.parametrize("earlier", ["a file", "a link"])
def test_a_result_with_the_name_of_an_earlier_folder_is_in_nobodys_way(home, tmp_path, earlier):
    """The clone could not be removed, however often it was tried."""
    home = home.with_settings(keep=("res.local",))
    if earlier == "a file":
        (home.place().path / "res.local").write_text("first\n")
    else:
        (home.place().path / "res.local").symlink_to(tmp_path)
    merge(home)
    first = remove_clone(main_of(home), home.place(), discard=False)
    home.make()
    (home.place().path / "res.local").mkdir()
    (home.place().path / "res.local" / "fresh").write_text("second\n")
    second = remove_clone(main_of(home), home.place(), discard=False)
    assert second.kept.folder == first.kept.folder.with_name("010.2")
    assert (second.kept.folder / "res.local/fresh").read_text() == "second\n"
    assert os.path.lexists(first.kept.folder / "res.local")
    assert not (tmp_path / "fresh").exists()


def test_what_the_setup_has_made_is_nobodys_work_and_what_came_since_is(home):
    home.make("020")
    place, main = home.place("020"), home.repository
    repository(place.path / "vendor.local" / "tool")
    (place.path / "vendor.local" / "list").write_text("list\n")
    note_clone(main, own_mark(place), ready_clone(place, main))

    def found():
        return removal_risks_of(main_of(home), place)

    assert (found().reasons, found().goes_along) == ((), ())
    commit(place.path / "vendor.local" / "tool", "mine", "mine\n")
    (place.path / "vendor.local" / "mine").write_text("mine\n")
    assert found().reasons == (
        "commits that only vendor.local/tool has: main, what is checked out",
    )
    assert found().goes_along == ("ignored files: vendor.local/mine",)


APART = {"submodule_removed_again", "file_in_an_empty_submodule"}
"""Forms that do away with what others have made, or need that it is not there."""


@pytest.mark.parametrize("seed", drawn(7, 2024, 31, 8))
def test_whatever_a_clone_holds_no_removal_loses_what_it_does_not_name(home, seed):
    path = home.place().path
    commit(path, "new", "work\n")
    chosen = Random(seed).sample([form for form in FORMS if form not in APART], k=9)
    words = {form: FORMS[form](path) for form in FORMS if form in chosen}
    merge(home)
    found = removal_risks_of(main_of(home), home.place())
    named = "; ".join(found.losses_named(1000))
    for form, expected in words.items():
        assert all(name in named for name in expected.rpartition(": ")[2].split(", ")), form
    with pytest.raises(StateError, match="the clone of task"):
        remove_clone(main_of(home), home.place(), discard=False)
    abandon(home.workspace, "010")
    assert prune_clones(main_of(home), list_tasks(home.workspace)).removed == ()
    assert removal_risks_of(main_of(home), home.place()) == found
    assert remove_clone(main_of(home), home.place(), discard=True).reasons == found.reasons
