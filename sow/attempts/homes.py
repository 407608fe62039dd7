"""The folder that a session has as its CLI's configuration, where it is not the user's own.

Owns where it lies, how a CLI is told of it, and how it is made: with links to the user's login, so
that no key is copied and a renewed one is everybody's, and with copies of settings. A CLI may put a
new file in the place of a link; what is in it is brought back to the user's folder. It lies in the
user's folder of state and not in the repository: a sandboxed agent that writes there must not
rewrite its own rules.
"""

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from sow import env_vars
from sow.agent_clis.description import Home, HomePart
from sow.agent_clis.known import AGENT_CLIS
from sow.digest import sha256
from sow.errors import ExecutorError
from sow.executors.base import Launch
from sow.files import read_regular, write_atomically, write_in
from sow.files.flock import lock_file_held
from sow.jobs.private_folders import make_private, opened_private
from sow.paths import Workspace
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import HomeUse
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.user_folders import BaseFolder, home_in, user_folder

ROOT_DIGITS, PROJECT_DIGITS = 12, 8
"""How much of a checkout's digest, and of a project's id, names the folder of their homes."""
LOCK = ".sow-login.lock"
"""Beside a login of the user's: who brings a renewed one back holds it."""
LOGIN_LIMIT = 1 << 20
"""No file of a login is larger, in bytes."""


def home_of(executor: ExecutorConfig) -> Home | None:
    """Return what the home of a new session consists of; None where it has the user's own."""
    home = AGENT_CLIS[executor.type].home
    if executor.is_sandboxed:
        return home  # the user's own is not in the sandbox
    use = executor.home or (home.use if home is not None else HomeUse.SHARED)
    return home if use is HomeUse.PER_SESSION else None


def parts_of(executor: ExecutorConfig) -> tuple[HomePart, ...]:
    """Return the parts of a session's home; none where its CLI can have no home of its own."""
    home = AGENT_CLIS[executor.type].home
    if home is None:
        return ()
    return (*home.parts, *home.fenced) if executor.is_sandboxed else home.parts


def all_homes() -> str:
    """Return the folder of all homes of this user. Nothing promises that it is there."""
    return f"{user_folder(BaseFolder.STATE)}/homes"


def homes_of(workspace: Workspace, project_id: str) -> Path:
    """Return the folder of all homes of a project in a checkout."""
    root = os.path.realpath(workspace.root)
    mark = sha256(os.fsencode(root)).hexdigest()[:ROOT_DIGITS]
    return Path(all_homes(), f"{mark}-{project_id[:PROJECT_DIGITS]}")


def session_folder(
    workspace: Workspace,
    project_id: str,
    task_id: str,
    executor: ExecutorConfig,
    review: int | None = None,
) -> Path | None:
    """Return where a task's session with an executor has its folder; None if its CLI has none.

    `review` is the job of a review, which has a session of its own. Nothing promises that it is
    there, or is used.
    """
    if AGENT_CLIS[executor.type].home is None:
        return None
    whose = f"task-{task_id}" if review is None else f"review-{review}"
    return homes_of(workspace, project_id) / whose / executor.name


def folder_of_job(workspace: Workspace, job: Job) -> Path | None:
    """Return the folder of the session that a job's agent works in, likewise."""
    review = None if kind_of(job).makes_work else job.id
    return session_folder(workspace, job.project_id, job.task_id, job.agents_executor, review)


def home_used(folder: Path | None, executor: ExecutorConfig, *, begins: bool) -> Path | None:
    """Return the folder that a session is to be launched with; None for the user's own.

    The configuration says where one begins. One that goes on has what it was begun with.
    """
    home = AGENT_CLIS[executor.type].home
    if folder is None or home is None:
        return None
    if executor.is_sandboxed:
        return folder  # the user's own is not in the sandbox, whatever the session was begun in
    if begins:
        return folder if home_of(executor) is not None else None
    return folder if _inner(folder, home.parts[0]).is_dir() else None


def in_home(
    launch: Launch, executor: ExecutorConfig, folder: Path | None, environ: Mapping[str, str]
) -> Launch:
    """Return a launch that finds its configuration in `folder`, and passes on what the user had.

    `environ` is the agent's environment before.
    """
    parts = parts_of(executor)
    if folder is None or not parts:
        return launch
    named = {part.variable: str(place_in(folder, part)) for part in parts}
    for part in parts:
        if part.login_variable and not executor.is_sandboxed:  # it names what is not there
            users = environ.get(part.login_variable, environ.get(part.variable, ""))
            named[part.login_variable] = users
    had = {f"{env_vars.USERS_PREFIX}{name}": environ.get(name, "") for name in named}
    return replace(launch, env={**launch.env, **named, **had}, home=folder)


