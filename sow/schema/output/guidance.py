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
    capabilities: Annotated[str, about("what its executor must let it do")]


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the library; of a list, without its text. What is put together has no name."""

    name: Annotated[
        str | None, about("its name, such as guidance/implementer/base; null where none was asked")
    ]
    made_of: (
        Annotated[
            tuple[str, ...], about("where none was asked: the names of what was put together")
        ]
        | UnsetType
    ) = UNSET
    text: Annotated[str, about("its text, in Markdown")] | UnsetType = UNSET


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a prompt is made of."""

    name: Annotated[str, about("the prompt it belongs to: this one, or an included")]
    path: Annotated[str, about("the file")]
    is_teams: Annotated[bool, about("whether it is the team's own, in .sow/prompts")]


class PromptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """With --where: the files that a prompt is made of."""

    name: Annotated[str, about("its name")]
    files: Annotated[
        tuple[PromptFile, ...],
        about("the files, in their order; of one prompt with those it includes"),
    ]
    is_in_yours: Annotated[
        bool, about("whether `sow prompt` without a name prints it, to you, here")
    ]


class PromptsChecked(msgspec.Struct, frozen=True, kw_only=True):
    """With --check: whether the team's own prompts can be used."""

    valid: Annotated[bool, about("whether none of them is refused")]
    findings: Annotated[tuple[FindingView, ...], about("what was found of each file")]


class SchemaName(msgspec.Struct, frozen=True, kw_only=True):
    """A schema that `sow schema` prints."""

    name: Annotated[str, about("the words to give to `sow schema`")]
    describes: Annotated[str, about("the file, or what a command prints")]


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A completion script."""

    shell: Annotated[str, about("the shell it is for")]
    script: Annotated[str, about("the script")]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of `sow mcp`."""

    tool: Annotated[str, about("its name")]
    command: Annotated[str, about("the command that it is")]
    description: Annotated[str, about("what it does: the command's own help")]
    arguments: Annotated[dict[str, Any], about("the arguments that it takes, as JSON Schema")]
    only_reads: Annotated[bool, about("whether it changes nothing")]
