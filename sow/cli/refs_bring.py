"""`sow refs update` and `sow refs init`."""

import time
from collections.abc import Callable, Iterator, Sequence

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.cli.refs_words import echo_left_out, updated_view, updated_words
from sow.errors import ExitCode, SowError
from sow.paths import Workspace
from sow.refs.index import read_index, references_named
from sow.refs.updating import Deed, Updated, restore_reference, update_reference
from sow.schema.output.references import ReferenceFailed, ReferenceUpdated
from sow.schema.references import Reference

Act = Callable[[Workspace, Reference], Updated]


def restore(workspace: Workspace, reference: Reference) -> Updated:
    """Link a reference that is missing here. Raises as `restore_reference`."""
    return restore_reference(workspace, reference, now=time.time())


def restored(workspace: Workspace) -> Iterator[tuple[str, ReferenceUpdated | ReferenceFailed]]:
    """Link all that is missing, and yield what has become of each, in words and for programs."""
    for reference in read_index(workspace).references:
        try:
            done = restore(workspace, reference)
        except SowError as error:
            failed = failed_view(reference, error)
            yield f"{reference.id}: {error.message} (then: sow refs init)", failed
        else:
            yield updated_words(done, is_asked=False), updated_view(done)


def failed_view(reference: Reference, error: SowError) -> ReferenceFailed:
    """Return a reference that could not be brought, for programs."""
    return ReferenceFailed(
        reference=reference.id, source=reference.source, message=error.message, hint=error.hint
    )


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completing.references)
@json_option
def update(ids: tuple[str, ...], as_json: bool) -> int:
    """Update all references, or these, to their remotes.

    One that has diverged is set to the remote, and that is said.

    Exit: 0 all of them are; 1 one could not be.
    """
    workspace = here()
    references = references_named(read_index(workspace), ids)
    return _each(workspace, references, _update, is_asked=True, as_json=as_json)


@click.command()
@json_option
def init(as_json: bool) -> int:
    """Link all references that are missing on this machine, as in a fresh clone.

    What is linked stays as it is. What this machine has fetched already is
    linked without asking the remote.

    Exit: 0 all are linked; 1 one could not be.
    """
    workspace = here()
    references = read_index(workspace).references
    return _each(workspace, references, restore, is_asked=False, as_json=as_json)


def _update(workspace: Workspace, reference: Reference) -> Updated:
    return update_reference(workspace, reference, now=time.time())


def _each(
    workspace: Workspace,
    references: Sequence[Reference],
    act: Act,
    *,
    is_asked: bool,
    as_json: bool,
) -> int:
    """Do something with each reference; one that fails keeps none of the others from it."""
    code = ExitCode.OK
    if not references and not as_json:
        click.echo("No reference yet: sow refs add URL", err=True)
    for reference in references:
        try:
            done = act(workspace, reference)
        except SowError as error:
            code = ExitCode.FAILED
            _tell_failure(reference, error, as_json=as_json)
        else:
            _tell(done, is_asked=is_asked, as_json=as_json)
    return int(code)


def _tell(done: Updated, *, is_asked: bool, as_json: bool) -> None:
    if as_json:
        echo_json(updated_view(done))
        return
    click.echo(updated_words(done, is_asked=is_asked))
    if done.deed is not Deed.STOOD:
        echo_left_out(done.brought.facts.left_out)


def _tell_failure(reference: Reference, error: SowError, *, as_json: bool) -> None:
    if as_json:
        echo_json(failed_view(reference, error))
        return
    click.echo(f"{reference.id}: {error.message}\n\n{error.hint}", err=True)
