"""What `sow install`, `sow uninstall` and `sow news` print with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.findings import FindingView


class MovedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of an earlier kind that was moved."""

    before: Annotated[str, about("where it lay")]
    after: Annotated[str, about("where it lies now")]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What an install or uninstall has done."""

    what: Annotated[str, about("claude or agents-md")]
    scope: Annotated[str, about("user or project")]
    file: Annotated[str, about("the file that it is about")]
    changed: Annotated[bool, about("whether that file is another one now, or would be")]
    deeds: Annotated[tuple[str, ...], about("what has changed in it, in words")]
    notes: Annotated[tuple[str, ...], about("what stays otherwise than one may expect, and why")]
    backup: Annotated[str | None, about("where a copy of the file before it lies; null for none")]
    needs_trust: Annotated[
        bool, about("whether Claude Code leaves it out until the folder is trusted")
    ]
    moved: Annotated[tuple[MovedPrompt, ...], about("prompts that were moved")]
    dry_run: Annotated[bool, about("whether nothing was written")]


class InstallStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, and whether it is of this sow."""

    ok: Annotated[bool, about("whether all that is installed is current and whole")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What has ended or waits, as a session that leads is told of it."""

    session_id: Annotated[str, about("whose cursor it is")]
    lines: Annotated[tuple[str, ...], about("what is told; empty for nothing new")]
    cursor: Annotated[
        str | None, about("up to where it was told, as `sow changes` takes it; or null")
    ]
