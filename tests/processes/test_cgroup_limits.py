"""When the kernel may be asked to limit groups: only in one that is ours alone.

What it does then is tests/worker/test_supervisor_limits.py.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from sow.processes import cgroup
from sow.processes.cgroup_limits import AgentGroup, delegate, kept_in

BOTH = {"memory", "pids"}


def nobody(_pid: int) -> bool:
    return False


def everybody(_pid: int) -> bool:
    return True


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder like that of a group which was given to us, with nothing in it."""
    made = tmp_path / "app.scope"
    made.mkdir()
    for name, text in {
        "cgroup.type": "domain\n",
        "cgroup.procs": "",
        "cgroup.controllers": "cpu memory pids\n",
        "cgroup.subtree_control": "",
    }.items():
        (made / name).write_text(text)
    return made


def asked(home: Path, is_ours: Callable[[int], bool] = nobody) -> str:
    """Return what was written last of what the kernel is to limit."""
    delegate(str(home), is_ours)
    return (home / "cgroup.subtree_control").read_text()


@pytest.mark.parametrize(
    ("folder", "home"),
    [
        ("/c/user.slice/x.scope", "/c/user.slice/x.scope"),
        ("/c/x.scope/sow-12-345", "/c/x.scope"),
        ("/c/x.scope/sow-12-345/agent/inner", "/c/x.scope"),
        ("/c/x.scope/sow-rest", "/c/x.scope"),
        ("/c/app.slice/sow-repo-1a2b.service", "/c/app.slice/sow-repo-1a2b.service"),
        ("/c/app.slice/sow-repo-1a2b.service/sow-worker", "/c/app.slice/sow-repo-1a2b.service"),
        ("", ""),
    ],
)
def test_groups_are_made_outside_of_our_own_and_inside_of_a_service(folder: str, home: str) -> None:
    """A service of ours begins with the same letters as what we make in it."""
    assert cgroup.home_above(folder) == home


@pytest.mark.parametrize("part", ["supervisor", "agent/run"])
def test_an_attempts_group_goes_with_all_that_is_in_it(tmp_path: Path, part: str) -> None:
    """As soon as nobody is in it: an empty part may be about to be used until then."""
    group = tmp_path / "sow-1-2"
    for name in ("supervisor", "agent/run/made by the agent"):
        (group / name).mkdir(parents=True)
    before = sorted(group.rglob("*"))
    (group / part / "cgroup.procs").write_text("7\n")
    cgroup.remove(str(group))
    (group / part / "cgroup.procs").unlink()
    assert sorted(group.rglob("*")) == before
    cgroup.remove(str(group))
    assert not group.exists()


def test_a_group_that_nothing_is_in_is_ours(home: Path) -> None:
    assert kept_in(str(home), nobody) == BOTH | {"cpu"}
    assert asked(home) == "+memory +pids"


def test_what_is_limited_already_is_not_asked_for_again(home: Path) -> None:
    (home / "cgroup.subtree_control").write_text("memory pids\n")
    (home / "cgroup.procs").write_text("7\n")
    assert kept_in(str(home), nobody) == BOTH | {"cpu"}
    assert asked(home) == "memory pids\n"


def test_a_group_with_others_in_it_stays_as_it_is(home: Path) -> None:
    (home / "cgroup.procs").write_text("7\n8\n")
    assert kept_in(str(home), lambda pid: pid == 7) == {"cpu"}
    assert asked(home, lambda pid: pid == 7) == ""


def test_what_is_ours_is_moved_but_not_out_of_a_service(home: Path) -> None:
    (home / "cgroup.procs").write_text("7\n")
    assert kept_in(str(home), everybody) == BOTH | {"cpu"}
    service = home.rename(home.with_name("sow.service"))
    assert kept_in(str(service), everybody) == {"cpu"}
    assert asked(service, everybody) == ""
    assert not (service / "sow-rest").exists()


def test_the_machines_own_group_is_nobodys(home: Path) -> None:
    (home / "cgroup.type").unlink()
    assert kept_in(str(home), everybody) == {"cpu"}
    assert asked(home, everybody) == ""


def test_without_controllers_nothing_is_asked_for(home: Path) -> None:
    (home / "cgroup.controllers").write_text("cpu hugetlb\n")
    assert kept_in(str(home), everybody) == {"cpu"}
    assert asked(home, everybody) == ""


def test_without_groups_nothing_is_kept(tmp_path: Path) -> None:
    assert kept_in("", everybody) == frozenset()
    assert kept_in(str(tmp_path / "none"), everybody) == frozenset()
    delegate("", everybody)


def group_in(folder: Path) -> AgentGroup:
    made = object.__new__(AgentGroup)
    made.folder = str(folder)
    return made


@pytest.mark.parametrize(
    ("events", "is_killed"),
    [
        ("low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 1\n", True),
        ("low 0\nhigh 0\nmax 31\noom 0\noom_kill 1\n", False),
        ("low 0\nhigh 0\nmax 31\noom 1\noom_kill 0\n", False),
        ("", False),
    ],
    ids=["its own limit", "the machine was short", "it got on", "nothing is known"],
)
def test_who_ran_out_of_memory(tmp_path: Path, events: str, is_killed: bool) -> None:
    (tmp_path / "memory.events").write_text(events)
    assert group_in(tmp_path).was_out_of_memory() is is_killed


def test_what_was_refused_and_spent(tmp_path: Path) -> None:
    group = group_in(tmp_path)
    assert not group.was_refused_processes()
    assert group.cpu_seconds() == 0
    (tmp_path / "pids.events").write_text("max 3\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n")
    assert group.was_refused_processes()
    assert group.cpu_seconds() == 1.5


def test_a_limit_that_cannot_be_set_is_not_kept(tmp_path: Path) -> None:
    group = group_in(tmp_path)
    assert not group.limit_memory(10**8)
    assert not group.limit_processes(10)
    for name in ("memory.max", "memory.oom.group", "pids.max"):
        (tmp_path / name).touch()
    assert group.limit_memory(10**8)
    assert group.limit_processes(10)
    assert (tmp_path / "memory.max").read_text() == "100000000"
    assert (tmp_path / "memory.oom.group").read_text() == "1"
    assert not (tmp_path / "memory.swap.max").exists()
