"""What is read from the cache of tasks equals what their files say, whatever has changed."""

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sow.clock import utc_now
from sow.errors import StateError
from sow.paths import Workspace
from sow.schema.task import Task, TaskState
from sow.state import task_cache
from sow.state.kept.store import Kept, kept_at
from sow.state.statefiles import parse_state
from sow.state.tasks import (
    MANY,
    TaskPlace,
    add_task,
    all_places,
    change_task,
    read_many,
    read_places,
    scan_tasks,
)

LATER = 60.0
"""Seconds after which every file has been unchanged for long enough."""


@pytest.fixture
def places(workspace: Workspace) -> list[TaskPlace]:
    for number in range(MANY):
        add_task(workspace, name=f"Task {number}", agent="implementer", now=utc_now())
    return all_places(workspace)


def copies(workspace: Workspace) -> Kept:
    kept = kept_at(workspace.root)
    assert kept is not None
    return kept


def read(workspace: Workspace, *, after: float = LATER) -> list[Task]:
    """Read all tasks by way of the cache, and prove that they are what the files say."""
    kept = copies(workspace)
    there = all_places(workspace)
    tasks, errors = read_many(there, kept, now=utc_now() + after)
    fresh, fresh_errors = read_places(there, kept)
    assert tasks == fresh
    assert repr(tasks) == repr(fresh)  # a time may be equal to one of another zone
    assert [str(error) for error in errors] == [str(error) for error in fresh_errors]
    return tasks


def cached(workspace: Workspace) -> set[str]:
    """Return the ids of the tasks that the cache's file holds."""
    path = Path(copies(workspace).folder) / task_cache.CACHE
    _, tasks = json.loads(path.read_bytes()) if path.exists() else ((), {})
    return {name.rpartition("/")[2] for name in tasks}


def ids(places: list[TaskPlace]) -> set[str]:
    return {place.task_id for place in places}


@pytest.fixture
def no_parsing(monkeypatch) -> Callable[[], None]:
    """From its call on, no state file may be parsed."""

    def refuse(*_: object) -> None:
        raise AssertionError("a file was parsed that is in the cache")

    return lambda: monkeypatch.setattr("sow.state.tasks._read", refuse)


def test_a_file_that_has_not_changed_is_not_parsed_again(workspace, places, no_parsing):
    before = read(workspace)
    assert cached(workspace) == ids(places)
    no_parsing()
    tasks, errors = scan_tasks(workspace)
    assert tasks == before
    assert repr(tasks) == repr(before)
    assert errors == []


def test_a_change_by_sow_is_seen(workspace, places):
    read(workspace)
    change_task(workspace, "010", lambda _: {"name": "Another"}, now=utc_now())
    assert read(workspace)[0].name == "Another"
    assert read(workspace)[0].name == "Another"


