"""`sow config path`, `show`, `init` and `reset`: the user's config file, and what is in effect.

Owns how the settings are printed. Values of `env` are never printed.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sow.cli import late_click as click
from sow.cli.config import configuration_here, roles
from sow.cli.confirming import confirm
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.config.effective import (
    check_settings_given,
    clone_settings_given,
    effective_settings,
    review_settings,
)
from sow.config.features import of_repository
from sow.errors import ExitCode
from sow.paths import display_path, user_config_path

if TYPE_CHECKING:
    from sow.config.configuration import Configuration
    from sow.config.origin import Key, Setting

COMMENT_COLUMN = 44
"""Where the comments stand, save behind a longer line."""


@click.command()
@click.option("--exists", is_flag=True, help="Print true or false: whether the file exists.")
@json_option
def path(exists: bool, as_json: bool) -> None:
    """Print the path of your config file."""
    place = user_config_path(os.environ)
    if as_json:
        echo_json({"path": str(place), "exists": place.is_file()})
    elif exists:
        click.echo("true" if place.is_file() else "false")
    else:
        click.echo(place)


@click.command()
@json_option
def show(as_json: bool) -> None:
    """Print every setting in effect, and where it came from."""
    configuration = configuration_here(os.environ)
    if as_json:
        echo_json(_record(configuration))
        return
    for line in (*_header(configuration), "", *_document(configuration)):
        click.echo(line)


def _header(configuration: "Configuration") -> Iterator[str]:
    yield "# Effective configuration (merged from defaults + file + environment)"
    yield f"# Config file: {configuration.path} ({_found(configuration.exists)})"
    if configuration.repository_path:
        found = _found(configuration.repository_path.is_file())
        yield f"# Repository settings: {configuration.repository_path} ({found})"
    yield from _of_repository(configuration)
    overrides = (f"{name}={value}" for name, value in _overrides(configuration).items())
    yield f"# Environment overrides: {', '.join(overrides) or 'none'}"
    for warning in configuration.warnings:
        yield f"# Warning: {warning}"


def _of_repository(configuration: "Configuration") -> Iterator[str]:
    """Yield what only a repository says, as comments: a user's file has no such settings."""
    for setting in _repository_settings(configuration):
        value = json.dumps(setting.value, ensure_ascii=False)
        yield f"# {'.'.join(setting.key)}: {value} ({setting.origin.label})"


def _repository_settings(configuration: "Configuration") -> Iterator["Setting"]:
    yield from clone_settings_given(configuration)
    yield from check_settings_given(configuration)
    yield from review_settings(configuration)
    yield from of_repository(configuration)


def _found(exists: bool) -> str:
    return "exists" if exists else "not found"


def _overrides(configuration: "Configuration") -> dict[str, str]:
    """Return the environment variables that chose a binding, and what they chose."""
    return {
        origin.variable: configuration.bindings[key[-1]]
        for key, origin in configuration.origins.items()
        if origin.variable
    }


def _document(configuration: "Configuration") -> Iterator[str]:
    """Yield the settings as YAML that loads as a configuration, a comment behind every value."""
    above: Key = ()
    for setting in effective_settings(configuration):
        parents = setting.key[:-1]
        for depth, name in enumerate(parents):
            if above[: depth + 1] != parents[: depth + 1]:
                yield f"{'  ' * depth}{_yaml_key(name)}:"
        above = parents
        value = json.dumps(setting.value, ensure_ascii=False)
        line = f"{'  ' * len(parents)}{_yaml_key(setting.key[-1])}: {value}"
        yield f"{line:<{COMMENT_COLUMN}}  # ({_note(configuration, setting)})"


def _note(configuration: "Configuration", setting: "Setting") -> str:
    if setting.key[:2] != ("agents", "bindings"):
        return setting.origin.label
    names = configuration.bound(setting.key[-1])
    unknown = [name for name in names if name not in configuration.executors]
    if not unknown:
        return setting.origin.label
    which = f": {', '.join(unknown)}" if len(names) > 1 else ""
    return f"{setting.origin.label}; no such executor{which}"


def _yaml_key(name: str) -> str:
    """Return `name` as a YAML key: quoted, unless nothing but a string could be meant."""
    plain = re.fullmatch(r"[A-Za-z][\w-]*", name) and name.lower() not in (
        *("null", "true", "false", "yes", "no", "on", "off"),
    )
    return name if plain else json.dumps(name, ensure_ascii=False)


def _record(configuration: "Configuration") -> dict[str, Any]:
    settings: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in (*effective_settings(configuration), *_repository_settings(configuration)):
        section = settings
        for name in setting.key[:-1]:
            section = section.setdefault(name, {})
        section[setting.key[-1]] = setting.value
        origins[".".join(setting.key)] = str(setting.origin)
    return {
        "path": str(configuration.path),
        "exists": configuration.exists,
        "repository_path": configuration.repository_path,
        "environment": _overrides(configuration),
        "settings": settings,
        "origins": origins,
        "warnings": list(configuration.warnings),
    }


@click.command()
@click.option("--force", is_flag=True, help="Overwrite an existing file without asking.")
@json_option
def init(force: bool, as_json: bool) -> int:
    """Create your config file from a template that explains every setting.

    An existing file is overwritten only after you confirm it, and is kept as a
    backup beside it.
    """
    path = user_config_path(os.environ)
    stands = userfile.exists(path)
    question = f"{display_path(path)} exists already. Overwrite it?"
    if _is_refused(path, question, "--force", is_given=force):
        return int(ExitCode.FAILED)
    backup = userfile.back_up(path) if path.exists() else None
    userfile.create(path, roles())
    if as_json:
        echo_json({"path": str(path), "overwritten": stands, "backup": backup})
        return 0
    click.echo(f"Made {display_path(path)}")
    if backup is not None:
        click.echo(f"The old file is in {display_path(backup)}")
    click.echo("Next: sow config edit")
    return 0


@click.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
def reset(yes: bool, as_json: bool) -> int:
    """Remove your config file and go back to the defaults.

    A backup is kept as config.yaml.backup, or under the next free name; no older
    backup is overwritten.
    """
    path = user_config_path(os.environ)
    stands = userfile.exists(path)
    question = f"Remove {display_path(path)} and go back to the defaults?"
    if _is_refused(path, question, "--yes", is_given=yes):
        return int(ExitCode.FAILED)
    backup = userfile.reset(path) if stands else None
    if as_json:
        echo_json({"path": str(path), "removed": stands, "backup": backup})
    elif stands:
        click.echo(f"Removed {display_path(path)}: the defaults are in effect.")
        if backup is not None:
            click.echo(f"The old file is in {display_path(backup)}")
    else:
        click.echo(f"There is no {display_path(path)}: the defaults are in effect.")
    return 0


def _is_refused(path: Path, question: str, option: str, *, is_given: bool) -> bool:
    """Ask before a file that is there goes, unless an option answers; tell where it stays."""
    if is_given or not userfile.exists(path) or confirm(question, option=option):
        return False
    click.echo("Nothing was changed.", err=True)
    return True
