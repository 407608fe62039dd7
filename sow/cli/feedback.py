"""`sow feedback`: what somebody wants changed of the project as a whole, until it is settled.

Each command imports what it needs by itself.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import here, read_given
from sow.cli.confirming import author_here
from sow.cli.output import echo_json_lines, echo_list, json_option
from sow.clock import format_time
from sow.errors import UsageError
from sow.terminal_text import printable_lines, readable

if TYPE_CHECKING:
    from sow.paths import Workspace
    from sow.schema.output.projects import FeedbackView
    from sow.schema.project import ProjectFeedback


@click.command()
@click.argument("text", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file with the text instead; - is standard input.",
)
@json_option
def add(text: str | None, file: Path | None, as_json: bool) -> None:
    """Record TEXT: what should change."""
    from sow.state.project_feedback import add_feedback

    if (text is None) == (file is None):
        raise UsageError("give either TEXT or --file", hint='sow feedback add "What is missing"')
    words = readable(text).encode() if text is not None else read_given(file, "--file")
    if not words.strip():
        raise UsageError("the feedback is empty", hint="Say what should be changed, and where.")
    workspace = here()
    added = add_feedback(workspace, words, by=author_here(), now=time.time())
    _print(workspace, [added], f"Feedback {added.id} is open", as_json=as_json)


@click.command("list")
@click.option("--all", "with_settled", is_flag=True, help="Also settled feedback.")
@json_option
def list_all(with_settled: bool, as_json: bool) -> None:
    """List the feedback that is open."""
    from sow.state.project_feedback import feedback_of, open_feedback
    from sow.state.projects import read_project

    workspace = here()
    project = read_project(workspace)
    notes = feedback_of(project) if with_settled else open_feedback(project)
    views = [_view(workspace, note) for note in notes]
    none = "No feedback is open." if not with_settled else "No feedback yet."
    echo_list(views, ("ID", "STATUS", "BY", "WORDS"), _row, none=none, as_json=as_json)


@click.command()
@click.argument(
    "numbers",
    metavar="ID...",
    nargs=-1,
    required=True,
    shell_complete=completing_names.open_feedback,
)
@json_option
def settle(numbers: tuple[str, ...], as_json: bool) -> None:
    """Mark feedback as settled: it was addressed, or it no longer applies."""
    from sow.state.project_feedback import settle_feedback

    workspace = here()
    names = [readable(number) for number in numbers]
    settled = settle_feedback(workspace, names, by=author_here(), now=time.time())
    _print(workspace, settled, f"Settled: {', '.join(names)}", as_json=as_json)


def _row(view: "FeedbackView") -> tuple[str, ...]:
    first = next(iter(printable_lines(view.text)), "")
    return (view.feedback_id, view.status, view.by, first)


def _view(workspace: "Workspace", note: "ProjectFeedback") -> "FeedbackView":
    from msgspec import UNSET

    from sow.schema.output.projects import FeedbackView
    from sow.state.project_feedback import words_of

    settled = None if note.settled_at is UNSET else note.settled_at
    return FeedbackView(
        feedback_id=note.id,
        status=note.status.value,
        by=note.by,
        at=format_time(note.at.timestamp()),
        settled_by=None if note.settled_by is UNSET else note.settled_by,
        settled_at=format_time(settled.timestamp()) if settled else None,
        text=words_of(workspace, note),
    )


def _print(
    workspace: "Workspace", notes: "list[ProjectFeedback]", line: str, *, as_json: bool
) -> None:
    if as_json:
        echo_json_lines(_view(workspace, note) for note in notes)
    else:
        click.echo(line)
