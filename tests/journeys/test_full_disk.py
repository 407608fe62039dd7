"""A disk that is full or read-only: clear errors, nothing half-written, nothing lost (§10)."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from journeys.callers import gate, good
from journeys.site import SOW, Result, Site, wait_until
from journeys.staff import QUICK, write_program
from journeys.test_worker_short_of_room import HELD_UP
from own_queue import make_own, sign

from sow.paths import Workspace

DISK_BYTES = 1_500_000
GOLDEN = Path(__file__).parents[1] / "jobs/golden/format-1.tar.gz"
HOLDER = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec sleep infinity'
ENTER = 'cd "$1" && shift && exec "$@"'


@dataclass
class SmallDisk:
    """A repository on a disk of its own, which only a mount namespace knows."""

    site: Site
    holder: subprocess.Popen[str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The repository, as seen from outside."""
        return Path(f"/proc/{self.holder.pid}/root{self.site.root}")

    def argv(self, *words: str) -> list[str]:
        enter = ["nsenter", "--mount", "--target", str(self.holder.pid)]
        return [*enter, "sh", "-c", ENTER, "-", str(self.site.root), *words]

    def run(self, *words: str) -> Result:
        done = subprocess.run(
            self.argv(*words),
            env=self.site.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def sow(self, *words: str, expect: int = 0) -> Result:
        result = self.run(str(SOW), *words)
        assert result.code == expect, result
        return result

    def start(self, *words: str) -> subprocess.Popen[str]:
        return self.start_program(str(SOW), *words)

    def start_program(self, *argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.argv(*argv),
            env=self.site.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    @property
    def ballast(self) -> Path:
        return self.root / "ballast"

    def fill(self) -> None:
        """Leave no free block."""
        with self.ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096) == 4096:
                    pass
            except OSError:
                return

    def empty(self) -> None:
        self.ballast.unlink()

    def task(self) -> Path:
        (folder,) = self.root.glob(".sow/project/phases/*/tasks/010")
        return folder

    def close(self) -> None:
        if self.ballast.exists():
            self.empty()
        if (self.root / ".sow/run/queue.db").exists():
            self.run(str(SOW), "worker", "stop", "--end-agents")
        for process in self.started:
            process.kill()
            process.communicate()
        self.holder.kill()
        self.holder.communicate()


@pytest.fixture
def disk(site: Site) -> Iterator[SmallDisk]:
    """A project with one task on a disk of a megabyte and a half."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nsenter"):
        skip_or_fail("a mount namespace needs root, unshare and nsenter")
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", HOLDER, "-", str(site.root), str(DISK_BYTES)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout
    if holder.stdout.readline() != "mounted\n":
        skip_or_fail("a tmpfs cannot be mounted")
    site.configure({"worker": {**QUICK, "min_free_disk": 0}})
    made = SmallDisk(site, holder)
    made.sow("init")
    made.sow("project", "new", "Small", "--type", "quick")
    made.sow("task", "add", "Fit in", "--agent", "implementer")
    yield made
    made.close()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


REFUSED = [
    (("task", "set", "010", "name", "Longer"), 4),
    (("agent", "log", "Tried", "--task", "010"), 4),
    (("task", "add", "Another", "--agent", "implementer"), 4),
    (("agent", "spawn", "implementer", "010", "--detach"), 6),
]
"""What would write, and the exit code when it cannot."""


def test_a_full_disk_is_told_and_nothing_is_half_written(disk: SmallDisk) -> None:
    disk.sow("queue", "pause")
    disk.sow("queue", "resume")
    disk.fill()
    before = files(disk.root / ".sow/project")
    for words, code in REFUSED:
        error = disk.sow(*words, expect=code).err
        assert error.startswith("Error: "), words
        assert "space left" in error or "disk is full" in error, words
        assert "ree space" in error, words
    for words in (("task", "list"), ("task", "show", "010"), ("job", "list"), ("queue", "status")):
        disk.sow(*words)
    after = {name: text for name, text in files(disk.root / ".sow/project").items() if text}
    assert after == {name: text for name, text in before.items() if text}
    disk.empty()
    disk.sow("task", "set", "010", "name", "Longer")
    assert disk.sow("task", "show", "010", "--json").json["name"] == "Longer"


def test_a_read_only_disk_is_told(disk: SmallDisk) -> None:
    disk.sow("queue", "pause")
    disk.sow("queue", "resume")
    assert disk.run("mount", "-o", "remount,ro", str(disk.site.root)).code == 0
    for words, code in (*REFUSED, (("queue", "pause"), 6), (("worker", "--drain"), 6)):
        error = disk.sow(*words, expect=code).err
        assert error.startswith("Error: "), words
        assert "\n\n" in error.strip(), words
    assert disk.sow("task", "list", "--json").json["status"] == "pending"
    assert disk.run("mount", "-o", "remount,rw", str(disk.site.root)).code == 0


def test_an_agent_that_ends_on_a_full_disk_is_settled_once_there_is_room(disk: SmallDisk) -> None:
    script = disk.root / ".standin"
    script.mkdir()
    (script / "default.json").write_text(json.dumps([[{"say": "one"}, gate("go")], good()]))
    disk.sow("agent", "spawn", "implementer", "010", "--detach")
    worker = disk.start("worker", "--drain")
    wait_until((script / "runs.jsonl").exists, "the agent runs")
    disk.fill()
    (script / "go.gate").symlink_to("/")  # takes no block
    wait_until(lambda: "cannot write exit.json" in supervisor_log(disk) or not room(disk), "an end")
    assert disk.sow("task", "show", "010", "--json").json["status"] == "in_progress"
    disk.empty()
    out, _ = worker.communicate(timeout=240)
    assert worker.returncode == 0, out
    assert disk.sow("task", "show", "010", "--json").json["status"] == "needs_review"


def test_a_disk_that_is_full_when_an_agent_is_to_start_costs_nothing(disk: SmallDisk) -> None:
    """Neither the prompt nor the job's wait can be written: its worker comes back to it."""
    disk.sow("agent", "spawn", "implementer", "010", "--detach")
    program = write_program(disk.site, "held_up.py", HELD_UP.format(function="_write_files"))
    worker = disk.start_program(sys.executable, "-P", str(program), "--drain")
    wait_until((disk.root / "claimed").exists, "the job is claimed")
    disk.fill()
    (disk.root / "enter").symlink_to("/")  # takes no block
    assert worker.stdout is not None
    line = ""
    while "cannot be started" not in line and "could not be started" not in line:
        line = worker.stdout.readline()
        assert line, "the worker goes on"
    disk.empty()
    out, _ = worker.communicate(timeout=240)
    assert (worker.returncode, "Traceback" in out) == (0, False), out
    assert disk.sow("task", "show", "010", "--json").json["status"] == "needs_review"
    (job,) = disk.sow("job", "list", "--json").json_lines
    assert (job["state"], job["cause"]) == ("done", "reported")


def supervisor_log(disk: SmallDisk) -> str:
    return (disk.root / ".sow/run/jobs/1/1/supervisor.log").read_text()


def room(disk: SmallDisk) -> int:
    stat = os.statvfs(disk.root)
    return stat.f_bavail * stat.f_bsize


UPGRADES = """
import os, sys
from pathlib import Path
from sow.errors import QueueError
from sow.jobs.database import FORMAT, open_queue
from sow.paths import Workspace

workspace, ballast = Workspace(Path.cwd()), Path("ballast")
refused, form = 0, 1
while True:
    try:
        open_queue(workspace).close()
    except QueueError as error:
        refused += 1
        assert "run the command again" in error.hint, error.hint
        version = int.from_bytes(workspace.queue_db.read_bytes()[60:64], "big")
        assert form <= version < FORMAT, version  # each step by itself, and none back
        form = version
    else:
        break
    os.truncate(ballast, ballast.stat().st_size - 4096)
print(refused)
"""


def test_a_queue_is_brought_up_to_date_when_there_is_room_for_it(
    disk: SmallDisk, tmp_path: Path
) -> None:
    """With one page of room more each time: refused and as it was, until all of it fits."""
    with tarfile.open(GOLDEN) as archive:
        file = archive.extractfile("repo/.sow/run/queue.db")
        assert file is not None
        data = file.read()
    signed = tmp_path / "signed.db"  # SQLite finds no way through /proc to the disk
    signed.write_bytes(data)
    run = disk.root / ".sow/run"
    for folder in (run, run / "workers", run / "waiters"):
        folder.mkdir(mode=0o700, exist_ok=True)
    sign(signed, run)
    data = signed.read_bytes()
    (run / "queue.db").write_bytes(data)
    make_own(Workspace(disk.root))
    disk.fill()
    done = disk.run(sys.executable, "-c", UPGRADES)
    assert done.code == 0, done
    assert int(done.out) > len(data) // 4096, "there was room for the copy from the beginning"
    copy = (run / "queue.db.format-1").read_bytes()
    assert sorted(path.name for path in run.iterdir() if path.name.startswith(".")) == []
    disk.empty()
    listed = disk.sow("job", "list", "--json").json_lines
    assert [job["job"] for job in listed] == [5, 4, 3, 2, 1]
    assert int.from_bytes(copy[60:64], "big") == 1
