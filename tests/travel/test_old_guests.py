"""What a host has kept of others' jobs goes when it is old, and never while it is used."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from travel.test_guest import HOME_ID
from travel.travelling import Travelling, travelling

from sow.clones.locks import locked_place
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.make import CloneOrder, finish_clone, make_clone
from sow.clones.place import Place
from sow.paths import Workspace
from sow.state.tasks import read_task
from sow.travel import old_guests
from sow.travel.guest import GuestWorkspace, guest_at, guest_lock, guests_of, take_up
from sow.travel.old_guests import remove_old_guests

pytestmark = pytest.mark.slow
DAY = 86400.0


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Travelling]:
    monkeypatch.setattr(old_guests, "tasks_of_others", lambda live: live)
    with travelling(tmp_path, monkeypatch) as made:
        (made.elsewhere / ".sow").mkdir()
        yield made


def take(sent: Travelling) -> GuestWorkspace:
    guest = guest_at(Workspace(sent.elsewhere), HOME_ID, sent.project_id, "010")
    take_up(guest, sent.travel, "origin", sent.project_id, "010")
    return guest


def clone_in(guest: GuestWorkspace) -> Place:
    """Make the clone of the task there."""
    main = main_checkout(guest, known_settings(guest))
    task = read_task(guest, "010")
    assert task.clone is UNSET
    place = main.place(task)
    with locked_place(place):
        make_clone(CloneOrder(place=place, repository=main.repository, base=main.project_commit))
        finish_clone(place)
    return place


def age(guest: GuestWorkspace, seconds: float = 40 * DAY) -> None:
    """Have what lies in a guest's folder be so old."""
    then = time.time() - seconds
    for top, folders, names in os.walk(guest.root, topdown=False):
        for name in (*folders, *names):
            os.utime(Path(top, name), (then, then), follow_symlinks=False)
    os.utime(guest.root, (then, then))


def sweep(sent: Travelling, *live: Any) -> list[Path]:
    """Remove what is older than 30 days, while these tasks have jobs; each is told before."""
    host, before = Workspace(sent.elsewhere), list[Path]()
    queue: Any = live
    removed = remove_old_guests(
        host, queue, lambda guest: before.append(guest.root), oldest=time.time() - 30 * DAY
    )
    assert set(removed) <= set(before)
    return removed


def test_an_old_one_goes_with_its_clone_and_is_made_anew_when_it_is_needed(
    sent: Travelling,
) -> None:
    guest = take(sent)
    place = clone_in(guest)
    output = guest.jobs / "1/1"
    output.mkdir(parents=True)
    assert sweep(sent) == [], "it was just used"
    age(guest)
    assert sweep(sent) == [guest.root]
    assert not place.path.exists()
    assert list(guest.root.parent.iterdir()) == []
    assert take(sent).root == guest.root
    assert read_task(guest, "010").name == "Task 010"
    clone_in(guest)


def test_one_stays_whose_attempt_has_ended_later_or_whose_job_has_not(sent: Travelling) -> None:
    guest = take(sent)
    output = guest.jobs / "1/1"
    output.mkdir(parents=True)
    age(guest)
    assert sweep(sent, (HOME_ID, sent.project_id, "010")) == []
    (output / "exit.json").write_text("{}")
    assert sweep(sent, (HOME_ID, sent.project_id, "020")) == []
    age(guest)
    assert sweep(sent, (HOME_ID, sent.project_id, "020")) == [guest.root]


def test_one_stays_that_is_being_made_ready_or_whose_clone_is_in_use(sent: Travelling) -> None:
    guest = take(sent)
    place = clone_in(guest)
    age(guest)
    with guest_lock(guest.root, timeout_seconds=0.0):
        assert sweep(sent) == []
    with locked_place(place):
        assert sweep(sent) == []
    assert take(sent).project.exists()
    assert place.path.exists()


def test_one_of_another_workspace_in_the_same_repository_stays(sent: Travelling) -> None:
    """Only its own workers know whether a job of it lives, and where its attempts lie."""
    guest = take(sent)
    age(guest)
    part = Workspace(sent.elsewhere / "part")
    part.sow.mkdir(parents=True)
    assert guests_of(part) == guests_of(Workspace(sent.elsewhere))
    nobody: Any = ()
    assert remove_old_guests(part, nobody, lambda _: None, oldest=time.time()) == []
    assert sweep(sent) == [guest.root]


def test_what_a_killed_process_has_left_goes_and_links_are_not_followed(
    sent: Travelling, tmp_path: Path
) -> None:
    guest = take(sent)
    outside = tmp_path / "outside"
    (outside / "010").mkdir(parents=True)
    draft = guest.root.with_name(".010.abcdabcd")
    draft.mkdir()
    link = guests_of(Workspace(sent.elsewhere)) / "ffffffff-ffffffff"
    link.symlink_to(outside)
    then = time.time() - 40 * DAY
    for path in (draft, outside / "010", outside):
        os.utime(path, (then, then))
    assert sweep(sent) == []
    assert not draft.exists()
    assert (outside / "010").exists()
    assert guest.root.exists()
