"""Roles, prompts, schemas and tools, as commands print them with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.output import fields
from sow.schema.output.findings import FindingView


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """A role."""

    agent: fields.Agent
    description: Annotated[str, Meta(description="what it does")]
    capabilities: Annotated[str, Meta(description="what its executor must let it do")]


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the library; of a list, without its text. What is put together has no name."""

    name: Annotated[
        str | None,
        Meta(description="its name, such as guidance/implementer/base; null where none was asked"),
    ]
    made_of: (
        Annotated[
            tuple[str, ...],
            Meta(description="where none was asked: the names of what was put together"),
        ]
        | UnsetType
    ) = UNSET
    text: Annotated[str, Meta(description="its text, in Markdown")] | UnsetType = UNSET


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a prompt is made of."""

    name: Annotated[str, Meta(description="the prompt it belongs to: this one, or an included")]
    path: Annotated[str, Meta(description="the file")]
    is_teams: Annotated[bool, Meta(description="whether it is the team's own, in .sow/prompts")]


class PromptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """With --where: the files that a prompt is made of."""

    name: Annotated[str, Meta(description="its name")]
    files: Annotated[
        tuple[PromptFile, ...],
        Meta(description="the files, in their order; of one prompt with those it includes"),
    ]
    is_in_yours: Annotated[
        bool, Meta(description="whether `sow prompt` without a name prints it, to you, here")
    ]


class PromptsChecked(msgspec.Struct, frozen=True, kw_only=True):
    """With --check: whether the team's own prompts can be used."""

    valid: Annotated[bool, Meta(description="whether none of them is refused")]
    findings: Annotated[tuple[FindingView, ...], Meta(description="what was found of each file")]


class SchemaName(msgspec.Struct, frozen=True, kw_only=True):
    """A schema that `sow schema` prints."""

    name: Annotated[str, Meta(description="the words to give to `sow schema`")]
    describes: Annotated[str, Meta(description="the file, or what a command prints")]


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A completion script."""

    shell: Annotated[str, Meta(description="the shell it is for")]
    script: Annotated[str, Meta(description="the script")]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of `sow mcp`."""

    tool: Annotated[str, Meta(description="its name")]
    command: Annotated[str, Meta(description="the command that it is")]
    description: Annotated[str, Meta(description="what it does: the command's own help")]
    arguments: Annotated[
        dict[str, Any], Meta(description="the arguments that it takes, as JSON Schema")
    ]
    only_reads: Annotated[bool, Meta(description="whether it changes nothing")]
