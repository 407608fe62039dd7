"""What lies beside the project: the folder's number, what git is told, the settings.

Reads only.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from sow.config.artifact_places import check_places
from sow.config.batches import policy_of
from sow.config.checks import checks_of, read_repository
from sow.config.clones import SECTION as CLONES
from sow.config.clones import clone_settings
from sow.config.config_errors import InvalidConfiguration
from sow.config.features import read_features
from sow.config.load import read_settings
from sow.files import NotAFile, read_regular
from sow.paths import Workspace
from sow.state import version
from sow.state.log_writing import LOG_FILE
from sow.state.version import VERSION_FILE, VERSION_LIMIT, file_version
from sow.state.workspace_init import GIT_ATTRIBUTES
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import conflict_in
from sow.validation.tree import Tree

LARGEST = 1 << 20
MERGES_LOGS = re.compile(rf"^\s*(?:\S*/)?{re.escape(LOG_FILE)}\s(?:.*\s)?-?merge\b", re.MULTILINE)
"""A line that says how logs are merged, whatever it says: somebody's wish."""


def foundation_defects(tree: Tree, user_config: Path) -> Iterator[Defect]:
    """Yield what is wrong with the files beside the project."""
    yield from _number(tree)
    yield from _attributes(tree.workspace)
    yield from _settings(tree.workspace, user_config)


def known_checks(workspace: Workspace) -> Collection[str] | None:
    """Return the names of the repository's checks; None where its settings cannot be read."""
    try:
        return checks_of(read_repository(workspace.repository_config)).commands.keys()
    except InvalidConfiguration:
        return None


def highest_number(tree: Tree) -> int:
    """Return the highest form that a state file of the tree says it has."""
    projects = [*([tree.project] if tree.project else []), *tree.archives]
    states = [project.state for project in projects]
    texts = [state.text for state in states if state is not None]
    for project in projects:
        texts += [folder.state.text for folder in project.tasks if folder.state is not None]
    return max(map(file_version, texts), default=version.FIRST_VERSION)


def _number(tree: Tree) -> Iterator[Defect]:
    path = tree.workspace.sow / VERSION_FILE
    try:
        data = read_regular(path, VERSION_LIMIT)
    except FileNotFoundError:
        data = None
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
        return
    if data is not None and conflict_in(data) is not None:
        return
    text = "" if data is None else data.decode("utf-8", "replace").strip()
    highest = highest_number(tree)
    if data is not None and not (text.isascii() and text.isdigit() and len(text) < 10):
        what = f"{text[:40]!r} is not a format number"
        remedy = f"Write {highest}: it is the highest format of the files here."
        yield Defect(kind=Kind.FORM, path=path, line=1, what=what, remedy=remedy)
    elif int(text or 0) > version.SCHEMA_VERSION:
        what = f"its format is {text}, but this sow reads only {version.SCHEMA_VERSION} and older"
        yield Defect(kind=Kind.NEWER, path=path, line=1, what=what)
    elif int(text or version.FIRST_VERSION) < highest:
        what = f"it says {text or 'nothing'}, but a state file has format {highest}"
        line = 1 if text else None
        yield Defect(kind=Kind.NUMBER, path=path, line=line, what=what, is_mended=True)


def _attributes(workspace: Workspace) -> Iterator[Defect]:
    path = workspace.sow / GIT_ATTRIBUTES
    try:
        text = read_regular(path, LARGEST).decode("utf-8", "replace")
    except FileNotFoundError:
        text = ""
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
        return
    if not MERGES_LOGS.search(text) and conflict_in(text.encode()) is None:
        what = "no line says how logs are merged"
        line = 1 if text else None
        yield Defect(kind=Kind.NO_UNION, path=path, line=line, what=what, is_mended=True)


def _settings(workspace: Workspace, user_config: Path) -> Iterator[Defect]:
    path = workspace.repository_config
    try:
        if conflict_in(read_regular(path, LARGEST)) is None:
            _check_settings(path, user_config)
    except FileNotFoundError:
        return
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
    except InvalidConfiguration as error:
        what = f"{error.key}: {error.reason}" if error.key else error.reason
        remedy, line = error.remedy, error.line or 1
        yield Defect(kind=Kind.SETTINGS, path=path, line=line, what=what, remedy=remedy)


def _check_settings(path: Path, user_path: Path) -> None:
    """Raise InvalidConfiguration for the first fault of `.sow/config.yaml`.

    `user_path` is where the user's own settings stand, for a section that belongs there.
    """
    source = read_settings(path, user_path)
    clones, _ = clone_settings(source)
    checks = checks_of(source)
    read_features(None, source)
    policy_of(source, {})
    check_places(source)
    if clones.merge_check is not None and clones.merge_check not in checks.commands:
        raise source.fault(
            *(CLONES, "merge_check"),
            reason=f"there is no check {clones.merge_check}",
            remedy=f"The checks are: {', '.join(checks.commands) or 'none so far'}.",
        )
