"""`git clean -ffdx` in the middle of a batch: finished work lies in the clones, and is taken up."""

import os
import signal
import subprocess
from contextlib import closing

from journeys.batch_site import author, repository
from journeys.callers import Step, all_jobs, queue
from journeys.gitsite import git
from journeys.site import Site, wait_until

from sow.jobs import workers
from sow.schema.job import Verb

CALL = ("batch", "run", "--clone", "--check", "--merge", "--accept", "check", "--json")


def gated(site: Site, task: str) -> list[Step]:
    """An author that commits, waits for a word, and reports."""
    work = f"echo {task} >made-{task}; git add -A; git commit -qm {task}"
    waits = f"touch '{site.base}/at-{task}'; while [ ! -e '{site.base}/go' ]; do sleep 0.05; done"
    return author(f"{work}; {waits}")


def test_what_is_whole_in_a_clone_is_taken_up_without_a_run(site: Site) -> None:
    repository(site, "010", "020", checks="ls made-*")
    for task in ("010", "020"):
        site.script([gated(site, task)], task)
    caller = site.start(*CALL, stderr=subprocess.DEVNULL)
    for task in ("010", "020"):
        wait_until((site.base / f"at-{task}").exists, f"{task} has committed")
    with closing(queue(site)) as database:
        pids = [record.process.pid for record in workers.registered(database)]
    for pid in (*pids, caller.pid):
        os.kill(pid, signal.SIGKILL)
    caller.wait()
    git(site, "clean", "-ffdxq", "-e", ".standin")
    (site.base / "go").touch()
    wait_until(lambda: all_report(site), "both report, though their queue is gone")

    done = site.sow(*CALL).json

    assert (done["state"], done["counts"]) == ("over", {"done": 2}), done
    assert {job.verb for job in all_jobs(site)} <= {Verb.CHECK, Verb.MERGE, Verb.UPDATE}
    assert git(site, "show", "main:made-010", "main:made-020") == "010\n020\n"


def all_report(site: Site) -> bool:
    """Whether both tasks are reported; a look puts back what git has taken."""
    tasks = site.sow("task", "list", "--json").json_lines
    return [task["status"] for task in tasks] == ["needs_review"] * 2
