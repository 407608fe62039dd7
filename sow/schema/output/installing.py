"""What `sow install`, `sow uninstall` and `sow news` print with `--json`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output import fields
from sow.schema.output.findings import FindingView


class MovedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of an earlier kind that was moved."""

    before: Annotated[str, Meta(description="where it lay")]
    after: Annotated[str, Meta(description="where it lies now")]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What an install or uninstall has done."""

    what: Annotated[str, Meta(description="claude or agents-md")]
    scope: Annotated[str, Meta(description="user or project")]
    file: Annotated[str, Meta(description="the file that it is about")]
    changed: Annotated[bool, Meta(description="whether that file is another one now, or would be")]
    deeds: Annotated[tuple[str, ...], Meta(description="what has changed in it, in words")]
    notes: Annotated[
        tuple[str, ...], Meta(description="what stays otherwise than one may expect, and why")
    ]
    backup: Annotated[
        str | None, Meta(description="where a copy of the file before it lies; null for none")
    ]
    needs_trust: Annotated[
        bool, Meta(description="whether Claude Code leaves it out until the folder is trusted")
    ]
    moved: Annotated[tuple[MovedPrompt, ...], Meta(description="prompts that were moved")]
    dry_run: Annotated[bool, Meta(description="whether nothing was written")]


class InstallStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, and whether it is of this sow."""

    ok: Annotated[bool, Meta(description="whether all that is installed is current and whole")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], Meta(description="each thing that was checked")]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What has ended or waits, as a session that leads is told of it."""

    session_id: Annotated[str, Meta(description="whose cursor it is")]
    lines: Annotated[tuple[str, ...], Meta(description="what is told; empty for nothing new")]
    cursor: Annotated[
        str | None, Meta(description="up to where it was told, as `sow changes` takes it; or null")
    ]
