"""What folders hold on the disk: counted whole, in slices, and when it is worth it."""

import os
import time
from pathlib import Path

import pytest

from worker.supervisor import disk_use
from worker.supervisor.disk_use import REST_SECONDS, DiskUse, sizes

KB = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "clone"
    made.mkdir()
    return made


def fill(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def whole(*folders: Path) -> int:
    return sum(sizes([*map(str, folders)]))


def test_all_that_lies_below_is_counted(folder: Path) -> None:
    fill(folder / "a/b/c", 300 * KB)
    fill(folder / "d", 200 * KB)
    assert 500 * KB <= whole(folder) < 600 * KB
    assert whole(folder / "a", folder) - whole(folder) == whole(folder / "a")


def test_a_link_leads_nowhere(folder: Path, tmp_path: Path) -> None:
    fill(tmp_path / "elsewhere/big", 500 * KB)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    assert whole(folder) < 100 * KB
    assert whole(tmp_path / "nowhere") == 0


def test_a_sparse_file_counts_with_what_is_written(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(10**10)
    assert whole(folder) < 100 * KB


def test_a_file_with_names_elsewhere_counts_in_part(folder: Path, tmp_path: Path) -> None:
    """Objects of a clone may be those of the main repository."""
    before = whole(folder)
    inside, outside = fill(folder / "a", 400 * KB), tmp_path / "objects"
    alone = whole(folder) - before
    os.link(inside, outside)
    assert whole(folder) - before == alone // 2
    os.link(inside, folder / "b")
    outside.unlink()
    assert whole(folder) - before == alone


def test_a_limit_is_reached_in_the_middle_of_a_count(folder: Path) -> None:
    fill(folder / "a", 500 * KB)
    use = DiskUse([str(folder)], 300 * KB)
    assert use.is_over(time.monotonic())
    assert use.size >= 500 * KB
    assert not DiskUse([str(folder)], 800 * KB).is_over(time.monotonic())


def test_a_count_goes_on_where_the_last_slice_has_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_use, "CALM_SECONDS", 0.0)
    monkeypatch.setattr(disk_use, "HURRIED_SECONDS", 0.0)
    for number in range(300):
        (folder / str(number)).touch()
    fill(folder / "last", 500 * KB)
    use, looks = DiskUse([str(folder)], 10**9), 0
    while not use.size:
        assert not use.is_over(time.monotonic())
        looks += 1
    assert looks == 301 // 64 + 1
    assert use.size == whole(folder)


def test_what_was_moved_while_it_was_counted_counts_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice has seen it in one place, and the next one sees it in another."""
    monkeypatch.setattr(disk_use, "CALM_SECONDS", 0.0)
    monkeypatch.setattr(disk_use, "HURRIED_SECONDS", 0.0)
    monkeypatch.setattr(disk_use, "AT_ONCE", 1)
    fill(folder / "seen/file", 600 * KB)
    use = DiskUse([str(folder / "seen"), str(folder / "then")], 1000 * KB)
    # The folder that was named last is looked at first.
    (folder / "seen").rename(folder / "then")
    (folder / "seen").mkdir()
    assert not use.is_over(time.monotonic())
    (folder / "then/file").rename(folder / "seen/file")
    for _ in range(4):
        assert not use.is_over(time.monotonic())
    assert use.size < 1000 * KB


def test_it_is_counted_again_when_it_may_have_grown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [10**9]
    monkeypatch.setattr(disk_use, "given_out", lambda _: given[0])
    use = DiskUse([str(folder)], 400 * KB)
    begun = time.monotonic()
    assert not use.is_over(begun)
    fill(folder / "a", 500 * KB)
    assert not use.is_over(begun + REST_SECONDS / 2), "nothing speaks for it"
    given[0] += 50 * KB
    assert not use.is_over(begun + REST_SECONDS / 2), "nor does so little"
    given[0] += 100 * KB
    assert use.is_over(begun + REST_SECONDS / 2)


def test_it_is_counted_again_after_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may have freed what it has taken."""
    monkeypatch.setattr(disk_use, "given_out", lambda _: 10**9)
    use = DiskUse([str(folder)], 400 * KB)
    begun = time.monotonic()
    assert not use.is_over(begun)
    fill(folder / "a", 500 * KB)
    assert use.is_over(begun + REST_SECONDS + 1)
