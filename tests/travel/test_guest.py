"""What a host makes of what was sent: a folder of the guest's, and nothing of its own checkout."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from journeys.gitsite import git
from msgspec.structs import replace
from travel.travelling import Travelling, travelling

from sow.errors import SowError
from sow.paths import Workspace
from sow.state.projects import read_project
from sow.state.tasks import read_task
from sow.travel.guest import GuestRefused, GuestWorkspace, guest_at, take_up

pytestmark = pytest.mark.slow
HOME_ID = "0123456789ab"


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Travelling]:
    with travelling(tmp_path, monkeypatch) as made:
        (made.elsewhere / ".sow").mkdir()
        (made.elsewhere / ".sow/config.yaml").write_text("checks: {unit: 'true'}\n")
        yield made


def guest_of(sent: Travelling) -> GuestWorkspace:
    return guest_at(Workspace(sent.elsewhere), HOME_ID, sent.project_id, "010")


def take(sent: Travelling, **fields: Any) -> GuestWorkspace:
    guest = guest_of(sent)
    take_up(guest, replace(sent.travel, **fields), "origin", sent.project_id, "010")
    return guest


def refused(sent: Travelling, **fields: Any) -> str:
    with pytest.raises(SowError) as caught:
        take(sent, **fields)
    return caught.value.message


def test_it_has_the_state_and_the_commits_and_the_settings_of_the_host(sent: Travelling) -> None:
    (sent.workspace.sow / "config.yaml").write_text("clones: {setup: 'rm -rf /'}\n")
    (sent.workspace.project / "context").mkdir(exist_ok=True)
    (sent.workspace.project / "context/plan.md").write_text("A plan.\n")
    sent.travel = sent.send()
    before = git(sent.site, "for-each-ref", cwd=sent.elsewhere)
    guest = take(sent)
    assert read_project(guest).id == sent.project_id
    assert read_task(guest, "010").name == "Task 010"
    assert (guest.project / "context/plan.md").read_text() == "A plan.\n"
    assert guest.repository_config.read_text() == "checks: {unit: 'true'}\n"
    assert git(sent.site, "rev-parse", "HEAD", cwd=guest.root).strip() == sent.travel.base
    assert git(sent.site, "for-each-ref", cwd=sent.elsewhere) == before
    assert not (sent.elsewhere / ".sow/project").exists()
    assert not (guest.root / ".git/hooks").exists()


def test_it_has_the_files_that_the_host_copies_into_clones_as_they_are_now(
    sent: Travelling,
) -> None:
    settings = sent.elsewhere / ".sow/config.yaml"
    settings.write_text("clones: {copy: [.env, 'keys/*']}\n")
    (sent.elsewhere / "keys").mkdir()
    (sent.elsewhere / "keys/own").symlink_to("/etc/passwd")
    for text in ("first\n", "second\n"):
        (sent.elsewhere / ".env").write_text(text)
        (sent.elsewhere / "keys/a").write_text(text)
        guest = take(sent)
        assert (guest.root / ".env").read_text() == text
        assert (guest.root / "keys/a").read_text() == text
    assert not (guest.root / "keys/own").exists()


def test_what_its_attempts_have_made_stays_and_the_next_job_begins_anew(sent: Travelling) -> None:
    guest = take(sent)
    log = guest.project / "phases/implementation/tasks/010/log.md"
    log.write_text("its own\n")
    take(sent)
    assert log.read_text() == "its own\n"
    sent.travel = sent.send()
    take(sent)
    assert log.read_text() == ""
    assert read_task(guest, "010").name == "Task 010"


def test_names_that_are_none_of_the_job_s_are_refused(sent: Travelling) -> None:
    ref, packed = sent.travel.ref, sent.travel.packed
    for fields in (
        {"ref": "refs/heads/main"},
        {"ref": ref.replace("010", "020")},
        {"ref": f"{ref}/../x"},
        {"ref": ref, "packed": "f" * 40},
        {"packed": "--upload-pack=evil", "ref": ref},
        {"branch": "main"},
        {"branch": (sent.travel.branch or "").replace("/010", "/020")},
        {"trunk": "../../config"},
        {"trunk": "--force"},
        {"trunk": sent.travel.branch},
        {"trunk": ""},
        {"base": packed},
        {"tip": packed},
    ):
        what = refused(sent, **fields)
        assert not guest_of(sent).project.exists(), (fields, what)
    take(sent)


def test_no_name_of_others_leads_out_of_the_folder_of_guests(sent: Travelling) -> None:
    top = guest_of(sent).root.parents[2]
    for home, project, task in (
        *((HOME_ID, "../../..", "010"), (HOME_ID, "/../../x", "010"), ("/tmp/x", "ab", "010")),
        *(("../../x", "ab", "010"), (HOME_ID, "ab", "../../.."), (HOME_ID, "ab", "/tmp")),
    ):
        root = guest_at(Workspace(sent.elsewhere), home, project, task).root
        assert os.path.normpath(root) == str(root)
        assert root.parents[2] == top, root


def evil_trees(sent: Travelling) -> Iterator[tuple[str, str]]:
    """Yield a name for what somebody has put among the state, and the tree that has it."""
    blob = sent.git_elsewhere("hash-object", "-w", "--stdin", stdin="evil\n")
    target = sent.git_elsewhere("hash-object", "-w", "--stdin", stdin="/etc/passwd")
    base = sent.travel.base
    for name, line in (
        ("a link", f"120000 blob {target}\tstate.yaml"),
        ("a repository", f"160000 commit {base}\tinner"),
        ("a backslash", f"100644 blob {blob}\ta\\b"),
        ("a stream", f"100644 blob {blob}\ta:b"),
    ):
        inner = sent.git_elsewhere("mktree", "--missing", stdin=f"{line}\n")
        yield name, sent.git_elsewhere("mktree", stdin=f"040000 tree {inner}\tproject\n")


def test_what_is_no_plain_file_is_not_laid_down(sent: Travelling) -> None:
    for name, tree in evil_trees(sent):
        packed = sent.git_elsewhere("commit-tree", tree, "-p", sent.travel.base, "-m", "x")
        ref = f"{sent.travel.ref[:-12]}{packed[:12]}"
        sent.git_elsewhere("push", "-q", "origin", f"{packed}:{ref}")
        with pytest.raises(GuestRefused, match="is no plain file"):
            take(sent, packed=packed, ref=ref)
        assert not guest_of(sent).project.exists(), name


def test_a_state_without_end_is_not_laid_down(sent: Travelling) -> None:
    blob = sent.git_elsewhere("hash-object", "-w", "--stdin", stdin="evil\n")
    line = f"100644 blob {blob}"
    for _ in range(10):
        lines = "".join(f"{line}\t{number}\n" for number in range(10))
        line = f"040000 tree {sent.git_elsewhere('mktree', stdin=lines)}"
    tree = sent.git_elsewhere("mktree", stdin=f"{line}\tproject\n")
    packed = sent.git_elsewhere("commit-tree", tree, "-p", sent.travel.base, "-m", "x")
    ref = f"{sent.travel.ref[:-12]}{packed[:12]}"
    sent.git_elsewhere("push", "-q", "origin", f"{packed}:{ref}")
    assert "too many files" in refused(sent, packed=packed, ref=ref)


def test_a_ref_that_was_moved_since_is_found_out(sent: Travelling) -> None:
    moved = sent.git_elsewhere("commit-tree", f"{sent.travel.base}^{{tree}}", "-m", "other")
    sent.git_elsewhere("push", "-q", "-f", "origin", f"{moved}:{sent.travel.ref}")
    assert f"names {moved}, and not {sent.travel.packed}" in refused(sent)


def test_what_stays_at_home_is_not_sent(sent: Travelling) -> None:
    root = sent.site.root
    (root / "untracked.txt").write_text("secret\n")
    (root / ".sow/run").mkdir(exist_ok=True)
    (root / ".sow/run/x").write_text("secret\n")
    (root / ".sow/project/link").symlink_to("/etc/passwd")
    os.mkfifo(root / ".sow/project/pipe")
    travel = sent.send()
    names = git(sent.site, "ls-tree", "-r", "--name-only", travel.packed).split()
    assert {name.split("/")[0] for name in names} == {".version", "project"}
    assert not any(name.endswith(("link", "pipe", "x")) for name in names)
    assert git(sent.site, "ls-tree", "--name-only", travel.base).split() == ["code.txt"]
