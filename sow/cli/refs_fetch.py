"""`sow refs add`, `update` and `init`: what is fetched, and linked here."""

import time
from collections.abc import Callable, Iterator, Sequence

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, working_folder
from sow.cli.output import echo_json, echo_result, json_option
from sow.cli.refs_show import (
    NONE,
    echo_left_out,
    name_of_commit,
    reference_view,
    updated_view,
    updated_words,
)
from sow.errors import ExitCode, SowError, UsageError
from sow.paths import Workspace
from sow.refs.adding import add_reference, checked
from sow.refs.cache import cached
from sow.refs.index import read_index, references_named
from sow.refs.linking import look
from sow.refs.sources import is_of_this_machine, name_of, source_from
from sow.refs.updating import Updated, UpdateResult, restore_reference, update_reference
from sow.schema.output.references import ReferenceAdded, ReferenceFailed, ReferenceUpdated
from sow.schema.references import Reference, ReferenceKind
from sow.state.fields import parse_list
from sow.terminal_text import readable


@click.command()
@click.argument("url")
@click.option("--id", "name", metavar="ID", help="Its id. Default: from the repository's name.")
@click.option("--link", metavar="NAME", help="Its name in .sow/refs. Default: the id.")
@click.option("--branch", metavar="BRANCH", help="Follow this branch. Default: the remote's own.")
@click.option("--tag", metavar="TAG", help="Use this tag.")
@click.option("--path", metavar="FOLDER", help="Link only this folder of it.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in ReferenceKind]),
    default=ReferenceKind.KNOWLEDGE.value,
    show_default=True,
    help="Instructions for how to do something, or example code.",
)
@click.option("--tags", multiple=True, metavar="WORD", help="Words to find it by: style,python.")
@click.option("--description", default="", help="What it is for; agents see this.")
@click.option("--summary", default="", help="What it contains.")
@json_option
def add(
    *,
    url: str,
    name: str | None,
    link: str | None,
    branch: str | None,
    tag: str | None,
    path: str | None,
    kind: str,
    tags: tuple[str, ...],
    description: str,
    summary: str,
    as_json: bool,
) -> None:
    """Fetch the repository at URL, and link it into .sow/refs.

    URL is https, ssh or file, or a folder of this machine. sow never runs
    anything of the repository. The same command twice adds one reference.
    """
    workspace = here()
    if branch is not None and tag is not None:
        raise UsageError("--branch and --tag are both given", hint="Give only one of them.")
    source = source_from(url, working_folder())
    path = path.rstrip("/") if path is not None else None
    name = name if name is not None else _default_id(source, path)
    reference = checked(
        {
            "id": name,
            "source": source,
            "kind": kind,
            "link": link if link is not None else name,
            "branch": branch,
            "tag": tag,
            "path": path or None,
            "tags": [item for text in tags for item in parse_list(readable(text))],
            "description": readable(description),
            "summary": readable(summary),
        }
    )
    added = add_reference(workspace, reference, now=time.time())
    given, reference, facts = reference, added.reference, added.brought.facts
    if as_json:
        found = look(workspace, reference, cached(reference.source))
        view = reference_view(workspace, reference, found)
        echo_json(ReferenceAdded(**{**view, "is_new": added.is_new}))
        return
    done = "added" if added.is_new else "is there already"
    how = "copied to" if added.is_copy else "linked at"
    at = name_of_commit(added.brought.commit)
    click.echo(f"Reference {reference.id} {done}: {how} .sow/refs/{reference.link} ({at})")
    echo_left_out(facts.left_out)
    if not added.is_new and _has_other_words(given, reference):
        click.echo("Note: its entry was not changed; edit it in .sow/refs/index.yaml", err=True)
    if is_of_this_machine(source) and added.is_new:
        click.echo(
            "Note: the address is a folder of this machine; other machines cannot fetch it.",
            err=True,
        )


def _has_other_words(given: Reference, kept: Reference) -> bool:
    """Whether a call says something of a reference that its entry does not say."""
    fields = ("description", "summary", "tags")
    pairs = [(getattr(given, field), getattr(kept, field)) for field in fields]
    return any(new and new != old for new, old in pairs)


def _default_id(source: str, path: str | None) -> str:
    return f"{name_of(source)}-{name_of('/' + path)}" if path else name_of(source)


Act = Callable[..., Updated]
"""`update_reference` or `restore_reference`."""


def restored(workspace: Workspace) -> Iterator[tuple[str, ReferenceUpdated | ReferenceFailed]]:
    """Link all that is missing, and yield what has become of each, in words and for programs."""
    for reference, done in _done(workspace, read_index(workspace).references, restore_reference):
        if isinstance(done, SowError):
            words = f"{reference.id}: {done.message} (then: sow refs init)"
            yield words, _failed_view(reference, done)
        else:
            yield updated_words(done, is_asked=False), updated_view(done)


def _done(
    workspace: Workspace, references: Sequence[Reference], act: Act
) -> Iterator[tuple[Reference, Updated | SowError]]:
    """Do something with each reference; one that fails keeps none of the others from it."""
    for reference in references:
        try:
            yield reference, act(workspace, reference, now=time.time())
        except SowError as error:
            yield reference, error


def _failed_view(reference: Reference, error: SowError) -> ReferenceFailed:
    """Return a reference that could not be brought, for programs."""
    return ReferenceFailed(
        reference=reference.id, source=reference.source, message=error.message, hint=error.hint
    )


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completing.references)
@json_option
def update(ids: tuple[str, ...], as_json: bool) -> int:
    """Update all references, or these, to their remotes.

    One that has diverged is set to the remote, with a note.

    Exit: 0 all were updated; 1 one could not be.
    """
    workspace = here()
    references = references_named(read_index(workspace), ids)
    return _each(workspace, references, update_reference, is_asked=True, as_json=as_json)


@click.command()
@json_option
def init(as_json: bool) -> int:
    """Link all references that are missing on this machine, as in a fresh clone.

    Existing links stay as they are. What this machine has already fetched is
    linked without the network.

    Exit: 0 all are linked; 1 one could not be.
    """
    workspace = here()
    references = read_index(workspace).references
    return _each(workspace, references, restore_reference, is_asked=False, as_json=as_json)


def _each(
    workspace: Workspace,
    references: Sequence[Reference],
    act: Act,
    *,
    is_asked: bool,
    as_json: bool,
) -> int:
    code = ExitCode.OK
    if not references and not as_json:
        click.echo(NONE, err=True)
    for reference, done in _done(workspace, references, act):
        if isinstance(done, SowError):
            code = ExitCode.FAILED
            if as_json:
                echo_json(_failed_view(reference, done))
            else:
                click.echo(f"{reference.id}: {done.message}\n\n{done.hint}", err=True)
        else:
            echo_result(updated_view(done), updated_words(done, is_asked=is_asked), as_json=as_json)
            if done.result is not UpdateResult.STOOD and not as_json:
                echo_left_out(done.brought.facts.left_out)
    return int(code)
