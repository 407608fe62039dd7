"""What lies in an attempt's folder counts only where it is that attempt's own."""

import json
from pathlib import Path

import pytest

from sow.evidence import DIGITS
from sow.ids import JobId
from sow.jobs.attempt_evidence import declare_void, has_exit, is_given_up, put_foreign_aside
from sow.paths import AttemptPaths, Workspace, attempt_id

OURS = attempt_id(JobId(1), 1, "a" * DIGITS)
ANOTHERS = attempt_id(JobId(1), 1, "b" * DIGITS)
OLDER = attempt_id(JobId(1), 1, "a" * 12)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def paths(workspace: Workspace) -> AttemptPaths:
    found = workspace.attempt(JobId(1), 1)
    found.folder.mkdir(parents=True)
    return found


@pytest.mark.parametrize(
    ("text", "ours", "older"),
    [
        (json.dumps({"attempt": OURS, "code": 0}), True, True),
        (json.dumps({"attempt": ANOTHERS, "code": 0}), False, True),
        ('{"code": 0}', False, True),
        ("[]", False, True),
        ("{", False, True),
    ],
)
def test_an_end_on_record_is_its_own_attempts(
    paths: AttemptPaths, text: str, ours: bool, older: bool
) -> None:
    paths.exit.write_text(text)
    assert (has_exit(paths, OURS), has_exit(paths, OLDER)) == (ours, older)


def test_what_is_no_file_is_no_end(paths: AttemptPaths) -> None:
    assert not has_exit(paths, OURS)
    paths.exit.mkdir()
    assert not has_exit(paths, OURS)


@pytest.mark.parametrize("text", ["", ANOTHERS])
def test_an_attempt_is_given_up_by_its_own_mark(paths: AttemptPaths, text: str) -> None:
    paths.void.write_text(text)
    assert (is_given_up(paths, OURS), is_given_up(paths, OLDER)) == (False, True)
    assert declare_void(paths, OURS)
    assert is_given_up(paths, OURS)
    assert not is_given_up(paths, ANOTHERS)


@pytest.mark.parametrize("name", ["exit.json", "output.jsonl", "void", "alive.lock"])
def test_evidence_before_an_attempt_begins_is_put_aside(
    workspace: Workspace, paths: AttemptPaths, name: str
) -> None:
    (paths.folder / name).write_text("{}")
    put_foreign_aside(workspace, paths)
    assert not paths.folder.exists()
    assert (workspace.run / "aside/unproven-1/1" / name).exists()


def test_what_a_start_that_was_killed_has_left_is_used(
    workspace: Workspace, paths: AttemptPaths
) -> None:
    paths.prompt.write_text("the prompt")
    put_foreign_aside(workspace, paths)
    assert paths.prompt.exists()


@pytest.mark.parametrize("which", ["job", "attempt"])
def test_a_link_in_the_place_of_a_folder_is_put_aside(
    workspace: Workspace, paths: AttemptPaths, which: str
) -> None:
    link = paths.folder if which == "attempt" else paths.folder.parent
    elsewhere = workspace.root / "elsewhere"
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    put_foreign_aside(workspace, paths)
    assert not link.is_symlink()
    assert elsewhere.is_dir()
