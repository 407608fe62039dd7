"""A task's own commits are made anew on the project's branch, and come to what a merge comes to."""

import pytest
from clones.clone_site import plain
from clones.killed import killed_at
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site
from clones.test_merge_tasks import STEPS, status
from proving import drawn

from sow.clones.merge_tasks import MergeConflict
from sow.clones.merging import NotOneByOne
from sow.clones.update import update_clone
from sow.schema.job_terms import MergeWay
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process

CUT = "# ------------------------ >8 ------------------------"


@pytest.fixture
def site(tmp_path) -> MergeSite:
    return make_merge_site(tmp_path)


def rebase(site: MergeSite, *tasks: str, **more):
    return site.merge(*tasks, way=MergeWay.REBASE, **more)


def lines(site: MergeSite, count: int, form: str) -> list[str]:
    words = ("log", "--first-parent", f"--max-count={count}", f"--format={form}", "main")
    return plain(site.top, *words).splitlines()


def update(site: MergeSite, task: str = "010"):
    place = site.home.place(task)
    return update_clone(place, site.home.repository, "main")


def test_a_tasks_commits_stand_in_line_and_the_last_one_is_remembered(site):
    clone = site.clone()
    plain(clone, "config", "user.name", "An Agent")
    plain(clone, "config", "user.email", "agent@example.org")
    first = commit(clone, "a", "a\n", "Add a\n\nBecause it was missing.\n")
    made = site.work("b", "b\n")
    theirs = commit(site.top, "theirs", "x\n")

    done = rebase(site)

    assert site.subjects() == ["Work on 010", "Add a", "More", "First"]
    assert lines(site, 1, "%P") == [plain(site.top, "rev-parse", "main~1")]
    assert plain(site.top, "rev-parse", "main~2") == theirs
    assert plain(site.top, "log", "-1", "--format=%an <%ae>|%cn", "main~1") == (
        "An Agent <agent@example.org>|A Person"
    )
    date = ("log", "-1", "--format=%ad", "--date=raw")
    assert plain(site.top, *date, "main~1") == plain(site.top, *date, first)
    assert plain(site.top, "log", "-1", "--format=%B", "main~1").splitlines() == [
        "Add a",
        "",
        "Because it was missing.",
        "",
        f"Sow-Task: {site.branch().removeprefix('sow/')}",
        f"Sow-Commit: {first}",
    ]
    merged = site.task().merged
    assert (merged.commit, merged.result, done.commit) == (made, site.tip(), site.tip())
    assert site.task().status is TaskStatus.COMPLETED
    assert ((site.top / "a").read_text(), (site.top / "b").read_text()) == ("a\n", "b\n")
    assert status(site) == ""
    assert not site.home.place().path.exists(), "merged: nothing is lost with it"
    assert plain(site.top, "fsck", "--no-dangling") == ""


def test_rebasing_again_changes_nothing(site):
    site.work("a", "a\n")
    rebase(site)
    before = site.tip()
    rebase(site)
    site.merge()
    assert site.tip() == before


def test_further_work_is_made_anew_alone(site):
    site.work("file", "one\n2\nthree\n")
    (site.home.place().path / "untaken").write_text("the clone stays\n")
    rebase(site)
    site.work("file", "one\n2 and more\nthree\n")
    rebase(site)
    assert site.subjects() == ["Work on 010", "Work on 010", "First"]
    assert (site.top / "file").read_text() == "one\n2 and more\nthree\n"
    commit(site.top, "theirs", "x\n", "Theirs")
    place = site.home.place()
    (place.path / "untaken").unlink()
    assert update(site).conflicts == ()
    site.work("b", "b\n")
    rebase(site)
    assert site.subjects()[:2] == ["Work on 010", "Theirs"], "the earlier ones are had"


@pytest.mark.parametrize("way", [MergeWay.MERGE, MergeWay.SQUASH])
def test_further_work_after_another_way(site, way):
    site.work("file", "one\n2\nthree\n")
    (site.home.place().path / "untaken").write_text("the clone stays\n")
    site.merge(way=way)
    site.work("file", "one\n2 and more\nthree\n")
    rebase(site)
    assert site.subjects()[0] == "Work on 010"
    assert len(site.subjects()) == 3
    assert (site.top / "file").read_text() == "one\n2 and more\nthree\n"


@pytest.mark.one_of
@pytest.mark.parametrize("way", MergeWay)
def test_one_that_depends_on_another_brings_its_own_alone(site, way):
    site.work("file", "one\n2\nthree\n", "020")
    base = site.home.place("020").path
    site.clone("010")
    clone = site.home.place("010").path
    plain(clone, "pull", "-q", "--no-rebase", str(base), site.branch("020"))
    site.work("b", "b\n", "010", depends_on=["020"])
    site.merge("020", way=way)
    commit(site.top, "theirs", "x\n", "Theirs")
    rebase(site, "010")
    assert site.subjects()[:2] == ["Work on 010", "Theirs"]


def test_several_are_made_anew_one_upon_the_other(site):
    site.work("a", "a\n", "020")
    site.work("b", "b\n", "010", depends_on=["020"])
    rebase(site, "010", "020")
    assert site.subjects() == ["Work on 010", "Work on 020", "First"]
    for task, result in (("020", "main~1"), ("010", "main")):
        assert site.task(task).merged.result == plain(site.top, "rev-parse", result)


def test_a_merge_of_the_projects_branch_is_left_out(site):
    site.work("a", "a\n")
    commit(site.top, "theirs", "x\n", "Theirs")
    update(site)
    made = site.work("b", "b\n")
    rebase(site)
    assert site.subjects() == ["Work on 010", "Work on 010", "Theirs", "First"]
    assert site.task().merged.commit == made
    assert not site.home.place().path.exists()


