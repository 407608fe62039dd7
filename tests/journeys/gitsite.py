"""A site that is a git repository, with tasks in several states, and agents that run git."""

import subprocess
import time
from pathlib import Path

from journeys.site import Site
from journeys.staff import shell_executor

from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry
from sow.state.tasks import change_task, find_task
from sow.state.transitions import enter

AGENT = """
sow agent log "before git"
{command}
sow agent log "after git"
sow task set status needs_review
"""


def git(site: Site, *words: str, cwd: Path | None = None, stdin: str = "") -> str:
    """Run git in the repository and return what it says."""
    done = subprocess.run(
        ["git", *words],
        cwd=cwd or site.root,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def make_repository(site: Site) -> None:
    """Make the site a repository with one commit, before there is a project in it."""
    git(site, "init", "-q", "-b", "main")
    git(site, "config", "user.name", "A Tester")
    git(site, "config", "user.email", "tester@example.invalid")
    (site.root / "code.txt").write_text("code\n")
    commit(site, "code")


def commit(site: Site, words: str = "all") -> None:
    """Commit everything that is not ignored."""
    git(site, "add", "-A")
    git(site, "commit", "-q", "--allow-empty", "-m", words)


def take_through(site: Site, task: str, *statuses: TaskStatus) -> None:
    """Take a task from pending through these statuses."""
    now = time.time()
    for status in statuses:
        change_task(
            Workspace(site.root), task, lambda it, to=status: enter(it, to, now=now), now=now
        )


def write_down(site: Site, task: str, words: str) -> None:
    """Add an entry to a task's log."""
    folder = find_task(Workspace(site.root), task).folder
    append_entry(folder, LogEntry("2026-01-31T12:00:00Z", "implementer", words))


def others_at_work(site: Site) -> None:
    """Complete 020, have 030 in review, and leave logs and feedback behind."""
    take_through(site, "020", TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED)
    write_down(site, "020", "completed it")
    take_through(site, "030", TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW)
    write_down(site, "030", "asked for a review")
    (site.task_folder("030") / "feedback/001.md").write_text("Greet by name.\n")


def others_are_whole(site: Site) -> None:
    """Fail if anything of the other tasks was lost."""
    assert site.task("020")["status"] == "completed"
    assert "completed_at" in site.task("020")
    assert log_of(site, "020").count("completed it") == 1
    assert site.task("030")["status"] == "needs_review"
    assert log_of(site, "030").count("asked for a review") == 1
    assert (site.task_folder("030") / "feedback/001.md").read_text() == "Greet by name.\n"
    assert (site.task_folder("030") / "description.md").exists()


def log_of(site: Site, task: str) -> str:
    """Return a task's log."""
    return (site.task_folder(task) / "log.md").read_text()


def use_git_agent(site: Site, command: str, script: str = AGENT, **worker: object) -> None:
    """Have implementers run `command` in the repository, with a log entry before and after."""
    executor = shell_executor(site, "gitter", script.format(command=command))
    site.configure(
        {
            "agents": {"executors": {"gitter": executor}, "bindings": {"implementer": "gitter"}},
            "worker": worker,
        }
    )
