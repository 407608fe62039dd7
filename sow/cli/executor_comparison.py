"""How an executor does the tasks of a comparison: in a clone of HEAD, one after the other.

Owns the clone and the loop over its tasks. Each call of it names the executor by the environment,
which a batch cannot do: a worker places the jobs of one. Nothing in the user's checkout is changed.
"""

import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from sow.agents.roles import AGENTS
from sow.cli import late_click as click
from sow.cli.own_repository import OwnFolder, OwnRepository, environment_for
from sow.cli.trial_time import TrialTime
from sow.config.checks import checks_of, read_repository
from sow.errors import SowError
from sow.git.repository import repository_of
from sow.git.run import LONG_SECONDS, git
from sow.paths import SOW_FOLDER, Workspace
from sow.schema.output.costs import CostSum
from sow.schema.output.executors import ComparedTask
from sow.trust.accepted import command_lines, is_accepted, text_of

REVIEWERS = ("reviewer", "security-reviewer")
"""The roles that stay with the user's own executors."""
OF_USERS_PROJECT = ("project", "run", "clones")
"""What lies in `.sow` and is no setting, where a repository has committed it."""
STILL_RUNNING = 75
LOOK_THERE = "With --keep FOLDER the clones stay: run `sow status` and `sow job list` in them."
CORRECT = "The checks of your task have failed. `sow task show` says which. Correct your work."


class Comparison(NamedTuple):
    """What is compared."""

    workspace: Workspace
    tasks: Path
    """The file of tasks."""
    tasks_name_checks: bool
    """Whether each of them names its checks."""
    review: bool
    max_iterations: int
    """How often work may go back to its author."""
    time: TrialTime


def done_by(wanted: Comparison, name: str, own: OwnFolder) -> list[ComparedTask]:
    """Have an executor do the tasks in a clone of its own, and return what came of each.

    What is not done when the time is up stays as it is. Its worker is left to the end of `own`.
    """
    environ = environment_for(name, [each.name for each in AGENTS if each.name not in REVIEWERS])
    root = _clone(wanted.workspace, own.path / folder_name(name))
    repository = own.new_repository(root, environ)
    checks = _begin(repository, wanted)
    own.note_project(repository)
    unjudged = _do_all(repository, wanted, checks=checks)
    listed = [each["task"] for each in repository.need("task", "list").records]
    shown = repository.need("task", "show", *listed).records if listed else ()
    return [_compared(name, task, unjudged) for task in shown]


def folder_name(executor: str) -> str:
    """Return the name of an executor's folder: its own, as far as a folder can have that."""
    name = quote(executor, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _clone(workspace: Workspace, folder: Path) -> Path:
    """Clone HEAD; return what the workspace's root is in the clone, without any project."""
    main = repository_of(workspace.root)
    words = ("clone", "--quiet", "--no-hardlinks", "--template=", str(main.top), str(folder))
    git(folder.parent, *words, seconds=LONG_SECONDS)
    git(folder, "remote", "remove", "origin")  # nothing of it can be pushed
    root = folder / Path(os.path.realpath(workspace.root)).relative_to(main.top)
    for part in OF_USERS_PROJECT:
        shutil.rmtree(root / SOW_FOLDER / part, ignore_errors=True)
    return root


def _begin(repository: OwnRepository, wanted: Comparison) -> bool:
    """Begin a project with the tasks; return whether they are checked."""
    repository.need("init")
    repository.need("project", "new", "compare", "--type", "quick")
    repository.need("task", "import", str(wanted.tasks), "--new-phase")
    source = read_repository(Workspace(repository.folder).repository_config)
    lines, checks = command_lines(source.content), checks_of(source)
    if not checks.commands:
        return False
    if not (checks.default or wanted.tasks_name_checks):
        return _without_checks("some tasks name no check, and checks.default is not set")
    if not is_accepted(wanted.workspace, text_of(lines), os.environ):
        return _without_checks("HEAD has command lines that you have not accepted")
    repository.need("trust", "--yes")
    return True


def _without_checks(reason: str) -> bool:
    click.echo(f"Note: no checks run: {reason}", err=True)
    return False


def _do_all(repository: OwnRepository, wanted: Comparison, *, checks: bool) -> set[str]:
    """Do each task when those that it depends on are completed; return what nothing has judged."""
    unjudged = set()
    while ready := repository.need("task", "list", "--ready").records:
        if wanted.time.is_up:
            break
        task = ready[0]["task"]
        _do(repository, wanted, task, checks=checks)
        status = _shown(repository, task)["status"]
        if status == "pending" and not wanted.time.is_up:  # else it would be begun for ever
            raise SowError(f"task {task} could not be begun", hint=LOOK_THERE)
        if status == "needs_review" and not (checks or wanted.review):
            unjudged.add(task)
            repository.need("task", "set", task, "status", "completed")
    return unjudged


def _do(repository: OwnRepository, wanted: Comparison, task: str, *, checks: bool) -> None:
    """Have a task done, judged and corrected, and complete it if all judges are content."""
    if not _call(repository, wanted, "agent", "spawn", task, "--no-clone"):
        return
    for corrections_left in reversed(range(wanted.max_iterations + 1)):
        again = _judged(repository, wanted, task, checks=checks)
        if again is None:
            return
        if not again:
            if checks or wanted.review:
                repository.need("task", "set", task, "status", "completed")
            return
        if not corrections_left or not _call(repository, wanted, "agent", "resume", task, *again):
            return


def _judged(
    repository: OwnRepository, wanted: Comparison, task: str, *, checks: bool
) -> tuple[str, ...] | None:
    """Return what sends the work back; nothing if it is good, None if nobody could judge it."""
    if _shown(repository, task)["status"] != "needs_review":
        return None
    if checks:
        if not _call(repository, wanted, "task", "check", task):
            return None
        result = _shown(repository, task)["check"]
        if result is None:
            return None
        if not result["passed"]:
            return (CORRECT,)
    if wanted.review:
        if not _call(repository, wanted, "agent", "review", task):
            return None
        verdict = _shown(repository, task)["review"]
        if verdict is None:
            return None
        if verdict["verdict"] != "accepted":
            return ("--feedback",)
    return ()


def _call(repository: OwnRepository, wanted: Comparison, *words: str) -> bool:
    """Make a call and wait for its job; return whether it ended in time. Raises SowError."""
    if wanted.time.is_up:
        return False
    answer = repository.call(*words, time=wanted.time)
    if "error" in answer.record:
        raise SowError(f"`sow {' '.join(words)}` was refused: {answer.fault}", hint=LOOK_THERE)
    if answer.code == STILL_RUNNING:
        repository.ask("job", "cancel", str(answer.record["job"]))
        return False
    return True


def _shown(repository: OwnRepository, task: str) -> Any:
    return repository.need("task", "show", task).record


def _compared(executor: str, task: Any, unjudged: set[str]) -> ComparedTask:
    check, review = task["check"], task["review"]
    return ComparedTask(
        executor=executor,
        task=task["task"],
        key=task["key"],
        name=task["name"],
        status="needs_review" if task["task"] in unjudged else task["status"],
        check_passed=None if check is None else check["passed"],
        verdict=None if review is None else review["verdict"],
        iteration=task["iteration"],
        used=None if task["used"] is None else msgspec.convert(task["used"], CostSum),
    )
