"""Roles, prompts, schemas and tools, as commands print them with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.findings import FindingView


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """A role."""

    agent: fields.Agent
    description: Annotated[str, about("what it does")]
    capabilities: Annotated[str, about("what its executor must allow it to do")]
    executors: Annotated[
        tuple[str, ...] | None,
        about("who plays it, in the order in which they are tried; null if no configuration loads"),
    ]


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt: without its text with --list, without a name if no PATH was given."""

    name: Annotated[
        str | None, about("its name, such as guidance/implementer/base; null without PATH")
    ]
    made_of: (
        Annotated[
            tuple[str, ...], about("without PATH: the names of the prompts that it consists of")
        ]
        | UnsetType
    ) = UNSET
    text: Annotated[str, about("its text, in Markdown")] | UnsetType = UNSET


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """One of the files that a prompt consists of."""

    name: Annotated[
        str, about("the prompt that the file belongs to: this one, or one that it includes")
    ]
    path: Annotated[str, about("the path of the file")]
    is_teams: Annotated[bool, about("whether it is the team's own file, in .sow/prompts")]


class PromptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """With --where: the files that a prompt consists of."""

    name: Annotated[str, about("its name")]
    files: Annotated[
        tuple[PromptFile, ...],
        about("the files in their order; for a single prompt also those that it includes"),
    ]
    is_in_yours: Annotated[bool, about("whether `sow prompt` without PATH prints it to you here")]


class PromptsChecked(msgspec.Struct, frozen=True, kw_only=True):
    """With --check: whether the team's own prompts can be used."""

    valid: Annotated[bool, about("whether all of them can be used")]
    findings: Annotated[tuple[FindingView, ...], about("what was found in each file")]


class SchemaName(msgspec.Struct, frozen=True, kw_only=True):
    """A schema that `sow schema` prints."""

    name: Annotated[str, about("the argument of `sow schema`")]
    describes: Annotated[str, about("what the schema describes")]


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A completion script."""

    shell: Annotated[str, about("the shell it is for")]
    script: Annotated[str, about("the script")]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of `sow mcp`."""

    tool: Annotated[str, about("its name")]
    command: Annotated[str, about("the command that it runs")]
    description: Annotated[str, about("what it does: the command's own help")]
    arguments: Annotated[dict[str, Any], about("the arguments that it takes, as JSON Schema")]
    only_reads: Annotated[bool, about("whether it only reads")]
