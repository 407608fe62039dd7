"""What the journeys of batches share: repositories, and what authors and reviewers do there."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from journeys.callers import all_jobs, report
from journeys.gitsite import git, make_repository
from journeys.site import Site

from sow.paths import Workspace
from sow.schema.job import Job
from sow.state.tasks import add_task

YOLO: dict[str, Any] = {
    "agents": {"executors": {"claude-code": {"type": "claude", "settings": {"yolo_mode": True}}}}
}
COMPLETES = [report("completed")]

Steps = list[dict[str, Any]]


def add(site: Site, dependencies: Mapping[str, Sequence[str]]) -> None:
    """Add tasks with what they depend on."""
    for task, before in dependencies.items():
        add_task(
            Workspace(site.root),
            name=f"Task {task}",
            agent="implementer",
            now=time.time(),
            task_id=task,
            depends_on=before,
        )


def diamond(site: Site) -> None:
    """Four tasks: 020 and 030 after 010, and 040 after both."""
    site.project("010")
    add(site, {"020": ["010"], "030": ["010"], "040": ["020", "030"]})


def shell(command: str) -> dict[str, Any]:
    return {"shell": command}


def author(command: str) -> Steps:
    """An author that runs a command and leaves its work for review."""
    return [shell(command), report()]


def correct(findings: str, task: str) -> Steps:
    """A reviewer that asks for corrections."""
    return [
        shell(f"echo '{findings}' >findings.md"),
        {"sow": ["review", "correct", task, "--file", "findings.md"]},
    ]


def accept(task: str) -> Steps:
    """A reviewer that accepts."""
    return [{"sow": ["review", "accept", task, "--summary", "Good."]}]


def repository(
    site: Site, *tasks: str, checks: str | None = None, worker: Mapping[str, Any] | None = None
) -> None:
    """Make a repository whose tasks work in clones; `checks` is the command line of its check."""
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".standin\n.sow/run\n.sow/project\n")
    site.configure({**YOLO, **({"worker": dict(worker)} if worker else {})})
    site.project(*tasks)
    settings: dict[str, Any] = {"batch": {"clone": True}}
    if checks is not None:
        settings["checks"] = {"unit": checks, "default": ["unit"]}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    git(site, "add", "-A")
    git(site, "commit", "-qm", "settings")
    if checks is not None:
        site.sow("trust", "--yes")


def accept_by_check(site: Site) -> None:
    """Have a check that is always green complete what the authors of a batch leave."""
    checks = {"green": "true", "default": ["green"]}
    settings = {"checks": checks, "batch": {"check": True, "accept": "check"}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    site.sow("trust", "--yes")


def actions(site: Site, task: str) -> list[str | None]:
    """Return what the batch wanted by each job of a task."""
    return [job.batch_deed for job in all_jobs(site) if job.task_id == task]


def of_batch(site: Site, batch: int = 1) -> list[Job]:
    return [job for job in all_jobs(site) if job.batch == batch]
