"""Knowledge with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

ItemId = Annotated[str, about("the id of its index entry; its path if it has none")]
ItemKind = Annotated[
    str, about("what it is: design, decision, exploration, project, unit, note, …")
]
ItemTitle = Annotated[str, about("its heading, or the project's name")]


class KnowledgeItem(msgspec.Struct, frozen=True, kw_only=True):
    """A document, or a project that has ended."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    path: Annotated[str, about("a file or a folder, relative to the folder with .sow")]
    summary: Annotated[str, about("its first words; often empty")]
    is_here: Annotated[bool, about("whether the file or folder exists")]
    project: Annotated[
        str | None, about("the name of the project that it comes from; null without an index entry")
    ]
    project_id: Annotated[str | None, about("the id of that project; null without an index entry")]
    ended: Annotated[
        str | None,
        about("how that project ended: finished or abandoned; null without an index entry"),
    ]
    ended_at: Annotated[
        str | None, about("when that project ended: UTC, ISO 8601; null without an index entry")
    ]
    approved_by: Annotated[
        str | None, about("who approved the document: a role, or `person`; null if nobody did")
    ]


class KnowledgeShown(KnowledgeItem, frozen=True, kw_only=True):
    """A document with its text, or a project with its files."""

    files: Annotated[tuple[str, ...], about("its files, relative to the folder with .sow")]
    text: Annotated[str, about("the document; empty for a project")]


class KnowledgeFound(msgspec.Struct, frozen=True, kw_only=True):
    """A file that contains the words."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    file: Annotated[str, about("the file, relative to the folder with .sow")]
    line: Annotated[
        int | None,
        about("the line with the first of the words; null if only the title or summary has them"),
    ]
    excerpt: Annotated[str, about("the text around the words, in one line")]
