"""`sow phase`: the phases of the project, and which of those that people lead are finished."""

import time
from collections import Counter

from msgspec import UNSET

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.confirming import author_here
from sow.cli.output import echo_list, echo_result, json_option
from sow.errors import StateError
from sow.ids import parse_phase
from sow.lifecycle.stages import PEOPLES_PHASES
from sow.paths import Workspace
from sow.schema.output.projects import PhaseView
from sow.schema.project import Project
from sow.state.lifecycle import finish_phase
from sow.state.projects import add_phase, read_project
from sow.state.state_errors import UnknownPhase
from sow.state.tasks import list_tasks
from sow.state.transitions import TERMINAL


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the phases."""
    workspace = here()
    views = _views(workspace, read_project(workspace))
    header = ("PHASE", "LED BY", "FINISHED", "TASKS")
    echo_list(views, header, _row, none="", as_json=as_json)


@click.command()
@click.argument("name")
@json_option
def add(name: str, as_json: bool) -> None:
    """Add the phase NAME to the project."""
    workspace = here()
    project = add_phase(workspace, parse_phase(name), now=time.time())
    _tell(workspace, project, name, f"Phase {name} added", as_json=as_json)


@click.command()
@click.argument("name", shell_complete=completing.phases)
@json_option
def finish(name: str, as_json: bool) -> None:
    """Mark the phase NAME as finished; each of its tasks must have ended."""
    _mark(name, is_finished=True, as_json=as_json)


@click.command()
@click.argument("name", shell_complete=completing.phases)
@json_option
def reopen(name: str, as_json: bool) -> None:
    """Mark the finished phase NAME as open again."""
    _mark(name, is_finished=False, as_json=as_json)


def _mark(name: str, *, is_finished: bool, as_json: bool) -> None:
    workspace = here()
    project = read_project(workspace)
    if name not in project.phases:
        raise UnknownPhase(name, project.phases, may_make=False)
    left = [
        task.id
        for task in list_tasks(workspace)
        if task.phase == name and task.status not in TERMINAL
    ]
    if is_finished and left:
        raise StateError(
            f"the phase {name} has tasks that have not ended: {', '.join(left)}",
            hint="Complete them (`sow task set ID status completed`), or `sow task abandon ID`.",
        )
    by, now = author_here(), time.time()
    project = finish_phase(workspace, name, is_finished=is_finished, by=by, now=now)
    words = f"Phase {name} is {'finished' if is_finished else 'open again'}"
    _tell(workspace, project, name, words, as_json=as_json)


def _views(workspace: Workspace, project: Project) -> list[PhaseView]:
    counts = Counter(task.phase for task in list_tasks(workspace))
    finished = [] if project.finished_phases is UNSET else project.finished_phases
    return [
        PhaseView(
            phase=name,
            led_by="people" if name in PEOPLES_PHASES else "agents",
            is_finished=name in finished,
            task_count=counts[name],
        )
        for name in project.phases
    ]


def _row(view: PhaseView) -> tuple[str, ...]:
    return (view.phase, view.led_by, "yes" if view.is_finished else "-", str(view.task_count))


def _tell(workspace: Workspace, project: Project, name: str, line: str, *, as_json: bool) -> None:
    view = next(view for view in _views(workspace, project) if view.phase == name)
    echo_result(view, line, as_json=as_json)
