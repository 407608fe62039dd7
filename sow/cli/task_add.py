"""`sow task add`."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sow.agents.roles import get_agent
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, issue_options, read_given
from sow.cli.output import echo_result, json_option
from sow.cli.this_call import usage_error
from sow.errors import UsageError
from sow.reports.task_views import task_folder, task_view
from sow.state.fields import parse_list
from sow.state.tasks import add_task
from sow.terminal_text import readable

if TYPE_CHECKING:
    from sow.paths import Workspace


@click.command()
@click.argument("name", required=False)
@click.option(
    "--agent",
    required=True,
    help="The agent to do it, such as implementer.",
    shell_complete=completing.roles,
)
@click.option("--id", "task_option", metavar="TASK", help="Default: the next multiple of ten.")
@click.option("--description", help="What is to be done, in Markdown.")
@click.option(
    "--description-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file with the description; - is standard input.",
)
@click.option(
    "--phase",
    help="One of the project's phases. Default: its first.",
    shell_complete=completing.phases,
)
@click.option("--new-phase", is_flag=True, help="Create the phase if the project does not have it.")
@click.option(
    "--depends-on",
    multiple=True,
    metavar="TASK",
    help="Repeat it, or write 010,020.",
    shell_complete=completing.tasks,
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="A check of .sow/config.yaml for it; repeat it, or write unit,lint.",
    shell_complete=completing.checks,
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="ID",
    help="A reference (sow refs list) for its agent to read; repeat it, or write a,b.",
    shell_complete=completing.references,
)
@issue_options
@json_option
def add(
    *,
    name: str | None,
    agent: str,
    task_option: str | None,
    description: str | None,
    description_file: Path | None,
    phase: str | None,
    new_phase: bool,
    depends_on: tuple[str, ...],
    checks: tuple[str, ...],
    references: tuple[str, ...],
    issue: str | None,
    repository: str | None,
    as_json: bool,
) -> None:
    """Add the task NAME to the project.

    With --from-issue NAME is optional: its default is the issue's title. The text
    of the issue is quoted after the description.
    """
    workspace = here()
    names = [item for text in checks for item in parse_list(readable(text))]
    if names:
        from sow.config.checks import refuse_unknown  # few tasks name checks

        refuse_unknown(workspace.repository_config, names)
    text, metadata = _description(description, description_file), None
    role = get_agent(agent).name
    if issue is not None:
        # Few tasks are issues.
        from sow.cli.beginnings import taken_from

        source = taken_from(workspace, issue, repository)
        name = source.name if name is None else name
        text, metadata = source.below(text), source.metadata
    if name is None:
        raise usage_error("missing argument 'NAME'")
    added = add_task(
        workspace,
        name=readable(name),
        agent=role,
        now=time.time(),
        task_id=task_option,
        phase=phase,
        new_phase=new_phase,
        description=text,
        depends_on=[item for text in depends_on for item in parse_list(text)],
        checks=names,
        references=_entries(workspace, references),
        metadata=metadata,
    )
    folder = os.path.relpath(workspace.root / task_folder(workspace, added))
    words = f"Task {added.id} added: {folder}"
    echo_result(task_view(workspace, added), words, as_json=as_json)


def _entries(workspace: "Workspace", given: tuple[str, ...]) -> list[str]:
    """Return how the task names its references. Raises StateError."""
    names = [item for text in given for item in parse_list(readable(text))]
    if not names:
        return []
    from sow.refs.for_task import entries_for  # few tasks name references

    return entries_for(workspace, names)


def _description(text: str | None, file: Path | None) -> str:
    """Return the description given either way, or nothing. Raises UsageError."""
    if text is not None and file is not None:
        raise UsageError(
            "--description and --description-file are both given", hint="Give one of them."
        )
    if file is None:
        return f"{readable(text).rstrip()}\n" if text else ""
    data = read_given(file, "--description-file")
    return data.decode("utf-8", "replace")
