"""Settings, and what sow makes of a repository, as commands print them with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.findings import FindingView


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the user's config file is."""

    path: fields.SettingsPath
    exists: Annotated[bool, about("whether the file exists")]


class SettingsCheck(SettingsFile, frozen=True, kw_only=True):
    """Whether the configuration can be used."""

    valid: Annotated[bool, about("whether it can be used")]
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]


class SettingsEdited(SettingsCheck, frozen=True, kw_only=True):
    """Whether the configuration can be used after `sow config edit`."""

    created: Annotated[bool, about("whether the file was created first")]


class SettingsMade(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was created from the template."""

    path: fields.SettingsPath
    overwritten: Annotated[bool, about("whether a file existed before")]
    backup: fields.Backup


class SettingsRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was removed."""

    path: fields.SettingsPath
    removed: Annotated[bool, about("whether a file existed before")]
    backup: fields.Backup


class Settings(SettingsFile, frozen=True, kw_only=True):
    """Every setting in effect."""

    repository_path: Annotated[
        str | None, about("the repository's settings file; null without a repository")
    ]
    environment: Annotated[
        dict[str, str], about("the variables that chose an executor, and their values")
    ]
    settings: Annotated[
        dict[str, Any],
        about(
            "the settings, in the form of `sow schema config`, and `clones`, `checks` and"
            " `reviews` if the repository sets them"
        ),
    ]
    origins: Annotated[
        dict[str, str], about("the origin of each setting; its key is written with dots")
    ]
    warnings: Annotated[tuple[str, ...], about("what a person should look at")]


class TrustedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One command line of the repository's settings."""

    key: Annotated[str, about("its key in .sow/config.yaml")]
    run: Annotated[str, about("the command line")]
    fence: Annotated[str, about("the sandbox that it runs in; empty without one")] = ""


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """The command lines that you allow sow to run in this repository."""

    commands: Annotated[tuple[TrustedLine, ...], about("every command line")]
    was_accepted: Annotated[bool, about("whether exactly these were accepted before")]
    released: Annotated[
        tuple[int, ...], about("the numbers of the jobs that were held and continue now")
    ]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow init` has created."""

    root: Annotated[str, about("the folder with .sow")]
    made: Annotated[tuple[str, ...], about("what was created, relative to that folder")]
    stood: Annotated[tuple[str, ...], about("what existed already")]
    references: Annotated[
        tuple[dict[str, Any], ...],
        about("the result for each reference, as `sow refs init` prints it"),
    ]