def place_in(folder: Path, part: HomePart) -> Path:
    """Return what the variable of a part names in a session's folder."""
    return folder / part.variable.lower()


def _inner(folder: Path, part: HomePart) -> Path:
    """Return the CLI's own folder of a part, in a session's folder."""
    return place_in(folder, part) / part.inside


def make_home(
    folder: Path, executor: ExecutorConfig, environ: Mapping[str, str], files: Mapping[str, str]
) -> None:
    """Make a session's folder as far as it is not there, and write `files` into it.

    `environ` is the agent's environment, by which the user's own folder is found. The files go into
    the first part, by their paths there. Raises ExecutorError where it cannot be made.
    """
    parts = parts_of(executor)
    if not parts:
        return
    try:
        for part in parts:
            mine = _inner(folder, part)
            if not mine.is_dir():
                state = Path(user_folder(BaseFolder.STATE))
                state.mkdir(mode=0o700, parents=True, exist_ok=True)
                make_private(mine.parent, below=state)
                _fill(mine, part, environ)
        first = _inner(folder, parts[0])
        for name, text in files.items():  # an agent may have laid links there
            path = first / name
            with opened_private(path.parent, below=folder) as place:
                write_in(place, path, text.encode(), mode=0o600, durable=False)
    except OSError as error:
        raise ExecutorError(
            f"the session's own configuration folder cannot be made: {error}",
            hint=f"Check {folder.parent}, or set agents.executors.{executor.name}.home: shared.",
        ) from error


def _fill(mine: Path, part: HomePart, environ: Mapping[str, str]) -> None:
    """Make a part from the user's; under another name first, so that a half one is never used."""
    users = folder_in(part, environ)
    outer = users if environ.get(part.variable) else home_in(environ)
    draft = mine.with_name(f"{mine.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    for name in part.copied:
        _copy(users / name, draft / name)
    for name in part.beside:
        _copy(outer / name, draft / name)
    for name in (*part.linked, *(each for each in part.mirrored if (users / each).exists())):
        (draft / name).symlink_to(users / name)
    draft.rename(mine)


def _copy(source: Path, copy: Path) -> None:
    """Copy a file or a folder, if it is there."""
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=False, ignore_dangling_symlinks=True)
    elif source.is_file():
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(source, copy)
        copy.chmod(0o600)


def folder_in(part: HomePart, environ: Mapping[str, str]) -> Path:
    """Return the CLI's own folder of a part, as `environ` names it."""
    named = environ.get(part.variable)
    return (Path(named) if named else home_in(environ) / part.folder) / part.inside


def bring_login_back(
    folder: Path, executor: ExecutorConfig, environ: Mapping[str, str]
) -> list[Path]:
    """Bring a login that a CLI has renewed by a new file back to the user's folder.

    `environ` is as for `make_home`. Returns the user's files that were written. Raises OSError.
    """
    written = []
    for part in parts_of(executor):
        mine, users = _inner(folder, part), folder_in(part, environ)
        if not _is_without_links(folder, mine):
            continue  # an agent has put a link to another folder of the user's there
        for name in part.linked:
            if (mine / name).is_file() and not (mine / name).is_symlink():
                _bring_back(mine / name, users / name)
                written.append(users / name)
    return written


def _is_without_links(folder: Path, inner: Path) -> bool:
    """Whether a path leads from a folder to one inside of it, and nowhere else."""
    return os.path.realpath(inner) == os.path.join(  # noqa: PTH118
        os.path.realpath(folder), inner.relative_to(folder)
    )


def _bring_back(renewed: Path, users: Path) -> None:
    """Put a renewed file in the place of the user's, unless that is newer; link to it again."""
    users.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file_held(users.parent / LOCK):
        if users.exists() and not users.is_file():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(users))
        is_newer = True
        with suppress(FileNotFoundError):
            is_newer = renewed.stat().st_mtime_ns > users.stat().st_mtime_ns
        if is_newer and renewed.stat().st_size <= LOGIN_LIMIT:
            data = read_regular(renewed, LOGIN_LIMIT)
            write_atomically(Path(os.path.realpath(users)), data, mode=0o600)
        renewed.unlink()
        renewed.symlink_to(users)


def remove_home(folder: Path) -> None:
    """Remove a session's folder; what it links to is the user's and stays."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
