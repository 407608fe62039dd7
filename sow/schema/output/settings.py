"""Settings, and what sow makes of a repository, as commands print them with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.findings import FindingView


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the user's config file is."""

    path: fields.SettingsPath
    exists: Annotated[bool, about("whether it is there")]


class SettingsCheck(SettingsFile, frozen=True, kw_only=True):
    """Whether the configuration can be used."""

    valid: Annotated[bool, about("whether it can be used")]
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]


class SettingsEdited(SettingsCheck, frozen=True, kw_only=True):
    """The same after `sow config edit`."""

    created: Annotated[bool, about("whether the file was made first")]


class SettingsMade(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was made from the template."""

    path: fields.SettingsPath
    overwritten: Annotated[bool, about("whether one was there")]
    backup: fields.Backup


class SettingsRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was removed."""

    path: fields.SettingsPath
    removed: Annotated[bool, about("whether one was there")]
    backup: fields.Backup


class Settings(SettingsFile, frozen=True, kw_only=True):
    """Every setting in effect."""

    repository_path: Annotated[
        str | None, about("the repository's settings; null without a repository")
    ]
    environment: Annotated[
        dict[str, str], about("the variables that chose an executor, and their values")
    ]
    settings: Annotated[
        dict[str, Any],
        about(
            "the settings, in the form of `sow schema config`; and `clones`, `checks`"
            " and `reviews`, as far as the repository says something of them"
        ),
    ]
    origins: Annotated[dict[str, str], about("where each came from, by its key with dots")]
    warnings: Annotated[tuple[str, ...], about("what a person should look at")]


class TrustedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One command line of the repository's settings."""

    key: Annotated[str, about("where it stands in .sow/config.yaml")]
    run: Annotated[str, about("the command line")]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """What this user lets sow run in this workspace."""

    commands: Annotated[tuple[TrustedLine, ...], about("every command line")]
    was_accepted: Annotated[bool, about("whether just these were accepted before")]
    released: Annotated[tuple[int, ...], about("the jobs that were held and go on now, by number")]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow init` has made."""

    root: Annotated[str, about("the workspace's root")]
    made: Annotated[tuple[str, ...], about("what was made, relative to it")]
    stood: Annotated[tuple[str, ...], about("what was there already")]
    references: Annotated[
        tuple[dict[str, Any], ...],
        about("what has become of each reference, as `sow refs init` prints it"),
    ]
