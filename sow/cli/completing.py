"""What the Tab key offers: roles, tasks, executors, jobs and the like, as they are here and now.

Owns the look-ups. They are light, and silent: whatever is wrong (no project, a
broken configuration), the shell is offered nothing and prints nothing. Every
command imports this module, so each look-up imports what it needs by itself.
"""

import os
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_SOW_COMPLETE"
"""Set by the shell's own script where it asks for completions (click's protocol)."""
MOST_JOBS = 50

Choice = tuple[str, str]
"""A word, and what it stands for."""
Find = Callable[[click.Context, click.Parameter], Iterable[Choice]]
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completer(find: Find) -> Completer:
    """Return `find` as click wants it: what begins right, without what stands there already."""

    @wraps(find)
    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        given = ctx.params.get(param.name or "") or ()
        try:
            found = list(find(ctx, param))
        except Exception:  # a boundary: an error would land in the command line
            return []
        return [
            CompletionItem(word, help=about)
            for word, about in found
            if word.startswith(incomplete) and word not in given
        ]

    return complete


def _roles(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.agents.roles import AGENTS

    return [(agent.name, agent.description) for agent in AGENTS]


def task_choices() -> list[Choice]:
    """Return the tasks of the project. Raises what looking for them does."""
    from sow.cli.arguments import here
    from sow.state.places import all_places

    return [(place.task_id, place.phase) for place in all_places(here())]


def check_choices() -> list[Choice]:
    """Return the checks of the repository, with their command lines."""
    from sow.cli.arguments import here
    from sow.config.checks import checks_of, read_repository

    found = checks_of(read_repository(here().repository_config))
    return [(check.name, check.run) for check in found.commands.values()]


def _tasks(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    return task_choices()


def _role_or_tasks(ctx: click.Context, param: click.Parameter) -> Iterable[Choice]:
    """Yield what may follow in `sow agent spawn [AGENT] [TASK]...`."""
    given = ctx.params.get(param.name or "")
    return task_choices() if given else [*_roles(ctx, param), *_tasks_if_any()]


def _tasks_if_any() -> list[Choice]:
    """Return the tasks; none where there is no project, for roles are the same everywhere."""
    from sow.errors import StateError

    try:
        return task_choices()
    except StateError:
        return []


def _first_task(ctx: click.Context, param: click.Parameter) -> Iterable[Choice]:
    """Yield tasks for the first of several words; the others are not ours to know."""
    return [] if ctx.params.get(param.name or "") else task_choices()


def _executors(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.agents.roles import AGENTS
    from sow.cli.config_places import repository_settings
    from sow.config.load import load_configuration
    from sow.paths import user_config_path

    configuration = load_configuration(
        path=user_config_path(os.environ),
        repository_path=repository_settings(os.environ),
        environ=os.environ,
        roles=[agent.name for agent in AGENTS],
    )
    return [(name, executor.type.value) for name, executor in configuration.executors.items()]


def _job_choices(*, active_only: bool) -> list[Choice]:
    from contextlib import closing

    from sow.cli.arguments import here
    from sow.jobs import jobs
    from sow.jobs.database import open_existing_queue

    database = open_existing_queue(here())
    if database is None:
        return []
    with closing(database):
        found = jobs.recent_jobs(database, limit=MOST_JOBS, active_only=active_only)
    return [(str(job.id), f"{job.verb} {job.agent} {job.task_id}: {job.state}") for job in found]


def _jobs(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    return _job_choices(active_only=False)


def _active_jobs(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    return _job_choices(active_only=True)


def _workers(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from contextlib import closing

    from sow.cli.arguments import here
    from sow.jobs import workers
    from sow.jobs.database import open_existing_queue

    workspace = here()
    database = open_existing_queue(workspace)
    if database is None:
        return []
    with closing(database):
        return [
            (worker.id, f"pid {worker.process.pid}")
            for worker in workers.registered(database)
            if workers.is_alive(workspace, worker.id)
        ]


def _schemas(ctx: click.Context, param: click.Parameter) -> Iterable[Choice]:
    """Yield the next word of the names that begin with the words that stand there."""
    from sow.schema.catalogue import descriptions

    given = list(ctx.params.get(param.name or "") or ())
    names = ((name.split(), about) for name, about in descriptions().items())
    following = [(words, about) for words, about in names if words[: len(given)] == given]
    return {
        words[len(given)]: about if len(words) == len(given) + 1 else ""
        for words, about in reversed(following)
        if len(words) > len(given)
    }.items()


def _prompts(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.prompts.library import list_prompts, list_templates

    return [(name, "") for name in [*list_prompts(), *list_templates()]]


def _statuses(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.schema.task import TaskStatus

    return [(status.value, "") for status in TaskStatus]


def _phases(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here
    from sow.state.projects import read_project

    return [(phase, "") for phase in read_project(here()).phases]


def _references(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here
    from sow.refs.index import read_index

    found = read_index(here()).references
    return [(reference.id, reference.description) for reference in found]


def _field_words(ctx: click.Context, param: click.Parameter) -> Iterable[Choice]:
    """Yield what may follow in `sow task set [TASK]... FIELD VALUE`."""
    match list(ctx.params.get(param.name or "") or ()):
        case []:
            return [*task_choices(), *_field_choices()]
        case given if all(str(word).isdecimal() for word in given):
            return [*_field_choices(), *task_choices()]
        case [*_, "status"]:
            return _statuses(ctx, param)
        case [*_, "assigned_agent"]:
            return _roles(ctx, param)
        case [*_, "depends_on"]:
            return task_choices()
        case [*_, "checks"]:
            return check_choices()
        case _:
            return []


def _field_choices() -> list[Choice]:
    from sow.state.fields import METADATA, SETTABLE

    return [(field, "") for field in SETTABLE if not field.startswith(METADATA)]


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Have the shell offer files, as it does for commands that it knows nothing of."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


roles = completer(_roles)
tasks = completer(_tasks)
role_or_tasks = completer(_role_or_tasks)
first_task = completer(_first_task)
executors = completer(_executors)
jobs = completer(_jobs)
active_jobs = completer(_active_jobs)
workers = completer(_workers)
schemas = completer(_schemas)
prompts = completer(_prompts)
statuses = completer(_statuses)
phases = completer(_phases)
references = completer(_references)
field_words = completer(_field_words)
