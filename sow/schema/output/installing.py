"""What `sow install`, `sow uninstall` and `sow news` print with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.findings import FindingView


class MovedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """An older prompt that was moved."""

    before: Annotated[str, about("its path before")]
    after: Annotated[str, about("its path now")]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What an install or uninstall has done."""

    what: Annotated[str, about("claude or agents-md")]
    scope: Annotated[str, about("user or project")]
    file: Annotated[str, about("the file that was changed, or would be")]
    changed: Annotated[bool, about("whether that file was changed, or with --dry-run would be")]
    changed_settings: Annotated[tuple[str, ...], about("the changes to it, in words")]
    notes: Annotated[
        tuple[str, ...], about("what was not changed although you may expect it, and why")
    ]
    backup: Annotated[str | None, about("the backup of the earlier file; null if none was needed")]
    needs_trust: Annotated[
        bool, about("whether Claude Code ignores it until the folder is trusted")
    ]
    moved: Annotated[tuple[MovedPrompt, ...], about("prompts that were moved")]
    dry_run: Annotated[bool, about("whether nothing was written")]


class InstallStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, and whether it belongs to this version of sow."""

    ok: Annotated[bool, about("whether everything that is installed is up to date and complete")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What has ended or waits for you since the last call."""

    session_id: Annotated[str, about("the session")]
    lines: Annotated[tuple[str, ...], about("the lines that are printed; empty if nothing is new")]
    cursor: Annotated[
        str | None, about("the cursor of `sow changes` up to which the session has read; or null")
    ]
