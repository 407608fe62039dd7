"""Knowledge with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

ItemId = Annotated[str, about("the id of its entry; of what is in no index, its path")]
ItemKind = Annotated[
    str, about("what it is: design, decision, exploration, project, unit, note, …")
]
ItemTitle = Annotated[str, about("its heading, or the project's name")]


class KnowledgeItem(msgspec.Struct, frozen=True, kw_only=True):
    """A document, or a project that has ended."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    path: Annotated[str, about("a file or a folder, from the workspace's root")]
    summary: Annotated[str, about("how it begins; often empty")]
    is_here: Annotated[bool, about("whether there is something at its path")]
    project: Annotated[str | None, about("the project's name; null without an entry")]
    project_id: Annotated[str | None, about("the project's id; null without an entry")]
    ended: Annotated[str | None, about("how that has ended: finished or abandoned; null as above")]
    ended_at: Annotated[str | None, about("when that was: UTC, ISO 8601; null as above")]
    approved_by: Annotated[
        str | None, about("who has approved the document: a role, or `person`; null")
    ]


class KnowledgeShown(KnowledgeItem, frozen=True, kw_only=True):
    """A document with its text, or a project with its files."""

    files: Annotated[tuple[str, ...], about("its files, from the workspace's root")]
    text: Annotated[str, about("the document; empty for a project")]


class KnowledgeFound(msgspec.Struct, frozen=True, kw_only=True):
    """A file in which the words stand."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    file: Annotated[str, about("the file, from the workspace's root")]
    line: Annotated[
        int | None, about("where the first of the words stands in it; null for nowhere")
    ]
    excerpt: Annotated[str, about("the text around the words, on one line")]
