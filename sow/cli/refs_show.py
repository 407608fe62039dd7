"""`sow refs list` and `status`, and how references are shown."""

import time
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_list, echo_result, json_option
from sow.paths import Workspace
from sow.refs.cache import cached
from sow.refs.exporting import facts_of
from sow.refs.index import read_index, references_named
from sow.refs.linking import Found, look
from sow.refs.reference_status import Compared, ReferenceStatus, compare
from sow.refs.updating import Updated, UpdateResult
from sow.schema.output.references import ReferenceStanding, ReferenceUpdated, ReferenceView
from sow.schema.references import Reference
from sow.terminal_text import printable

SHORT = 12
MOST_SHOWN = 5


def name_of_commit(commit: str) -> str:
    """Return a commit's name for people."""
    return commit[:SHORT]


def reference_view(workspace: Workspace, reference: Reference, found: Found) -> dict[str, Any]:
    """Return the keys of a reference in the index, with what is here."""
    tree = cached(reference.source).tree(found.tree) if found.tree else None
    facts = facts_of(tree) if tree is not None else None
    link = workspace.refs / reference.link
    return {
        "reference": reference.id,
        "source": reference.source,
        "kind": reference.kind.value,
        "link": str(link.relative_to(workspace.root)),
        "branch": None if reference.branch is UNSET else reference.branch,
        "tag": None if reference.tag is UNSET else reference.tag,
        "path": None if reference.path is UNSET else reference.path,
        "tags": tuple(reference.tags),
        "description": reference.description,
        "summary": reference.summary,
        "presence": found.presence.value,
        "commit": found.commit,
        "folder": str(found.folder) if found.folder is not None else None,
        "left_out": facts.left_out if facts is not None else (),
    }


def updated_view(updated: Updated) -> ReferenceUpdated:
    """Return what has become of a reference, for programs."""
    return ReferenceUpdated(
        reference=updated.reference.id,
        source=updated.reference.source,
        result=updated.result.value,
        before=updated.before,
        commit=updated.brought.commit,
        words=updated.words,
        is_copy=updated.is_copy,
        left_out=updated.brought.facts.left_out,
    )


def updated_words(updated: Updated, *, is_asked: bool = True) -> str:
    """Return what has become of a reference, for people; whether its remote was asked."""
    name, commit = updated.reference.id, name_of_commit(updated.brought.commit)
    match updated.result:
        case UpdateResult.STOOD:
            return f"{name}: {'current' if is_asked else 'is linked already'} ({commit})"
        case UpdateResult.LINKED:
            how = "copied to" if updated.is_copy else "linked at"
            return f"{name}: {how} .sow/refs/{updated.reference.link} ({commit})"
        case UpdateResult.UPDATED:
            before = name_of_commit(updated.before or "")
            return f"{name}: updated from {before} to {commit} ({updated.words})"
        case UpdateResult.RESET:
            before = name_of_commit(updated.before or "")
            return f"{name}: set to the remote, from {before} to {commit} ({updated.words})"


def echo_left_out(left_out: Sequence[str]) -> None:
    """Tell a person what of a reference is not linked."""
    for text in left_out[:MOST_SHOWN]:
        click.echo(f"Note: left out: {printable(text)}", err=True)
    if len(left_out) > MOST_SHOWN:
        more = len(left_out) - MOST_SHOWN
        click.echo(f"Note: left out: {more} more (sow refs list --json)", err=True)


NONE = "No reference yet: sow refs add URL"
HEADER = ("ID", "KIND", "HERE", "COMMIT", "SOURCE")


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the references of the index, and their state on this machine.

    A reference is linked, copied, missing (`sow refs init` links it), or strange
    (something else is in its place). No remote is contacted.
    """
    workspace = here()
    views = [
        ReferenceView(**reference_view(workspace, each, look(workspace, each, cached(each.source))))
        for each in read_index(workspace).references
    ]
    echo_list(views, HEADER, _row, none=NONE, spare=("KIND", "COMMIT"), as_json=as_json)


def _row(view: ReferenceView) -> tuple[str, ...]:
    commit = name_of_commit(view.commit or "-")
    return (view.reference, view.kind, view.presence, commit, printable(view.source))


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completing.references)
@json_option
def status(ids: tuple[str, ...], as_json: bool) -> None:
    """Ask the remotes of all references, or of these, and compare.

    A reference is current, behind by some commits, ahead (the remote has gone
    back), diverged, or its remote is unreachable. Nothing that is linked changes.
    """
    workspace = here()
    references = references_named(read_index(workspace), ids)
    if not references and not as_json:
        click.echo(NONE, err=True)
    for reference in references:
        compared = compare(workspace, reference, now=time.time())
        echo_result(_view(compared), _words(compared), as_json=as_json)


def _view(compared: Compared) -> ReferenceStanding:
    return ReferenceStanding(
        reference=compared.reference.id,
        source=compared.reference.source,
        standing=compared.standing.value,
        ahead=compared.ahead,
        behind=compared.behind,
        commit=compared.commit,
        remote=compared.remote,
        reason=compared.reason,
    )


def _words(compared: Compared) -> str:
    words = f"{compared.reference.id}: {compared.words}"
    match compared.standing:
        case ReferenceStatus.BEHIND | ReferenceStatus.AHEAD | ReferenceStatus.DIVERGED:
            return f"{words} (sow refs update {compared.reference.id})"
        case ReferenceStatus.MISSING:
            return f"{words} (sow refs init)"
        case ReferenceStatus.UNREACHABLE:
            return f"{words}: {printable(compared.reason)}"
        case _:
            return words
