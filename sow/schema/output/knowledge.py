"""Knowledge with `--json`."""

from typing import Annotated

import msgspec
from msgspec import Meta

ItemId = Annotated[str, Meta(description="the id of its entry; of what is in no index, its path")]
ItemKind = Annotated[
    str, Meta(description="what it is: design, decision, exploration, project, unit, note, …")
]
ItemTitle = Annotated[str, Meta(description="its heading, or the project's name")]


class KnowledgeItem(msgspec.Struct, frozen=True, kw_only=True):
    """A document, or a project that has ended."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    path: Annotated[str, Meta(description="a file or a folder, from the workspace's root")]
    summary: Annotated[str, Meta(description="how it begins; often empty")]
    is_here: Annotated[bool, Meta(description="whether there is something at its path")]
    project: Annotated[str | None, Meta(description="the project's name; null without an entry")]
    project_id: Annotated[str | None, Meta(description="the project's id; null without an entry")]
    ended: Annotated[
        str | None, Meta(description="how that has ended: finished or abandoned; null as above")
    ]
    ended_at: Annotated[str | None, Meta(description="when that was: UTC, ISO 8601; null as above")]
    approved_by: Annotated[
        str | None, Meta(description="who has approved the document: a role, or `person`; null")
    ]


class KnowledgeShown(KnowledgeItem, frozen=True, kw_only=True):
    """A document with its text, or a project with its files."""

    files: Annotated[tuple[str, ...], Meta(description="its files, from the workspace's root")]
    text: Annotated[str, Meta(description="the document; empty for a project")]


class KnowledgeFound(msgspec.Struct, frozen=True, kw_only=True):
    """A file in which the words stand."""

    id: ItemId
    kind: ItemKind
    title: ItemTitle
    file: Annotated[str, Meta(description="the file, from the workspace's root")]
    line: Annotated[
        int | None, Meta(description="where the first of the words stands in it; null for nowhere")
    ]
    excerpt: Annotated[str, Meta(description="the text around the words, on one line")]
