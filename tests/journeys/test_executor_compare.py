"""`sow executor compare`: two stand-ins do the same tasks in clones of HEAD."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from journeys.batch_site import accept
from journeys.gitsite import commit, make_repository
from journeys.json_contract import hold
from journeys.own_folders import nothing_left, signals_as_usual
from journeys.site import Result, Site, wait_until
from standins import read_runs

YOLO = {"yolo_mode": True}
TASKS = [
    {"key": "write", "name": "Write it", "agent": "implementer"},
    {"key": "more", "name": "Write more", "agent": "implementer", "depends_on": ["write"]},
]
REPORT = {"sow": ["task", "set", "status", "needs_review"]}
WRITES = [{"shell": 'echo "$SOW_EXECUTOR" >file'}, REPORT]


@pytest.fixture
def site(site: Site) -> Iterator[Site]:
    """A repository that has committed its project and the scripts of its stand-ins."""
    make_repository(site)
    types = {"claude-code": "claude", "cursor": "cursor"}
    executors = {name: {"type": kind, "settings": YOLO} for name, kind in types.items()}
    site.configure({"agents": {"executors": executors}})
    site.project("900")
    (site.base / "tasks.yaml").write_text(yaml.safe_dump(TASKS))
    with nothing_left(site):
        yield site


def compared(site: Site, *words: str, expect: int = 0) -> list[dict[str, Any]]:
    """Compare the two, and return the records."""
    ended = compare(site, *words, "--json", expect=expect)
    hold("executor compare", ended.json_lines)
    return list(ended.json_lines)


def compare(site: Site, *words: str, expect: int = 0) -> Result:
    """Compare the two; nothing of the user's checkout is another one afterwards."""
    before = checksums(site.root)
    file = str(site.base / "tasks.yaml")
    both = ("--executors", "claude-code,cursor")
    ended = site.sow("executor", "compare", file, *both, *words, "--yes", expect=expect)
    assert checksums(site.root) == before
    return ended


def checksums(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def settle_checks(site: Site) -> None:
    checks = {"unit": "grep -q claude file", "default": ["unit"]}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"checks": checks}))


def test_each_does_all_tasks_in_their_order_and_no_check_that_is_not_trusted_runs(
    site: Site,
) -> None:
    settle_checks(site)
    site.script([WRITES], task="010")
    site.script([[{"shell": "grep -q . file"}, REPORT]], task="020")
    commit(site)
    rows = compared(site)
    assert [(row["executor"], row["task"], row["key"]) for row in rows] == [
        ("claude-code", "010", "write"),
        ("claude-code", "020", "more"),
        ("cursor", "010", "write"),
        ("cursor", "020", "more"),
    ]
    assert {row["status"] for row in rows} == {"needs_review"}
    assert {row["check_passed"] for row in rows} == {None}
    assert all(row["used"]["run_count"] == 1 for row in rows)


def test_checks_that_are_trusted_judge_the_work_and_send_it_back(site: Site) -> None:
    (site.base / "tasks.yaml").write_text(yaml.safe_dump(TASKS[:1]))
    settle_checks(site)
    site.script([WRITES], task="010")
    commit(site)
    site.sow("trust", "--yes")
    good, bad = compared(site, "--max-iterations", "1", expect=1)
    assert (good["status"], good["check_passed"], good["iteration"]) == ("completed", True, 1)
    assert (bad["status"], bad["check_passed"], bad["iteration"]) == ("needs_review", False, 2)
    assert (bad["executor"], bad["used"]["run_count"]) == ("cursor", 2)


def test_the_reviewer_is_the_user_s_own(site: Site) -> None:
    (site.base / "tasks.yaml").write_text(yaml.safe_dump(TASKS[:1]))
    site.script([WRITES, accept("010")], task="010")
    commit(site)
    table = [re.split("  +", line) for line in compare(site, "--review").out.splitlines()]
    assert table[0][:6] == ["EXECUTOR", "TASK", "NAME", "STATUS", "CHECK", "REVIEW"]
    assert [row[:6] for row in table[1:]] == [
        [executor, "010", "Write it", "completed", "-", "accepted"]
        for executor in ("claude-code", "cursor")
    ]


def test_what_cannot_be_compared_is_refused_before_anything_runs(site: Site) -> None:
    file = str(site.base / "tasks.yaml")
    commit(site)
    asked = ("executor", "compare", file, "--executors")
    assert "each do 2 tasks" in site.sow(*asked, "cursor", expect=2).err
    site.sow(*asked, "cursor,nobody", "--yes", expect=5)
    assert "name at least one" in site.sow(*asked, ",", "--yes", expect=2).err


@pytest.mark.one_of("comparisons that are cut")
def test_when_the_time_is_up_it_prints_what_there_is(site: Site) -> None:
    """Some four seconds: nothing shorter is sure to come to the run that is cut."""
    site.script([[{"hang": True}]], task="010")
    commit(site)
    ended = compare(site, "--wait", "4s", "--json", expect=75)
    rows = ended.json_lines
    assert [(row["executor"], row["task"]) for row in rows] == [
        ("claude-code", "010"),
        ("claude-code", "020"),
    ]
    assert not {row["status"] for row in rows} & {"needs_review", "completed"}
    assert "cursor: the time was up" in ended.err
    assert "The time of --wait is up" in ended.err


@pytest.mark.one_of("comparisons that are cut")
def test_a_comparison_that_is_ended_leaves_nothing(site: Site) -> None:
    site.script([[{"hang": True}]], task="010")
    commit(site)
    file = str(site.base / "tasks.yaml")
    words = ("executor", "compare", file, "--executors", "claude-code,cursor", "--yes")
    process = site.start(*words, preexec_fn=signals_as_usual)
    places = site.base / "tmp"
    wait_until(lambda: any(places.glob("sow-*/*/.standin/runs.jsonl")), "it runs")
    (folder,) = places.glob("sow-*/claude-code")
    (run,) = read_runs(folder)
    process.terminate()
    process.communicate()
    assert process.returncode == 130
    assert not Path(f"/proc/{run.pid}").exists()
