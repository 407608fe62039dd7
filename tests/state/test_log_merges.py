"""Two branches that have both added to a log, merged by git with `merge=union`: nothing is lost."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.state.log_reading import entries_in
from sow.state.log_writing import LogEntry, format_entry
from sow.state.task_log import read_entries
from sow.state.workspace_init import ATTRIBUTES

TIME = "2026-01-31T12:00:00Z"
SHARED = "One line.\nTwo lines.\nThree lines.\nFour lines.\nFive lines."


def entry(number: int, action: str = "did it", text: str = "", **more) -> LogEntry:
    return LogEntry(TIME, "implementer", action, text=text, id=f"{number:012x}", **more)


def text_of(*entries: LogEntry) -> str:
    """Return a log as appending leaves it."""
    return "\n".join(map(format_entry, entries))


def union(folder: Path, base: str, ours: str, theirs: str) -> list[str]:
    """Return the lines that `git merge-file --union` leaves."""
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["git", "merge-file", "--union", "-p", "ours", "base", "theirs"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().split("\n")


def merged(folder: Path, before: list[LogEntry], ours: list[LogEntry], theirs: list[LogEntry]):
    lines = union(folder, text_of(*before), text_of(*before, *ours), text_of(*before, *theirs))
    return entries_in(lines, folder / "log.md")


@pytest.mark.parametrize("text", ["", "A word.", SHARED, f"{SHARED}\n\n{SHARED}"])
def test_two_entries_that_differ_in_their_id_alone_are_both_read(tmp_path, text):
    before, ours, theirs = entry(1, text="first"), entry(2, text=text), entry(3, text=text)
    assert merged(tmp_path, [before], [ours], [theirs]) == [before, ours, theirs]


def test_two_entries_keep_what_is_their_own_around_what_they_share(tmp_path):
    ours = entry(2, "ours", f"mine\n{SHARED}", result="success")
    theirs = entry(3, "theirs", f"yours\n{SHARED}", result="failure")
    found = merged(tmp_path, [], [ours], [theirs])
    assert [(each.action, each.result) for each in found] == [
        ("ours", "success"),
        ("theirs", "failure"),
    ]
    assert all(SHARED in each.text for each in found)


def test_the_keys_of_two_entries_are_not_mixed(tmp_path):
    """Six of their keys in a row are the same: without a seam git would take them for one run."""
    same = {"result": "success", "role": "tester", "event": "job", "job": 7}
    ours = entry(2, attempt=1, **same)._replace(timestamp="2026-01-31T12:00:01Z")
    theirs = entry(3, attempt=2, **same)._replace(timestamp="2026-01-31T12:00:02Z")
    assert merged(tmp_path, [entry(1)], [ours], [theirs]) == [entry(1), ours, theirs]


def test_an_entry_that_both_branches_have_is_read_once(tmp_path):
    assert merged(tmp_path, [], [entry(1), entry(2)], [entry(1), entry(3)]) == [
        entry(1),
        entry(2),
        entry(3),
    ]


def test_logs_of_an_older_sow_keep_their_entries_beside_new_ones(tmp_path):
    old = LogEntry(TIME, "implementer", "old", text="Its text.")
    assert merged(tmp_path, [old], [entry(2)], [entry(3)]) == [old, entry(2), entry(3)]


words = st.sampled_from(["a", "b", "Two lines.", "", "---", "# Notes"])
texts = st.lists(words, max_size=8).map("\n".join) | st.just(SHARED)
some = st.lists(
    st.tuples(
        st.sampled_from(["did it", "looked"]),
        texts,
        st.sampled_from(["", "success"]),
        st.sampled_from([None, 3]),
    ),
    max_size=4,
)


@settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(some, some, some)
def test_whatever_two_branches_have_logged_no_entry_is_lost(tmp_path_factory, before, ours, theirs):
    folder = tmp_path_factory.mktemp("merge")
    branches, number = [], 0
    for branch in (before, ours, theirs):
        made = []
        for action, text, result, job in branch:
            number += 1
            made.append(entry(number, action, text, result=result, job=job))
        branches.append(made)
    found = {each.id: each for each in merged(folder, *branches)}
    for each in (each for branch in branches for each in branch):
        read = found.pop(each.id)
        assert (read.action, read.result, read.job) == (each.action, each.result, each.job)
        (alone,) = entries_in(format_entry(each).split("\n"), folder)
        assert not Counter(alone.text.split()) - Counter(read.text.split())
    assert found == {}


def test_git_merges_two_branches_of_a_project_without_a_conflict(tmp_path):
    """With the attributes that `sow init` lays down, through an ordinary merge."""

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    log = tmp_path / ".sow" / "project" / "log.md"
    log.parent.mkdir(parents=True)
    (tmp_path / ".sow" / ".gitattributes").write_text(ATTRIBUTES)
    log.write_text(text_of(entry(1)))
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    for branch, number in (("one", 2), ("two", 3)):
        git("checkout", "-q", "-b", branch, "main")
        log.write_text(text_of(entry(1), entry(number, text=SHARED)))
        git("commit", "-q", "-a", "-m", branch)
    git("merge", "-q", "-m", "both", "one")
    assert read_entries(log) == [entry(1), entry(3, text=SHARED), entry(2, text=SHARED)]
