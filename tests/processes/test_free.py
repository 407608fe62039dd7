"""What counts as free: of a disk, of the machine's memory, and of what control groups leave."""

from pathlib import Path

import pytest

from sow.processes.free import LIMIT_SECONDS, PROC, free_disk, free_memory

MB = 1 << 20


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc of a machine with 8,000 MB available and no control groups."""
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable:  {8000 * 1024} kB\n")
    return folder


def write_group(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_the_disk_of_a_folder_that_is_not_there_yet_is_that_of_those_above(tmp_path: Path) -> None:
    found, above = free_disk(tmp_path / "not" / "made"), free_disk(tmp_path)
    assert found is not None
    assert above is not None
    assert found > 0


def test_a_file_system_without_blocks_tells_nothing() -> None:
    assert free_disk(PROC / "self") is None


def test_this_machine_tells() -> None:
    assert (free_memory() or 0) > 0


def test_without_groups_it_is_what_the_kernel_calls_available(proc: Path) -> None:
    assert free_memory(proc) == 8000 * MB


def test_a_limit_of_a_group_above_counts_and_its_cache_is_free(proc: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (proc / "self/cgroup").write_text("0::/a/b\n")
    (proc / "self/mountinfo").write_text(f"1 0 0:1 / {tree} rw - cgroup2 none rw\n")
    write_group(tree / "a/b", memory__max="max", memory__current=900 * MB)
    stat = f"anon 5\nactive_file {100 * MB}\ninactive_file {50 * MB}\nfile 9"
    write_group(tree / "a", memory__max=1000 * MB, memory__current=950 * MB, memory__stat=stat)
    assert free_memory(proc) == 200 * MB


def test_the_older_version_of_groups_tells_as_well(proc: Path, tmp_path: Path) -> None:
    tree = tmp_path / "memory"
    (proc / "self/cgroup").write_text("3:cpu:/x\n2:memory:/box/me\n0::/\n")
    (proc / "self/mountinfo").write_text(
        f"1 0 0:1 / {tmp_path} rw - cgroup cgroup rw,cpu\n"
        f"2 0 0:2 /box {tree} rw - cgroup cgroup rw,memory\n"
    )
    stat = f"inactive_file 7\ntotal_inactive_file {10 * MB}\ntotal_active_file {20 * MB}"
    write_group(
        tree / "me",
        memory__limit_in_bytes=500 * MB,
        memory__usage_in_bytes=400 * MB,
        memory__stat=stat,
    )
    assert free_memory(proc) == 130 * MB


def test_a_group_that_lies_outside_of_what_is_mounted_is_asked_where_the_tree_begins(
    proc: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    (proc / "self/cgroup").write_text("0::/../elsewhere\n")
    (proc / "self/mountinfo").write_text(f"1 0 0:1 / {tree} rw - cgroup2 none rw\n")
    write_group(tree, memory__max=300 * MB, memory__current=100 * MB)
    assert free_memory(proc) == 200 * MB


def test_a_limit_is_read_again_after_some_seconds(
    proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, now = tmp_path / "groups" / "ours", [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    (proc / "self" / "cgroup").write_text("0::/ours\n")
    mount = f"30 20 0:26 / {group.parent} rw - cgroup2 cgroup2 rw\n"
    (proc / "self" / "mountinfo").write_text(mount)
    write_group(group, memory__max=500 * MB, memory__current=100 * MB, memory__stat="")
    assert free_memory(proc) == 400 * MB
    write_group(group, memory__max=300 * MB)
    assert free_memory(proc) == 400 * MB
    now[0] += LIMIT_SECONDS
    assert free_memory(proc) == 200 * MB
