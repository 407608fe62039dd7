"""`sow completion`, and what the Tab key offers: roles, tasks, jobs and the like, as they are now.

Owns the look-ups. They are light, and silent: whatever is wrong (no project, a
broken configuration), the shell is offered nothing and prints nothing. Every
command imports this module, so each look-up imports what it needs by itself.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.cli.output import echo_result, json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sow.jobs.database import Database
    from sow.paths import Workspace
    from sow.schema.project import Project

VARIABLE = "_SOW_COMPLETE"
"""Set by the shell's own script where it asks for completions (click's protocol)."""
MOST_JOBS = 50

Choice = tuple[str, str]
"""A word, and what it stands for."""
Find = Callable[["click.Context", "click.Parameter"], Iterable[Choice]]
Completer = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem]"]


def completer(find: Find) -> Completer:
    """Return `find` as click wants it: what begins right, without what stands there already."""

    @wraps(find)
    def complete(
        ctx: "click.Context", param: "click.Parameter", incomplete: str
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


def offering(choices: Callable[[], Iterable[Choice]]) -> Completer:
    """Return `choices` as click wants it: what depends on nothing that stands there."""
    return completer(lambda _ctx, _param: choices())


def workspace() -> "Workspace":
    """Return the workspace of the working folder. Raises StateError, and OSError if it is gone."""
    from sow.state.kept.lost import find_or_bring_back

    return find_or_bring_back(Path.cwd(), os.environ)


def project() -> "Project":
    """Return the project that is checked out. Raises what reading it does."""
    from sow.state.projects import read_project

    return read_project(workspace())


@contextmanager
def queue() -> "Iterator[Database]":
    """Open the queue. Raises LookupError where there is none."""
    from sow.jobs.database import open_existing_queue

    database = open_existing_queue(workspace())
    if database is None:
        raise LookupError
    with closing(database):
        yield database


def _role_choices() -> list[Choice]:
    from sow.agents.roles import AGENTS

    return [(agent.name, agent.description) for agent in AGENTS]


def task_choices() -> list[Choice]:
    """Return the tasks of the project. Raises what looking for them does."""
    from sow.state.places import all_places

    return [(place.task_id, place.phase) for place in all_places(workspace())]


def check_choices() -> list[Choice]:
    """Return the checks of the repository, with their command lines."""
    from sow.config.checks import checks_of, read_repository

    found = checks_of(read_repository(workspace().repository_config))
    return [(check.name, check.run) for check in found.commands.values()]


def _status_choices() -> list[Choice]:
    from sow.schema.task import TaskStatus

    return [(status.value, "") for status in TaskStatus]


roles = offering(_role_choices)
tasks = offering(task_choices)
checks = offering(check_choices)
statuses = offering(_status_choices)


@completer
def role_or_tasks(ctx: "click.Context", param: "click.Parameter") -> Iterable[Choice]:
    """Yield what may follow in `sow agent spawn [AGENT] [TASK]...`."""
    given = ctx.params.get(param.name or "")
    return task_choices() if given else [*_role_choices(), *_tasks_if_any()]


def _tasks_if_any() -> list[Choice]:
    """Return the tasks; none where there is no project, for roles are the same everywhere."""
    from sow.errors import StateError

    try:
        return task_choices()
    except (StateError, OSError):
        return []


@completer
def first_task(ctx: "click.Context", param: "click.Parameter") -> Iterable[Choice]:
    """Yield tasks for the first of several words; the others are not ours to know."""
    return [] if ctx.params.get(param.name or "") else task_choices()


def _job_choices(*, active_only: bool) -> list[Choice]:
    from sow.jobs import jobs

    with queue() as database:
        found = jobs.recent_jobs(database, limit=MOST_JOBS, active_only=active_only)
    return [(str(job.id), f"{job.verb} {job.agent} {job.task_id}: {job.state}") for job in found]


jobs = offering(lambda: _job_choices(active_only=False))
active_jobs = offering(lambda: _job_choices(active_only=True))


@offering
def workers() -> Iterable[Choice]:
    """Yield the workers that live."""
    from sow.jobs import workers

    here = workspace()
    with queue() as database:
        living = workers.living(database, here, everywhere=False)
        return [(worker.id, f"pid {worker.process.pid}") for worker in living]


@completer
def schemas(ctx: "click.Context", param: "click.Parameter") -> Iterable[Choice]:
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


@offering
def prompts() -> Iterable[Choice]:
    """Yield the texts of `sow prompt`."""
    from sow.prompts.library import list_prompts, list_templates

    return [(name, "") for name in [*list_prompts(), *list_templates()]]


@offering
def phases() -> Iterable[Choice]:
    """Yield the phases of the project."""
    return [(phase, "") for phase in project().phases]


@offering
def references() -> Iterable[Choice]:
    """Yield the references of the index."""
    from sow.refs.index import read_index

    found = read_index(workspace()).references
    return [(reference.id, reference.description) for reference in found]


@completer
def field_words(ctx: "click.Context", param: "click.Parameter") -> Iterable[Choice]:
    """Yield what may follow in `sow task set [TASK]... FIELD VALUE`."""
    match list(ctx.params.get(param.name or "") or ()):
        case []:
            return [*task_choices(), *_field_choices()]
        case given if all(str(word).isdecimal() for word in given):
            return [*_field_choices(), *task_choices()]
        case [*_, "status"]:
            return _status_choices()
        case [*_, "assigned_agent"]:
            return _role_choices()
        case [*_, "depends_on"]:
            return task_choices()
        case [*_, "checks"]:
            return check_choices()
        case _:
            return []


def _field_choices() -> list[Choice]:
    from sow.state.fields import METADATA, SETTABLE

    return [(field, "") for field in SETTABLE if not field.startswith(METADATA)]


def files(
    _ctx: "click.Context", _param: "click.Parameter", incomplete: str
) -> "list[CompletionItem]":
    """Have the shell offer files, as it does for commands that it knows nothing of."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@json_option
@click.pass_context
def completion(ctx: "click.Context", shell: str, as_json: bool) -> None:
    """Print the completion script for SHELL: roles, tasks, jobs, executors, options.

    \b
    bash (4.4 or newer), in ~/.bashrc:
      eval "$(sow completion bash)"
    zsh, in ~/.zshrc, below compinit:
      eval "$(sow completion zsh)"
    fish, once:
      sow completion fish > ~/.config/fish/completions/sow.fish
    """  # noqa: D301 - \b is click's own mark, a true backspace
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has all three
    script = found(ctx.find_root().command, {}, "sow", VARIABLE).source()
    echo_result({"shell": shell, "script": script}, script, as_json=as_json)