def test_an_edit_in_place_with_the_same_size_and_time_is_seen(workspace, places):
    """Its time of change tells it: that one nobody can set."""
    read(workspace)
    state = places[0].state
    facts = state.stat()
    state.write_bytes(state.read_bytes().replace(b"Task 0", b"Task X"))
    os.utime(state, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert state.stat().st_mtime_ns == facts.st_mtime_ns
    assert read(workspace)[0].name == "Task X"


def test_a_file_that_has_just_changed_is_not_taken_into_the_cache(workspace, places):
    """It may change once more within the same tick of the file system's clock."""
    read(workspace, after=0)
    assert cached(workspace) == set()


@pytest.mark.slow
def test_edits_within_one_tick_are_all_seen(workspace, places):
    state = places[0].state
    text = state.read_bytes()
    for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 4:
        state.write_bytes(text.replace(b"Task 0", b"Task " + bytes([letter])))
        assert read(workspace, after=0)[0].name == f"Task {letter:c}"


def test_a_file_that_is_changed_while_it_is_read_is_not_taken_in(workspace, places):
    kept = copies(workspace)
    cache = task_cache.TaskCache(kept)
    before = task_cache.facts_at(places[0])
    (task,), _ = read_places(places[:1], kept)
    text = places[0].state.read_bytes()
    places[0].state.write_bytes(text + b"# later\n")
    cache.add(places[0], before, text, task, now=utc_now() + LATER)
    cache.save(places)
    assert cached(workspace) == set()


def test_files_that_change_places_are_told_apart(workspace, places):
    read(workspace)
    first, second = places[0].state, places[1].state
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    read(workspace)


def test_another_file_that_is_put_in_place_is_read(workspace, places):
    read(workspace)
    state = places[0].state
    facts, text = state.stat(), state.read_bytes()
    other = state.with_name("other")
    other.write_bytes(text.replace(b"Task 0", b"Task X"))
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.rename(state)
    assert read(workspace)[0].name == "Task X"


def test_what_json_cannot_hold_is_read_from_its_file(workspace, places):
    def put(place: TaskPlace, text: bytes) -> None:
        before = place.state.read_bytes()
        place.state.write_bytes(before.replace(b"metadata: {}", b"metadata: " + text))

    put(places[0], b"{day: 2026-01-31, many: .inf}")
    put(places[1], b"{small: 1.0, large: 1234567890, none: null, flag: yes}")
    put(places[3], b"{large: 123456789012345678901234567890}")
    put(places[4], b"{nested: {7: of a number}}")
    zone = places[2].state.read_bytes().splitlines(keepends=True)
    zone = [b"  created_at: 2026-01-31T12:00:00+02:00\n" if b"created" in it else it for it in zone]
    places[2].state.write_bytes(b"".join(zone))
    for _ in range(2):
        assert len(read(workspace)) == MANY
    assert cached(workspace) == ids(places) - {"010", "050"}


def test_an_invalid_file_is_told_each_time(workspace, places):
    places[0].state.write_bytes(b"task: {")
    for _ in range(2):
        assert len(read(workspace)) == MANY - 1


def test_tasks_that_have_gone_leave_the_cache_with_the_next_writing(workspace, places):
    read(workspace)
    gone = places[0].folder
    gone.rename(workspace.root / "gone")
    Path(copies(workspace).copy(copies(workspace).name(places[0].state))).unlink()
    for place in places[1:]:
        place.state.touch()
    assert {task.id for task in read(workspace)} == ids(places[1:])
    assert cached(workspace) == ids(places[1:])


def test_what_git_takes_is_put_back_all_the_same(workspace, places, monkeypatch):
    from sow.state.kept import keeper_hooks

    monkeypatch.setattr(keeper_hooks.OURS, "witness", lambda _root, _project: "job 7")
    monkeypatch.setattr(keeper_hooks.OURS, "tell", lambda _: None)
    earlier = places[0].state.read_bytes()
    change_task(workspace, "010", lambda _: {"name": "Another"}, now=utc_now())
    read(workspace)
    places[0].state.write_bytes(earlier)
    assert read(workspace)[0].name == "Another"


def test_what_git_has_taken_while_it_works_is_put_back_once_it_rests(
    workspace, places, monkeypatch
):
    from sow.state.kept import keeper_hooks, putback

    monkeypatch.setattr(keeper_hooks.OURS, "witness", lambda _root, _project: "job 7")
    monkeypatch.setattr(keeper_hooks.OURS, "tell", lambda _: None)
    taken = places[: MANY // 4]  # so many that the cache is written anew
    earlier = [place.state.read_bytes() for place in taken]
    for place in taken:
        change_task(workspace, place.task_id, lambda _: {"name": "Another"}, now=utc_now())
    read(workspace)
    for place, text in zip(taken, earlier, strict=True):
        place.state.write_bytes(text)
    with monkeypatch.context() as while_at_work:
        while_at_work.setattr(putback, "is_at_rest", lambda *_, **_2: False)
        assert read(workspace)[0].name == "Task 0"
    assert read(workspace)[0].name == "Another"


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"pending"', b'"unheard"'),
        lambda data: b'[["another machine"]' + data[data.index(b"],{") + 1 :],
    ],
    ids=["empty", "cut", "unknown word", "another machine"],
)
def test_a_cache_that_cannot_be_used_is_made_anew(workspace, places, damage):
    read(workspace)
    path = Path(copies(workspace).folder) / task_cache.CACHE
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    read(workspace)
    assert path.read_bytes() == whole


def test_what_another_machine_has_cached_is_not_believed(workspace, places):
    read(workspace)
    path = Path(copies(workspace).folder) / task_cache.CACHE
    whole = path.read_bytes()
    reader, tasks = json.loads(whole)
    for _, task in tasks.values():
        task["name"] = "Believed"
    path.write_text(json.dumps([reader, tasks]))
    assert {task.name for task in scan_tasks(workspace)[0]} == {"Believed"}  # so would ours be
    path.write_text(json.dumps([["other", *reader[1:]], tasks]))
    assert "Believed" not in {task.name for task in read(workspace)}


def test_a_cache_that_cannot_be_written_keeps_nobody_from_reading(workspace, places):
    (Path(copies(workspace).folder) / task_cache.CACHE).mkdir()
    read(workspace)
    assert [path.name for path in Path(copies(workspace).folder).glob("*.tmp")] == []