def test_a_task_that_ends_with_a_merge_is_remembered_by_its_last_commit(site):
    site.work("a", "a\n")
    commit(site.top, "theirs", "x\n", "Theirs")
    last = update(site).commit
    rebase(site)
    assert site.subjects() == ["Work on 010", "Theirs", "First"]
    assert lines(site, 1, "%(trailers:key=Sow-Commit,valueonly)")[0] == last
    before = site.tip()
    rebase(site)
    assert site.tip() == before


def test_what_brings_nothing_is_left_out_and_a_task_of_nothing_is_remembered(site):
    clone = site.clone()
    plain(clone, "commit", "-q", "--allow-empty", "-m", "Empty")
    made = site.work(".sow/project/state.yaml", "mine: {}\n")
    before = plain(site.top, "rev-parse", "main^{tree}")
    rebase(site)
    assert site.subjects() == ["Task 0", "First"]
    assert plain(site.top, "rev-parse", "main^{tree}") == before
    assert site.task().merged.commit == made


def test_a_conflict_is_told_as_that_of_a_merge(site):
    site.work("file", "mine\n")
    before = commit(site.top, "file", "theirs\n")
    with pytest.raises(MergeConflict):
        rebase(site)
    assert site.tip() == before


def test_a_conflict_that_a_merge_has_solved_is_no_series(site):
    site.work("file", "one\nmine\nthree\n")
    commit(site.top, "file", "one\ntheirs\nthree\n")
    assert update(site).conflicts == ("file",)
    before = site.tip()
    site.work("file", "one\nboth\nthree\n")
    with pytest.raises(NotOneByOne, match=r"Work on 010.* does not apply on its own") as refused:
        rebase(site)
    assert "sow merge 010 --squash" in refused.value.hint
    assert site.tip() == before
    site.merge(way=MergeWay.SQUASH)
    assert (site.top / "file").read_text() == "one\nboth\nthree\n"


def test_what_only_a_merge_holds_is_not_lost(site):
    """Made anew one by one, a task comes to the files that were judged, or it is refused."""
    site.work("a", "a\n")
    commit(site.top, "theirs", "x\n")
    update(site)
    place = site.home.place().path
    (place / "slipped").write_text("x\n")
    plain(place, "add", "slipped")
    plain(place, "commit", "-q", "--amend", "--no-edit")
    with pytest.raises(NotOneByOne, match="other files than its merge"):
        rebase(site)


def test_a_series_without_a_parent(site):
    """An agent can begin anew."""
    clone = site.clone()
    plain(clone, "checkout", "-q", "--orphan", "new")
    made = commit(clone, "a", "a\n", "Anew")
    plain(clone, "branch", "-f", site.branch(), made)
    plain(clone, "checkout", "-q", site.branch())
    site.change(status=TaskStatus.COMPLETED)
    rebase(site)
    assert site.subjects()[0] == "Anew"
    assert plain(site.top, "show", "main:a") == "a"


def test_an_agents_message_makes_no_other_task_merged(site):
    other = site.work("other", "x\n", "020")
    branch = site.branch("020").removeprefix("sow/")
    forged = f"Sow-Task: {branch}\nSow-Commit: {other}\n"
    clone = site.clone("010")
    for number, text in enumerate((forged, f" {forged.upper()}", f"{forged}{CUT}\n")):
        commit(clone, f"a{number}", "a\n", f"Innocent\n\n{text}")
    site.change("010", status=TaskStatus.COMPLETED)
    rebase(site, "010")
    assert f"Sow-Commit: {other}" not in plain(site.top, "log", "--format=%B", "main")
    marks = plain(site.top, "log", "--format=%(trailers:key=Sow-Task,valueonly)", "main").split()
    assert marks == [site.branch("010").removeprefix("sow/")] * 3
    site.merge("020")
    assert (site.top / "other").exists()


def test_an_author_without_a_name_and_words_in_another_encoding(site):
    clone = site.clone()
    plain(clone, "config", "i18n.commitEncoding", "ISO-8859-1")
    (clone / "a").write_text("a\n")
    plain(clone, "add", "a")
    tree = plain(clone, "write-tree")
    raw = (
        f"tree {tree}\nparent {plain(clone, 'rev-parse', 'HEAD')}\n"
        "author  <> 1700000000 +0130\ncommitter  <> 1700000000 +0130\n"
        "encoding ISO-8859-1\n\nGrün\n"
    ).encode("latin-1")
    name = plain(clone, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)
    plain(clone, "reset", "-q", "--hard", name)
    site.change(status=TaskStatus.COMPLETED)
    rebase(site)
    assert lines(site, 1, "%s|%an|%ad") == ["Grün|A Person|Tue Nov 14 23:43:20 2023 +0130"]


@pytest.mark.parametrize("window", drawn(*STEPS))
def test_killed_after_each_step(site, window):
    site.accept(site.work("new", "new\n", "010"), "010")
    site.work("file", "two\n", "020")
    commit(site.top, "theirs", "x\n", "Theirs")

    killed_at(window, lambda step: rebase(site, "010", "020", step=step))
    rebase(site, "010", "020")

    assert site.subjects() == ["Work on 020", "Work on 010", "Theirs", "First"]
    assert status(site) == ""
    assert plain(site.top, "fsck", "--no-dangling") == ""
    for task, result in (("010", "main~1"), ("020", "main")):
        assert site.task(task).status is TaskStatus.COMPLETED
        assert site.task(task).merged.result == plain(site.top, "rev-parse", result)
        assert not site.home.place(task).path.exists()
