"""`sow refs list` and `sow refs status`."""

import time

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.output import echo_json, echo_json_lines, echo_table, json_option
from sow.cli.refs_words import name_of_commit, reference_view
from sow.refs.cache import cached
from sow.refs.index import read_index, references_named
from sow.refs.linking import look
from sow.refs.reference_status import Compared, ReferenceStatus, commit_of, compare
from sow.schema.output.references import ReferenceStanding, ReferenceView
from sow.terminal_text import printable

HEADER = ("ID", "KIND", "HERE", "COMMIT", "SOURCE")


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the references of the index, and what of each is on this machine.

    One is linked, copied, missing (`sow refs init` links it), or strange:
    something else lies in its place. No remote is asked.
    """
    workspace = here()
    found = [
        (reference, look(workspace, reference, cached(reference.source)))
        for reference in read_index(workspace).references
    ]
    if as_json:
        echo_json_lines(
            ReferenceView(**reference_view(workspace, reference, there))
            for reference, there in found
        )
    elif not found:
        click.echo("No reference yet: sow refs add URL", err=True)
    else:
        rows = [
            (
                reference.id,
                reference.kind.value,
                there.presence.value,
                name_of_commit(commit_of(there) or "-"),
                printable(reference.source),
            )
            for reference, there in found
        ]
        echo_table(HEADER, rows, spare=("KIND", "COMMIT"))


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
        click.echo("No reference yet: sow refs add URL", err=True)
    for reference in references:
        compared = compare(workspace, reference, now=time.time())
        if as_json:
            echo_json(_view(compared))
        else:
            click.echo(_words(compared))


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
