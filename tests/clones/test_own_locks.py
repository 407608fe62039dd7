"""The lock of a git of ours that was killed goes with the next try; another git's stays."""

import os
import time
from pathlib import Path

import pytest
from clones.clone_site import make_site, plain
from clones.test_merging import main_tip, status, wanted

from sow.clones.branch_move import complete_move, move_branch
from sow.clones.bring_back import bring_back
from sow.clones.merging import compute_merge
from sow.clones.own_locks import FOLDER, clear_own_locks, locks_of_branch, own_locks
from sow.git.git_errors import GitKilled, GitRefused

pytestmark = pytest.mark.slow  # process after process

DEADLY = {
    "the branch": ("*' update-ref --no-deref -m '*", "refs/heads/main.lock"),
    "the table of references": (
        "*' update-ref --no-deref -m '*",
        "reftable/tables.list.lock",
    ),
    "HEAD": ("*' update-ref --no-deref -m '*", "HEAD.lock"),
    "the index": ("*' update-index --add --remove '*", "index.lock"),
    "the index again": ("*' update-index -q --refresh '*", "index.lock"),
}
"""At which git of a move one is killed, and the lock that it leaves."""


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def killed_once(folder: Path, pattern: str, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the first git whose words fit a pattern leave a lock, and be killed."""
    real = plain(folder, "--exec-path")
    folder.mkdir(exist_ok=True)
    program = folder / "git"
    program.write_text(
        f'#!/bin/sh\ncase " $* " in {pattern}) if [ -z "$GIT_INDEX_FILE" ] && '
        f"mkdir '{folder}/done' 2>/dev/null; then : >'{lock}'; kill -9 $$; fi;; esac\n"
        f"exec '{real}/git' \"$@\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.few(2)
@pytest.mark.parametrize("what", DEADLY)
def test_a_move_whose_git_was_killed_with_a_lock_is_made_by_the_next_try(
    site, tmp_path, what, monkeypatch
):
    site.commit("file", "x\n")
    old = main_tip(site)
    done = compute_merge(site.repository, old, wanted(site))
    pattern, name = DEADLY[what]
    (tmp_path / "programs").mkdir()
    lock = site.main / ".git" / name
    lock.parent.mkdir(exist_ok=True)
    killed_once(tmp_path / "programs", pattern, lock, monkeypatch)
    with pytest.raises(GitKilled):
        move_branch(site.repository, "main", old, done.commit)
    assert lock.exists()
    clear_own_locks(site.repository)
    assert not lock.exists()
    complete_move(site.repository, "main")
    if main_tip(site) == old:
        move_branch(site.repository, "main", old, done.commit)
    assert (main_tip(site), status(site)) == (done.commit, [])
    assert list((site.main / ".git" / FOLDER).iterdir()) == []


def test_a_branch_is_brought_back_past_the_lock_of_the_last_try(site, tmp_path, monkeypatch):
    site.commit("file", "x\n")
    lock, *_ = locks_of_branch(site.repository, site.facts.branch)
    lock.parent.mkdir(parents=True)
    (tmp_path / "programs").mkdir()
    killed_once(
        tmp_path / "programs", "*' update-ref --no-deref refs/heads/sow'*", lock, monkeypatch
    )
    with pytest.raises(GitKilled):
        bring_back(site.facts, site.repository)
    assert lock.exists()
    assert bring_back(site.facts, site.repository).commit == site.tip
    assert not lock.exists()


def test_another_git_s_lock_stays(site):
    lock = site.main / ".git" / "index.lock"
    lock.touch()
    clear_own_locks(site.repository)
    with own_locks(site.repository, site.main / ".git" / "HEAD.lock"):
        pass
    assert lock.exists()


def test_a_lock_that_is_older_than_its_note_is_another_git_s(site):
    lock = site.main / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (1.0, 1.0))
    with pytest.raises(GitKilled), own_locks(site.repository, lock):
        raise GitKilled(site.main, ["update-index"], 9)
    clear_own_locks(site.repository)
    assert lock.exists()


def test_a_refused_git_has_left_nothing(site):
    with pytest.raises(GitRefused), own_locks(site.repository, site.main / "x.lock"):
        raise GitRefused(site.main, ["update-ref"], 1, "no")
    assert list((site.main / ".git" / FOLDER).iterdir()) == []


@pytest.mark.parametrize(
    "note", ['{"locks": ["%s"], "at": "x"}', '{"locks": {"a": 1}}', "[1]", '{"at": 1e999}', "{"]
)
def test_a_damaged_note_names_nothing(site, note):
    lock = site.repository.git_dir / "HEAD.lock"
    lock.touch()
    writer = site.repository.common_dir / FOLDER / "someone"
    writer.mkdir(parents=True)
    (writer / "note.json").write_text(note.replace("%s", str(lock)))
    clear_own_locks(site.repository)
    assert (lock.exists(), writer.exists()) == (True, False)


def test_no_note_names_what_is_no_lock_of_this_repository(site, tmp_path):
    others = [tmp_path / "work.lock", site.repository.git_dir / "description"]
    writer = site.repository.common_dir / FOLDER / "someone"
    writer.mkdir(parents=True)
    for file in others:
        file.write_text("mine")
    names = ", ".join(f'"{file}"' for file in others)
    (writer / "note.json").write_text(f'{{"locks": [{names}], "at": {time.time()}}}')
    clear_own_locks(site.repository)
    assert [file.read_text() for file in others] == ["mine", "mine"]
