"""The kind `check`, as a worker asks it.

Owns which command lines are run, and that the outcome of a check of the whole project is put into
the project's state.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import UNSET

from sow.clones.copying import files_to_copy
from sow.config.checks import CheckCommand, checks_of, chosen, hash_of, read_repository
from sow.config.clones import clone_settings, setup_commands
from sow.config.command_sandbox import refuse_without_sandbox
from sow.config.source import Source
from sow.errors import ConfigurationError, StateError
from sow.faults import passing_fault
from sow.paths import AttemptPaths, Workspace
from sow.processes import process_facts
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import Job
from sow.schema.job_terms import CheckTerms
from sow.schema.project import ProjectCheck
from sow.schema.step_result import StepResult
from sow.state.lifecycle import record_check
from worker.context import WorkerContext, tell
from worker.kinds.step import (
    Place,
    StepKind,
    is_text,
    refuse_untrusted_commands,
)
from worker.steps.judged import ClonePlace
from worker.steps.program_input import BaseOrders, CheckOrders


class CheckKind(StepKind):
    """Jobs that run the project's own command lines."""

    works_in_clone = True

    def orders(
        self, context: WorkerContext, job: Job, place: Place, paths: AttemptPaths
    ) -> CheckOrders:
        """Return which command lines to run; they are those that were looked at here."""
        path = context.workspace.repository_config
        source = read_repository(path)
        names = job.check_names
        checks = checks_of(source)
        if context.workspace.host is not None:
            _refuse_other_lines(job, checks.commands, context.workspace.host)
        meant = chosen(checks, names, path)
        refuse_untrusted_commands(context, job, source)
        packages = process_facts.packages()
        base = _base_of(context, job, source)
        setup = setup_commands(clone_settings(source)[0]) if base else ()
        commands = (*setup, *(checks.commands[name] for name in meant))
        refuse_without_sandbox(commands)
        return CheckOrders(
            folder=str(paths.folder),
            cwd=str(place.folder),
            clone=_with_copied(place.clone, source.content),
            commands=commands,
            base=base,
            root=str(context.workspace.root),
            whole="" if job.task_id else str(context.workspace.root),
            packages=str(packages) if packages is not None else None,
        )

    def record_in_project(self, context: WorkerContext, job: Job, result: StepResult) -> None:
        """Put the outcome of a check of the project into its state, before the job ends."""
        terms = job.terms
        if result.check is None or not isinstance(terms, CheckTerms):
            return
        check = ProjectCheck(
            passed=result.check.passed,
            at=result.check.at,
            work=result.work,
            names=list(terms.names),
            commands={ran.name: ran.command for ran in result.check.results if ran.command},
        )
        try:
            record_check(context.workspace, check, now=context.now())
        except StateError as error:
            if passing_fault(error) is not None:
                raise
            tell(job, f"its result was not written to the project's state: {error.message}")


def _refuse_other_lines(job: Job, commands: Mapping[str, CheckCommand], host: Path) -> None:
    """Refuse to run other command lines than the task's home has. Raises ConfigurationError.

    `host` is the checkout here whose settings count.
    """
    wanted = job.terms.lines if isinstance(job.terms, CheckTerms) else UNSET
    for name, line in zip(job.check_names, wanted or (), strict=False):
        command = commands.get(name)
        if command is None or hash_of(command.run) != line:
            other = "no check" if command is None else "another command line for the check"
            raise ConfigurationError(
                f"host {os.uname().nodename} has {other} {name} in"
                f" {Workspace(host).repository_config}: that checkout is not up to date with the"
                " task's own. `git pull` there, then check again"
            )


def _base_of(
    context: WorkerContext, job: Job, source: Source[RepositoryConfigFile]
) -> BaseOrders | None:
    """Return which commit is checked instead of the task's work, if that was asked for."""
    if job.checked_commit is None:
        return None
    return BaseOrders(
        root=str(context.workspace.root),
        task=job.task_id,
        commit=job.checked_commit,
        settings=clone_settings(source)[0],
    )


def _with_copied(clone: ClonePlace | None, content: RepositoryConfigFile) -> ClonePlace | None:
    """Return a clone's place with the files that `clones.copy` means now, besides those on record.

    The user's own checkout says which: the clone's mark is in its agent's reach.
    """
    patterns = content.clones.copy if content.clones is not None else None
    if clone is None or not isinstance(patterns, list):
        return clone
    files, _ = files_to_copy(Path(clone.workspace), patterns)
    copied = [str(PurePosixPath(clone.inside, file)) for file in files if is_text(file)]
    return msgspec.structs.replace(clone, copied=(*clone.copied, *copied))


KIND = CheckKind()
