"""Whether the configuration can be used: every check of `sow config validate` but the programs'.

Owns the order of the checks and their words. Whether a program is installed is
told by who knows executors.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from sow import env_vars
from sow.config.config_errors import InvalidConfiguration, NamedFileMissing
from sow.config.configuration import Configuration
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.environment import references
from sow.config.load import load_configuration
from sow.config.origin import OriginKind
from sow.config.source import check_syntax, read_source
from sow.findings import Finding, Level
from sow.paths import display_path
from sow.schema.config import UserConfigFile
from sow.schema.executor_type import ExecutorType


def validate(
    *,
    path: Path,
    repository_path: Path | None,
    environ: Mapping[str, str],
    roles: Sequence[str],
) -> tuple[Sequence[Finding], Configuration | None]:
    """Check the files and the variables as far as the first fault that stops the reading.

    Returns what was found, and the configuration; None where the files cannot be used.
    Raises nothing for what they say: a fault is a finding of level error.
    """
    try:
        exists = check_syntax(path)
    except InvalidConfiguration as error:
        return [_fault("yaml", "YAML", error, path)], None
    if not exists and environ.get(env_vars.CONFIG):
        return [_fault("yaml", "File", NamedFileMissing(path), path)], None
    syntax = _passed("yaml", "YAML syntax valid") if exists else _absent(path)
    try:
        configuration = load_configuration(
            path=path, repository_path=repository_path, environ=environ, roles=roles
        )
    except InvalidConfiguration as error:
        return [syntax, _refused(error, path)], None
    findings = [
        syntax,
        _passed("schema", "Schema valid"),
        _passed("types", _types(configuration)),
        *_bindings(configuration),
        *_doubts(configuration, environ),
    ]
    return findings, configuration


def executors_in_use(configuration: Configuration) -> list[str]:
    """Return the executors that exist and that a role is bound to or a file speaks of."""
    bound = configuration.all_bound
    return [
        name
        for name in configuration.executors
        if name in bound or name not in BUILT_IN_EXECUTORS or _is_spoken_of(configuration, name)
    ]


def _is_spoken_of(configuration: Configuration, name: str) -> bool:
    return any(
        key[:3] == ("agents", "executors", name) and origin.kind is OriginKind.FILE
        for key, origin in configuration.origins.items()
    )


def _types(configuration: Configuration) -> str:
    used = {configuration.executors[name].type for name in executors_in_use(configuration)}
    names = ", ".join(kind for kind in ExecutorType if kind in used)
    return f"Executor types valid ({names})" if names else "Executor types valid"


def _bindings(configuration: Configuration) -> Iterator[Finding]:
    """Yield an error for each role that is bound to nothing."""
    lost = [
        (role, name)
        for role in configuration.bindings
        for name in configuration.bound(role)
        if name not in configuration.executors
    ]
    if not lost:
        yield _passed("bindings", "All bindings reference defined executors")
    for role, name in lost:
        yield _lost_binding(configuration, role, name)


def _lost_binding(configuration: Configuration, role: str, name: str) -> Finding:
    place: tuple[str | int, ...] = ("agents", "bindings", role)
    variable = configuration.origin("agents", "bindings", role).variable
    if role in configuration.fallbacks:
        place = (*place, configuration.bound(role).index(name))
    remedy = f"Available executors: {', '.join(configuration.executors)}"
    if variable:
        text = f"{variable} names an unknown executor: {name}"
        return Finding(check="bindings", level=Level.ERROR, text=text, remedy=remedy)
    source = read_source(configuration.path, UserConfigFile)
    fault = source.fault(*place, reason=f"unknown executor: {name}", remedy=remedy)
    finding = _fault("bindings", "Binding", fault, configuration.path)
    return msgspec.structs.replace(finding, remedy=remedy)


def _doubts(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what loads and has no effect, or may not work where the worker runs."""
    for warning in configuration.warnings:
        yield Finding(check="effect", level=Level.WARNING, text=warning)
    for executor, variable, name in references(configuration.path):
        if name not in environ:
            place = f"agents.executors.{executor}.env.{variable}"
            text = f"{place} needs {name}, which is not set here"
            remedy = f"Set {name} where the worker is started, or its jobs fail."
            yield Finding(check="env", level=Level.WARNING, text=text, remedy=remedy)


def _passed(check: str, text: str) -> Finding:
    return Finding(check=check, level=Level.OK, text=text)


def _absent(path: Path) -> Finding:
    text = f"{display_path(path)} does not exist: the defaults are in effect"
    remedy = "`sow config init` makes it."
    return Finding(check="yaml", level=Level.NOTE, text=text, remedy=remedy)


def _refused(error: InvalidConfiguration, path: Path) -> Finding:
    """Return the finding for what the loader refused, under the check that it belongs to."""
    if error.path != path:
        return _fault("repository", "Repository settings", error, path)
    is_type = error.key.endswith(".type") or "'type'" in error.reason
    check, title = ("types", "Executor types") if is_type else ("schema", "Schema")
    return _fault(check, title, error, path)


def _fault(check: str, title: str, error: InvalidConfiguration, path: Path) -> Finding:
    line = f"line {error.line}" if error.line else ""
    place = ", ".join(part for part in (_other_file(error, path), line) if part)
    about = f"{error.key}: {error.reason}" if error.key else error.reason
    return Finding(
        check=check,
        level=Level.ERROR,
        text=f"{title}: {place}: {about}" if place else f"{title}: {about}",
        remedy=error.hint,
        facts={
            "path": str(error.path),
            "line": error.line,
            "key": error.key,
            "reason": error.reason,
        },
    )


def _other_file(error: InvalidConfiguration, path: Path) -> str:
    return "" if error.path == path else display_path(error.path)
