"""Make `format-1.tar.gz`: a queue file as the sow of commit 265a1be leaves it, with jobs in it.

    python tests/jobs/golden/make_format_1.py TARGET

That commit's own code does all of it: its callers, its worker, its
supervisors; its worker and one agent are killed with SIGKILL. The archive is
never made anew once it is committed: it is what such files looked like.

What lies in it, task by task (see `tests/journeys/test_queue_golden.py`):

    010  done, and owed: its caller was killed while the agent ran
    020  parked by a usage limit
    030  waits in backoff, after a crash
    040  running: a lease, an attempt that had begun its session; all were killed
    050  queued
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

from journeys.callers import await_runs, gate, good  # noqa: E402
from journeys.first_form import COMMIT, install_first_sow  # noqa: E402
from journeys.site import Site, make_site, wait_until  # noqa: E402

PARKED_SECONDS = 3600
AGENT = [{"sow": ["agent", "log", "Begun"]}]


def make(site: Site, first: Path) -> None:
    """Bring the queue to the state that the module's docstring tells of."""
    site.configure({"worker": {"autostart": False}})
    site.project("010", "020", "030", "040", "050")
    (site.base / "bin/sow").write_text(f'#!/bin/sh\nexec {first} "$@"\n')
    (site.base / "bin/sow").chmod(0o755)
    site.script([good(gate("owed"))], "010")
    site.script([[{"rate_limit": 0, "in": PARKED_SECONDS}, {"error_result": 429}], good()], "020")
    site.script([[*AGENT, {"crash": 3}], good()], "030")
    site.script([[*AGENT, gate("never")], good()], "040")
    site.script([good()], "050")

    worker = start(site, first, "worker")
    caller = start(site, first, "agent", "spawn", "implementer", "010")
    await_runs(site)
    wait_until(lambda: rows(site, "select * from waiter"), "the caller waits")
    caller.kill()
    caller.wait()
    (site.root / ".standin/owed.gate").touch()
    await_state(site, "010", "done")
    for task in ("020", "040"):
        run(site, first, "agent", "spawn", "implementer", task, "--detach")
    await_state(site, "020", "parked")
    log = site.task_folder("040") / "log.md"
    wait_until(lambda: "Begun" in log.read_text(), "the agent of 040 is at work")
    run(site, first, "agent", "spawn", "implementer", "030", "--detach")
    await_state(site, "030", "backoff")
    worker.kill()
    worker.wait()
    run(site, first, "agent", "spawn", "implementer", "050", "--detach")
    end_agents(site)


def rows(site: Site, query: str) -> list[tuple[object, ...]]:
    """Ask the file without the help of today's sow, which would bring it up to date."""
    path = site.root / ".sow/run/queue.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as file:
        return file.execute(query).fetchall()


def await_state(site: Site, task: str, state: str) -> None:
    query = f"select 1 from job where task_id = '{task}' and state = '{state}'"
    wait_until(lambda: rows(site, query), f"task {task} is {state}")


def start(site: Site, first: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([str(first), *words], cwd=site.root, env=site.environment())


def run(site: Site, first: Path, *words: str) -> None:
    subprocess.run([str(first), *words], cwd=site.root, env=site.environment(), check=True)


def end_agents(site: Site) -> None:
    """Kill supervisors, then agents: the power is gone."""
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            if str(site.base).encode() in command or works_in(entry, site):
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue
    time.sleep(0.5)


def works_in(entry: Path, site: Site) -> bool:
    return (
        entry.name.isdecimal()
        and int(entry.name) != os.getpid()
        and str((entry / "cwd").readlink()).startswith(str(site.base))
    )


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out who owned the files, bells, which tar cannot unpack everywhere, and proofs.

    Those say that the file was made in another folder, which nobody has then.
    """
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.isfifo() or "/queue.own-" in member.name else member


def main(target: Path, commit: str = COMMIT) -> None:
    base = Path(tempfile.mkdtemp(prefix="sow-golden-"))
    site = make_site(base)
    try:
        make(site, install_first_sow(base / "first", commit))
        (base / "root.txt").write_text(str(site.root))
        with tarfile.open(target, "w:gz") as archive:
            archive.add(base / "root.txt", "root.txt", filter=plain)
            archive.add(site.root / ".sow", "repo/.sow", filter=plain)
            archive.add(site.root / ".standin", "repo/.standin", filter=plain)
            archive.add(base / "home/.claude", "home/.claude", filter=plain)
        for row in rows(site, "select id, task_id, state, cause, reason, retry_at from job"):
            print(*row)
    finally:
        end_agents(site)
        shutil.rmtree(base)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
