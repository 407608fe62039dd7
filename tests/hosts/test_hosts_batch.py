"""A batch over three hosts ends by itself: authors work there, the project's branch moves here.

Two of its tasks change the same file, so one of them has a conflict to solve.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosts.fleet import OWNER, Fleet, open_fleet
from proving import FOLDER

pytestmark = [
    pytest.mark.storm,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
]
HOSTS = ("host_a", "host_b", "host_c")
TASKS = 30 if FOLDER else 6
AUTHOR = """\
#!/bin/sh
if [ -e .git/MERGE_HEAD ]; then
    sed -i '/^[<=>]/d' shared.txt
    git add -A && git commit --quiet --message Solve
elif [ "$SOW_TASK_ID" = 010 ] || [ "$SOW_TASK_ID" = 020 ]; then
    echo "by $SOW_TASK_ID" >>shared.txt
fi
sleep 1
echo "on $(hostname)" >"$SOW_TASK_ID.txt"
sow task set status needs_review
"""
REVIEWER = """\
#!/bin/sh
test -e "$SOW_TASK_ID.txt" && test -e made && sow review accept "$SOW_TASK_ID" --summary Good.
"""
SETTINGS = {
    "clones": {"setup": "touch made"},
    "checks": {"unit": "test -e made && ls | grep -q 0.txt", "default": ["unit"]},
}


def configuration(fleet: Fleet, **more: Any) -> dict[str, Any]:
    """Return the configuration of a user of any machine."""
    executors = {}
    for name, script in (("author", AUTHOR), ("judge", REVIEWER)):
        path = fleet.base / f"{name}.sh"
        path.write_text(script)
        path.chmod(0o755)
        executors[name] = {"type": "command", "settings": {"command": [str(path)]}}
    bindings = {"implementer": "author", "reviewer": "judge"}
    agents = {"executors": executors, "bindings": bindings}
    return {"agents": agents, "worker": {"autostart": False, "concurrency": 2}, **more}


def shown(fleet: Fleet, *words: str) -> str:
    """Return what git says of the project's branch at the owner's."""
    argv = ["git", "-C", str(fleet.checkout(OWNER)), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.one_of("what shows storms over hosts")
def test_a_batch_with_checks_reviews_and_merges_ends_by_itself(tmp_path: Path) -> None:
    with open_fleet(tmp_path) as fleet:
        tasks = fleet.begin_project(TASKS, config=yaml.safe_dump(SETTINGS))
        (fleet.checkout(OWNER) / "shared.txt").touch()
        fleet.publish()
        fleet.admit(HOSTS)
        here = {"url": fleet.url("sow"), "executors": ["judge"]}
        fleet.configure(OWNER, configuration(fleet, queue=here))
        for name in HOSTS:
            there = {"url": fleet.url(name), "executors": ["author"]}
            fleet.add_host(name, configuration(fleet, queue=there))
        for name in (OWNER, *HOSTS):
            fleet.sow(name, "trust", "--yes")
            fleet.start_worker(name)
        batch = fleet.sow(OWNER, "batch", "run", *tasks, "--check", "--review", "--merge")
        assert f"{TASKS} done" in batch.out, batch
        where = {shown(fleet, "show", f"main:{task}.txt").strip() for task in tasks}
        assert where == {f"on {name}" for name in HOSTS}, "each host had its share"
        shared = shown(fleet, "show", "main:shared.txt").splitlines()
        assert sorted(shared) == ["by 010", "by 020"]
        ran = fleet.rows("select job.verb, host from attempt join job on job.id = job_id")
        assert {verb for verb, host in ran if host == "sow"} >= {"review", "update", "merge"}
        assert "check" in {verb for verb, _ in ran}, "wherever there was room"
