"""`sow refs add`."""

import time

import click

from sow.cli.arguments import here, working_folder
from sow.cli.output import echo_json, json_option
from sow.cli.refs_words import echo_left_out, name_of_commit, reference_view
from sow.refs.adding import add_reference, checked
from sow.refs.cache import cached
from sow.refs.linking import look
from sow.refs.refs_errors import RefusedReference
from sow.refs.sources import is_of_this_machine, name_of, source_from
from sow.schema.output.references import ReferenceAdded
from sow.schema.references import Reference, ReferenceKind
from sow.state.fields import parse_list
from sow.terminal_text import readable


@click.command()
@click.argument("url")
@click.option("--id", "name", metavar="ID", help="Its id. Default: from the repository's name.")
@click.option("--link", metavar="NAME", help="Its name in .sow/refs. Default: the id.")
@click.option("--branch", metavar="BRANCH", help="Follow this branch. Default: the remote's own.")
@click.option("--tag", metavar="TAG", help="Use this tag.")
@click.option("--path", metavar="FOLDER", help="Link this folder of it only.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in ReferenceKind]),
    default=ReferenceKind.KNOWLEDGE.value,
    show_default=True,
    help="Whether it says how to do something, or is code to look at.",
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

    URL is https, ssh or file, or a folder of this machine. Nothing of the
    repository ever runs here. The same call twice is one reference.
    """
    workspace = here()
    if branch is not None and tag is not None:
        raise RefusedReference(
            "--branch and --tag are both given", "One of the two decides what is linked."
        )
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
        click.echo(
            "Note: what its entry says of it stays; change that in .sow/refs/index.yaml", err=True
        )
    if is_of_this_machine(source) and added.is_new:
        click.echo(
            "Note: the address is a folder of this machine; elsewhere nobody can restore it.",
            err=True,
        )


def _has_other_words(given: Reference, kept: Reference) -> bool:
    """Whether a call says something of a reference that its entry does not say."""
    fields = ("description", "summary", "tags")
    pairs = [(getattr(given, field), getattr(kept, field)) for field in fields]
    return any(new and new != old for new, old in pairs)


def _default_id(source: str, path: str | None) -> str:
    return f"{name_of(source)}-{name_of('/' + path)}" if path else name_of(source)
