"""`sow task import`, `export` and `remove`: many tasks at once."""

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import UNSET

from sow.agents.roles import AGENTS
from sow.calls.last_job import forget_withdrawn_jobs
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, ids_option, named_tasks, read_given
from sow.cli.failure import for_each
from sow.cli.output import echo_json_lines, echo_result, json_option
from sow.config.checks import checks_of, read_repository
from sow.paths import Workspace
from sow.schema.output.tasks import ImportedTask, RemovedTask
from sow.schema.task import MOST_PRIORITY
from sow.schema.task_entry import FIELDS
from sow.state.bulk.entries import STDIN, read_entries, with_priority
from sow.state.bulk.exporting import entries_of
from sow.state.bulk.importing import import_tasks
from sow.state.bulk.plan import Known, Planned
from sow.state.bulk.removing import remove_task
from sow.state.projects import read_project
from sow.state.tasks import all_places, read_task_at
from sow.terminal_text import printable
from sow.yamlfile.rendering import render_entries


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--new-phase", is_flag=True, help="Create phases that the project does not have.")
@click.option(
    "--priority",
    type=click.IntRange(-MOST_PRIORITY, MOST_PRIORITY),
    metavar="N",
    help="The priority of tasks for which FILE names none.",
)
@json_option
def import_file(file: Path, new_phase: bool, priority: int | None, as_json: bool) -> None:
    """Add and change the tasks in FILE (- is standard input): all of them, or none.

    FILE is a YAML list of tasks, or JSON with one task per line. A task has key,
    name, agent, description, depends_on (keys or ids), checks, references,
    priority and phase; a new one needs key, name and agent. Fields that are left
    out stay as they are. sow finds a task again by its key: import an edited file
    to change the tasks that were not started. Started tasks that differ are named
    and not changed.
    """
    text = read_given(file, "FILE")
    workspace = here()
    name = Path(STDIN) if str(file) == "-" else file
    given = with_priority(read_entries(text, name), priority)
    planned = import_tasks(workspace, given, _known(workspace, new_phase), now=time.time())
    if as_json:
        echo_json_lines(_view(each) for each in planned)
    else:
        _print(planned)


def _known(workspace: Workspace, new_phase: bool) -> Known:
    def checks() -> Collection[str]:
        return checks_of(read_repository(workspace.repository_config)).commands

    def references() -> Collection[str]:
        from sow.refs.index import read_index  # few files of tasks name references

        return [reference.id for reference in read_index(workspace).references]

    agents = [agent.name for agent in AGENTS]
    phases = read_project(workspace).phases
    return Known(agents, phases, checks, references, may_make_phases=new_phase)


def _result(planned: Planned) -> str:
    if planned.before is None:
        return "added"
    if planned.is_kept:
        return "kept"
    return "changed" if planned.is_changed else "unchanged"


def _key(planned: Planned) -> str | None:
    before = planned.before
    there = None if before is None or before.task.key is UNSET else before.task.key
    return planned.entry.key or there


def _view(planned: Planned) -> ImportedTask:
    name = planned.entry.name or (planned.before.task.name if planned.before else "")
    return ImportedTask(
        task=planned.task_id,
        key=_key(planned),
        name=name,
        result=_result(planned),
        fields=tuple(planned.changes),
    )


def _print(planned: Sequence[Planned]) -> None:
    count = Counter(map(_result, planned))
    words = {"added": "added", "changed": "changed", "unchanged": "unchanged", "kept": "left"}
    total = ", ".join(f"{count[word]} {shown}" for word, shown in words.items() if count[word])
    click.echo("\n".join([*_lines(planned), total]))


def _lines(planned: Sequence[Planned]) -> Iterator[str]:
    for each in planned:
        key = _key(each)
        named = f"Task {each.task_id}{f' ({printable(key)})' if key else ''}"
        fields = ", ".join(each.changes)
        match _result(each):
            case "added":
                yield f"{named}: added"
            case "changed":
                yield f"{named}: changed: {fields}"
            case "kept":
                yield f"{named}: not changed, because it was started; the file differs: {fields}"


@click.command()
@json_option
def export(as_json: bool) -> None:
    """Print the tasks of the project as YAML, or with --json as one object per line.

    `sow task import` reads both. An unchanged file changes nothing.
    """
    entries = entries_of([(place, read_task_at(place)) for place in all_places(here())])
    if as_json:
        echo_json_lines(entries)
        return
    present = [{name: getattr(entry, name) for name in FIELDS} for entry in entries]
    plain = [{name: value for name, value in each.items() if value is not None} for each in present]
    if plain:
        click.echo(render_entries(plain), nl=False)
    else:
        click.echo("No tasks. Add one: sow task add NAME --agent implementer", err=True)


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@json_option
def remove(tasks: tuple[str, ...], task_options: tuple[str, ...], as_json: bool) -> int:
    """Remove each TASK, with its folder, if it never ran and no other depends on it.

    A task that was started is not removed: use `sow task abandon`.
    """
    workspace = here()
    named = named_tasks(tasks, task_options, os.environ)
    return for_each(named, lambda task: _remove(workspace, task, as_json=as_json), as_json=as_json)


def _remove(workspace: Workspace, task_id: str, *, as_json: bool) -> None:
    gone = remove_task(workspace, task_id, lambda task: forget_withdrawn_jobs(workspace, task))
    view = RemovedTask(task=gone.id, name=gone.name)
    echo_result(view, f"Task {gone.id} removed: {gone.name}", as_json=as_json)
