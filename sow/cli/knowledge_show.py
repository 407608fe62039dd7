"""`sow knowledge list`, `search` and `show`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import here, working_folder
from sow.cli.output import echo_json, echo_list, json_option
from sow.clock import format_time
from sow.config.checks import read_repository
from sow.errors import StateError
from sow.knowledge.items import Item, Known, files_of, item_named, known_items, text_at
from sow.paths import Workspace
from sow.schema.output.knowledge import KnowledgeFound, KnowledgeItem, KnowledgeShown
from sow.terminal_text import printable, readable

DAY = len("2026-01-31")
MOST_HITS = 20
kind_option = click.option(
    "--kind", help="Only this kind, such as design, decision, exploration, project."
)


@click.command("list")
@kind_option
@json_option
def list_all(kind: str | None, as_json: bool) -> None:
    """List the documents and the projects that have ended, newest first.

    The ID is that of the entry in .sow/knowledge/index, or else the path.
    """
    workspace = here()
    known = _known(workspace).items
    items = _of_kind(known, kind)
    echo_list(
        [KnowledgeItem(**_fields(item)) for item in items],
        ("KIND", "ENDED", "ID", "TITLE"),
        lambda item: (item.kind, (item.ended_at or "-")[:DAY], item.id, printable(item.title)),
        none=_nothing(known, kind),
        spare=("ENDED",),
        as_json=as_json,
    )


@click.command()
@click.argument("words", nargs=-1, required=True)
@kind_option
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=1000),
    default=MOST_HITS,
    help=f"At most this many results. Default: {MOST_HITS}.",
)
@json_option
def search(words: tuple[str, ...], kind: str | None, limit: int, as_json: bool) -> None:
    """Find the documents with all WORDS, or words that start with them; best match first.

    Titles and summaries count more than text. For a project, its log, tasks and
    feedback are searched.
    """
    # SQLite is loaded for nothing else of this group.
    from sow.knowledge.text_index import search as hits_for

    workspace = here()
    items = _of_kind(_known(workspace).items, kind)
    given = [readable(word) for word in words]
    hits = hits_for(workspace, items, given)
    if not hits and not as_json:
        click.echo("No document has all these words; fewer words find more.", err=True)
    for hit in hits[:limit]:
        item = hit.item
        if as_json:
            echo_json(
                KnowledgeFound(
                    id=item.id,
                    kind=item.kind,
                    title=item.title,
                    file=hit.path,
                    line=hit.line,
                    excerpt=hit.excerpt,
                )
            )
        else:
            place = hit.path if hit.line is None else f"{hit.path}:{hit.line}"
            click.echo(printable(f"{item.kind} {item.id}: {item.title}"))
            click.echo(f"  {printable(readable(place))}  {printable(hit.excerpt)}")
    if len(hits) > limit:
        click.echo(f"Note: {len(hits) - limit} more; --limit shows more of them.", err=True)


@click.command()
@click.argument("name", metavar="ID", shell_complete=completing_names.knowledge)
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the document ID, or what the project ID was and which files it has left.

    ID is one of `sow knowledge list`, its beginning, or a path.
    """
    workspace = here()
    item = item_named(_known(workspace), name, _inside(workspace, name))
    if not item.is_here:
        raise StateError(
            f"{item.id} names {item.path}, which does not exist",
            hint=f"Correct `path` in .sow/knowledge/index/{item.id}.yaml, or remove that file.",
        )
    is_project = (workspace.root / item.path).is_dir()
    text = "" if is_project else text_at(workspace, item.path)
    files = files_of(workspace, item) if is_project else [item.path]
    if as_json:
        echo_json(KnowledgeShown(**_fields(item), files=tuple(files), text=text))
        return
    for line in _head(item):
        click.echo(line, err=not is_project)
    click.echo(err=not is_project)
    if is_project:
        for path in files:
            click.echo(printable(readable(path)))
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _known(workspace: Workspace) -> Known:
    """Return what there is to know, and tell of what is wrong with the index."""
    settings = read_repository(workspace.repository_config).content.artifacts or {}
    known = known_items(workspace, settings)
    for error in known.errors:
        click.echo(f"Note: {printable(error.message)}", err=True)
    return known


def _of_kind(items: Sequence[Item], kind: str | None) -> list[Item]:
    return [item for item in items if kind is None or item.kind == kind]


def _nothing(known: Sequence[Item], kind: str | None) -> str:
    """Return why a list is empty: there is nothing at all, or nothing of that kind."""
    if not known or kind is None:
        return "Nothing yet: a finished project adds its documents."
    kinds = ", ".join(sorted({printable(item.kind) for item in known}))
    return f"Nothing of the kind {printable(kind)}; there are: {kinds}."


def _inside(workspace: Workspace, name: str) -> str | None:
    """Return a name as a path from the workspace's root, where it can be one."""
    if "\0" in name:
        return None
    path = Path(os.path.normpath(working_folder() / name))
    return (
        path.relative_to(workspace.root).as_posix() if path.is_relative_to(workspace.root) else None
    )


def _head(item: Item) -> list[str]:
    lines = [printable(item.title), f"{item.kind}, {item.path}"]
    if item.entry is not None:
        project = item.entry.project
        words = f"of the {project.type} project {project.name}, {project.ended} {_day(item)}"
        approved = item.entry.approved_by
        lines.append(f"{words}, approved by {approved}" if isinstance(approved, str) else words)
    return [printable(readable(line)) for line in [*lines, item.summary] if line]


def _day(item: Item) -> str:
    return "-" if item.entry is None else format_time(item.entry.at.timestamp())[:DAY]


def _fields(item: Item) -> dict[str, Any]:
    entry = item.entry
    approved = entry.approved_by if entry is not None else None
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "path": item.path,
        "summary": item.summary,
        "is_here": item.is_here,
        "project": entry.project.name if entry is not None else None,
        "project_id": entry.project.id if entry is not None else None,
        "ended": entry.project.ended.value if entry is not None else None,
        "ended_at": format_time(entry.at.timestamp()) if entry is not None else None,
        "approved_by": approved if isinstance(approved, str) else None,
    }