def test_a_full_disk_holds_no_half_written_cache(workspace, places):
    """Each command would leave another one."""
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, room[1]))  # as a full disk: a part is written
    try:
        read(workspace)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [path.name for path in Path(copies(workspace).folder).glob("tasks*")] == []


def test_a_cache_that_nobody_would_read_is_not_written(workspace, places, monkeypatch):
    monkeypatch.setattr("sow.state.kept.copies.LARGEST", 4096)
    read(workspace)
    assert cached(workspace) == set()


def test_of_a_state_on_a_disk_that_others_see_nothing_is_cached(workspace, places, monkeypatch):
    """It need not be the disk that the rest of the workspace lies on."""
    mounts = workspace.root / "mounts"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        f"2 1 0:9 / {os.path.realpath(workspace.sow)} rw - nfs4 there:/sow rw\n"
    )
    monkeypatch.setattr("sow.processes.disks.MOUNTINFO", mounts)
    read(workspace)
    assert cached(workspace) == set()


def test_every_module_that_parses_a_state_makes_another_reader(places):
    """What one of them took for a task, a later form of it may refuse."""
    found = set()

    def note(frame, _event, _argument):
        found.add(frame.f_code.co_filename)

    state = places[0].state
    text = state.read_bytes() + b"# not parsed before\n"
    sys.setprofile(note)
    try:
        parse_state(text, TaskState, path=state)
    finally:
        sys.setprofile(None)
    package = Path(task_cache.__file__).parents[1]
    ours = {Path(path).relative_to(package) for path in found if path.startswith(f"{package}/")}
    assert len(ours) >= 4
    assert {path.as_posix() for path in ours} <= set(task_cache.READERS)


def edit_in_place(state: Path, _other: Path, letter: bytes) -> None:
    """Change a file, but neither its size nor the time that it says it was written at."""
    facts = state.stat()
    state.write_bytes(state.read_bytes().replace(b"Task", b"Tas" + letter))
    os.utime(state, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def rename_over(state: Path, _other: Path, letter: bytes) -> None:
    draft = state.with_name("draft")
    shutil.copy2(state, draft)
    edit_in_place(draft, draft, letter)
    draft.rename(state)


def swap(first: Path, second: Path, _letter: bytes) -> None:
    aside = first.with_name("aside")
    for source, target in ((first, aside), (second, first), (aside, second)):
        if source.exists():
            source.rename(target)


def swap_folders(state: Path, other: Path, letter: bytes) -> None:
    swap(state.parent, other.parent, letter)


def put_back_as_it_was(state: Path, other: Path, letter: bytes) -> None:
    swap(state, other, letter)
    os.utime(state, (1, 1))
    swap(state, other, letter)


def hard_link(state: Path, other: Path, _letter: bytes) -> None:
    if state != other:
        state.unlink()
        os.link(other, state)


def link(state: Path, other: Path, _letter: bytes) -> None:
    if state != other and not other.is_symlink():
        state.unlink()
        state.symlink_to(other)


def link_to_folder(state: Path, _other: Path, letter: bytes) -> None:
    folder = state.parent
    if not folder.is_symlink():
        moved = folder.parents[2] / f".moved-{folder.name}-{letter.hex()}"
        folder.rename(moved)
        folder.symlink_to(moved)


def copy_all(state: Path, _other: Path, _letter: bytes) -> None:
    project = state.parents[4]
    shutil.copytree(project, project.with_name("copy"), symlinks=True)
    shutil.rmtree(project)
    project.with_name("copy").rename(project)


def wait_for_a_tick(folder: Path) -> None:
    """Wait until what changes in a folder from now on has another time than what has changed."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_ctime_ns
    until = time.monotonic() + 10
    while probe.stat().st_ctime_ns == before and time.monotonic() < until:
        probe.touch()


EVENTS = (edit_in_place, rename_over, swap, swap_folders, put_back_as_it_was, hard_link, link)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_after_whatever_sequence_of_events_the_files_are_what_is_read(workspace, places, seed):
    source = random.Random(seed)
    for _ in range(30):
        event = source.choice((*EVENTS, link_to_folder, copy_all))
        state, other = (source.choice(places).state for _ in range(2))
        wait_for_a_tick(workspace.root)
        event(state, other, bytes([source.randrange(65, 91)]))
        if source.random() < 0.3:
            task_id = source.choice(places).task_id
            with suppress(StateError):
                change_task(workspace, task_id, lambda _: {"name": "Task"}, now=utc_now())
        read(workspace)
