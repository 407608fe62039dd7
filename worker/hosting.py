"""What a host makes of the records of a queue that it shares with others: it has the last word.

Whoever may write to such a queue chooses what is to be done: a task, a prompt, and an executor's
name. What is run for it, with which arguments, permissions, PATH and settings, this host's own
configuration says, whatever the record has (`own_job`). What its user does not serve is not taken
(`served_here`), and what cannot be meant for a host is refused where it would start
(`refuse_unfit`). Owns these three. Nothing of it counts for a queue of one's own.
"""

import os
import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sow import __version__
from sow.agent_clis.known import AGENT_CLIS
from sow.agents.roles import get_agent
from sow.config.configuration import Configuration
from sow.config.load import read_executors
from sow.errors import ConfigurationError, SowError
from sow.executors.programs import binary_of, find_program
from sow.ids import is_slug, is_task_id
from sow.jobs.hosts import put_on_record
from sow.jobs.store import Serves
from sow.schema.batch import Batch
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Job, Lease
from sow.schema.job_terms import Fallback, JobTerms, change_fallback, commits_of, tasks_of
from sow.schema.kinds import kind_of
from worker.context import WorkerContext

COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
"""Sessions become arguments of a CLI: none is an option, or a path."""
SYSTEMS = {"Darwin": "macos"}
ARCHITECTURES = {"amd64": "x86_64", "aarch64": "arm64"}
"""One word for what systems call differently."""
HINT = "Whoever has queued it can queue it anew, with a sow of today."


def go_by_own_facts(context: WorkerContext) -> None:
    """Have this process go by its own facts in all that it reads of a shared queue."""
    database = context.database
    database.serves = served_here(context)

    def as_here(record: Any) -> Any:
        if not database.is_shared:
            return record
        if isinstance(record, Batch):
            return replace(record, path_variable=own_path(context))
        return own_job(context, record) if isinstance(record, Job) else record

    database.as_here = as_here


def served_here(context: WorkerContext) -> Serves:
    """Return what this host's user serves: executors whose programs are here, and owners.

    A host without a program would take all jobs for it, one after another, and fail each.
    """
    configuration, path = context.configuration, own_path(context)
    executors = {
        name: executor.max_parallel
        for name, executor in _allowed(configuration).items()
        if find_program(binary_of(executor, AGENT_CLIS[executor.type]), path) is not None
    }
    owners = configuration.served_owners
    return Serves(
        msgspec.json.encode(executors).decode(),
        None if owners is None else msgspec.json.encode(owners).decode(),
        msgspec.json.encode(labels_here(configuration.host_labels, executors)).decode(),
    )


def _allowed(configuration: Configuration) -> Mapping[str, ExecutorConfig]:
    """Return the executors that this host's user would have it run, by name."""
    wanted = configuration.served_executors
    known = configuration.executors.items()
    return {name: each for name, each in known if wanted is None or name in wanted}


def labels_here(own: Collection[str], executors: Collection[str]) -> list[str]:
    """Return what this host offers: its user's labels, and those that sow finds out by itself."""
    system = os.uname()
    found = {
        SYSTEMS.get(system.sysname, system.sysname.lower()),
        ARCHITECTURES.get(system.machine, system.machine.lower()),
        f"host:{system.nodename.lower()}",
        *(f"executor:{name}" for name in executors),
        *own,
    }
    return sorted(found)


def publish(context: WorkerContext) -> None:
    """Put on record what this host serves and offers, for whoever asks why a job waits."""
    serves = served_here(context)
    put_on_record(context.database, serves, version=__version__)


def own_path(context: WorkerContext) -> str:
    """Return where programs are looked for on this host."""
    return context.environ.get("PATH", os.defpath)


def own_job(context: WorkerContext, job: Job) -> Job:
    """Return a job as this host runs it: all that is of a machine is of this one."""
    path = context.configuration.path
    executors = _executors(path)
    return replace(
        job,
        executor=_own(executors, job.executor) if job.executor is not None else None,
        path_variable=own_path(context),
        config_file=str(path) if context.configuration.exists else "",
        terms=_own_terms(executors, job.terms),
    )


def _executors(path: Path) -> Mapping[str, ExecutorConfig]:
    try:
        return read_executors(path)
    except SowError:  # where an agent starts, it is told what is wrong with the file
        return {}


def _own(executors: Mapping[str, ExecutorConfig], recorded: ExecutorConfig) -> ExecutorConfig:
    """Return the executor of a name as it is here; where there is none, one that can do nothing.

    A start refuses that, and one of another type.
    """
    found = executors.get(recorded.name)
    if found is not None and found.type is recorded.type:
        return found
    return ExecutorConfig(name=recorded.name, type=recorded.type)


def _own_terms(executors: Mapping[str, ExecutorConfig], terms: JobTerms | None) -> JobTerms | None:
    if terms is not None and not is_slug(getattr(terms, "dialect", None) or "none"):
        terms = replace(terms, dialect=None)
    return change_fallback(terms, partial(_own_fallback, executors))


def _own_fallback(executors: Mapping[str, ExecutorConfig], others: Fallback) -> Fallback:
    leaving = others.leaving
    return replace(
        others,
        next=tuple(
            replace(each, executor=_own(executors, each.executor))
            for each in others.next
            if each.executor.name in executors
        ),
        left=tuple(
            replace(each, session=each.session if _is_session(each.session) else None)
            for each in others.left
        ),
        leaving=leaving if leaving is not None and _is_session(leaving.id) else None,
    )


def _is_session(session: str | None) -> bool:
    return session is not None and SESSION.fullmatch(session) is not None


def refuse_unfit(context: WorkerContext, job: Job, lease: Lease) -> None:
    """Raise ConfigurationError for a job that this host does not run, whoever has written it."""
    if (reason := _unfit(context, job, lease)) is not None:
        raise ConfigurationError(f"this host does not run job {job.id}: {reason}", hint=HINT)


def _unfit(context: WorkerContext, job: Job, lease: Lease) -> str | None:
    kind = kind_of(job)
    ids = (job.task_id, *tasks_of(job.terms))
    if not kind.is_leased:
        return f"no worker runs a job of the verb {job.verb}"
    if (job.executor is not None) is not kind.is_agents:
        return "an agent's job has an executor, and no other has one"
    if lease.executor != job.executor_name:
        return "its record names two executors"
    if job.executor is not None and job.executor_name not in _allowed(context.configuration):
        return f"its user does not serve executor {job.executor_name!r}"
    if not all(not task_id or is_task_id(task_id) for task_id in ids):
        return "it names a task that can be none"
    if job.phase and not is_slug(job.phase):
        return "it names a phase that can be none"
    if kind.is_agents and not _is_role(job.agent):
        return f"there is no agent {job.agent!r}"
    if not _is_inside(context.workspace.root, job.cwd):
        return "its folder lies outside of the repository"
    if not all(COMMIT.fullmatch(commit) for commit in commits_of(job.terms)):
        return "it names a commit that can be none"
    return None


def _is_role(agent: str) -> bool:
    try:
        get_agent(agent)
    except SowError:
        return False
    return True


def _is_inside(root: Path, folder: str) -> bool:
    """Whether a folder is below the repository's root, also where links in it are followed."""
    top = os.path.realpath(root)
    place = os.path.realpath(f"{top}/{folder}")
    return not folder.startswith("/") and (place == top or place.startswith(f"{top}/"))
