"""The folder that a session has as its CLI's configuration, where it is not the user's own.

Owns where it lies, how a CLI is told of it, and how it is made: with links to the user's login, so
that no key is copied and a renewed one is everybody's, and with copies of settings. A CLI may put a
new file in the place of a link; what is in it is brought back to the user's folder. It lies in the
user's folder of state and not in the repository: a sandboxed agent that writes there must not
rewrite its own rules. An agent may write in its home all the same, so nothing that it has put there
is followed, and each attempt begins with the user's settings.
"""

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sow import env_vars
from sow.agent_clis.description import Home, HomePart
from sow.agent_clis.known import AGENT_CLIS
from sow.digest import sha256
from sow.errors import ExecutorError
from sow.executors.base import Launch
from sow.files import NotAFile, NotWritten, read_if_there, read_regular_in, write_atomically
from sow.files.flock import lock_file_held
from sow.files.own_folders import copy_following, kind_in, opened_below, opened_in, write_file
from sow.files.trees import remove_tree
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
    return Path(all_homes(), f"{_mark_of(workspace)}-{project_id[:PROJECT_DIGITS]}")


def homes_of_checkout(workspace: Workspace) -> Mapping[str, Path]:
    """Return the folders of the homes of each project in a checkout, by its id's first digits."""
    if not os.path.isdir(all_homes()):  # noqa: PTH112 - asked for at each rest
        return {}
    mark = f"{_mark_of(workspace)}-"
    found = homes_in(Path(all_homes()))
    return {each.name.removeprefix(mark): each for each in found if each.name.startswith(mark)}


def _mark_of(workspace: Workspace) -> str:
    """Return what stands for a checkout in the names of its homes."""
    root = os.path.realpath(workspace.root)
    mark: str = sha256(os.fsencode(root)).hexdigest()[:ROOT_DIGITS]
    return mark


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


def has_folder(workspace: Workspace, job: Job) -> bool:
    """Whether a folder of that session is there, of this attempt's use or an earlier one's."""
    folder = folder_of_job(workspace, job)
    return folder is not None and folder.is_dir()


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


def home_variables(workspace: Workspace, job: Job) -> dict[str, str]:
    """Return by which variables the CLI of a running job finds its session's own folder, if any."""
    executor = job.agents_executor
    folder = home_used(folder_of_job(workspace, job), executor, begins=False)
    if folder is None:
        return {}
    return {part.variable: str(place_in(folder, part)) for part in parts_of(executor)}


def place_in(folder: Path, part: HomePart) -> Path:
    """Return what the variable of a part names in a session's folder."""
    return folder / part.variable.lower()


def _inner(folder: Path, part: HomePart) -> Path:
    """Return the CLI's own folder of a part, in a session's folder."""
    return place_in(folder, part) / part.inside


def make_home(
    folder: Path,
    executor: ExecutorConfig,
    environ: Mapping[str, str],
    files: Mapping[str, str],
    links: Mapping[str, Path] | None = None,
) -> None:
    """Make a session's folder, or make it right again, and write `files` and `links` into it.

    Settings are the user's at each attempt, and logins are links to the user's, whatever an agent
    has made of them meanwhile. `environ` is the agent's environment, by which the user's own folder
    is found. The files go into the first part, by their paths there. Raises ExecutorError where it
    cannot be made.
    """
    written, placed = files, links or {}
    try:
        for part in parts_of(executor):
            with _opened(_inner(folder, part), makes=True) as mine:
                _fill(mine, part, environ)
                for name, text in written.items():
                    write_file(mine, Path(name).parts, text.encode())
                for name, target in placed.items():
                    _put_link(mine, name, target)
                written, placed = {}, {}
    except (OSError, NotWritten) as error:
        raise ExecutorError(
            f"the session's own configuration folder cannot be made: {error}",
            hint=f"Check {folder.parent}, or set agents.executors.{executor.name}.home: shared.",
        ) from error


def _opened(folder: Path, *, makes: bool = False) -> AbstractContextManager[int]:
    """Give a folder of a home, open. No link below the folder of all homes is followed."""
    homes = Path(all_homes())
    return opened_below(homes, folder.relative_to(homes).parts, makes=makes)


def _fill(mine: int, part: HomePart, environ: Mapping[str, str]) -> None:
    """Give an open part the user's settings, and links to the user's logins."""
    users = folder_in(part, environ)
    outer = users if environ.get(part.variable) else home_in(environ)
    for name in part.copied:
        copy_following(users / name, mine, Path(name).parts)
    for name in part.beside:
        copy_following(outer / name, mine, Path(name).parts)
    for name in part.linked:
        _link_login(mine, name, users / name)
    for name in part.mirrored:
        if (users / name).exists():
            _put_link(mine, name, users / name)
        else:
            remove_tree(mine, name)
    for name in part.shared:
        if (users / name).is_dir():
            with opened_in(mine, Path(name).parts) as own:
                _link_entries(own, users / name)


def _link_entries(own: int, users: Path) -> None:
    """Put links to the entries of a user's folder into an open one, but for what it has itself."""
    there = {entry.name for entry in users.iterdir() if not entry.name.startswith(".")}
    for name in os.listdir(own):
        if name not in there and kind_in(own, name) == stat.S_IFLNK:
            remove_tree(own, name)
    for name in there:
        if kind_in(own, name) != stat.S_IFDIR:
            _put_link(own, name, users / name)


def _link_login(mine: int, name: str, users: Path) -> None:
    """Put a link to a login of the user's into an open part; a file there is a renewed one."""
    match kind_in(mine, name):
        case stat.S_IFREG:
            return
        case stat.S_IFLNK if os.readlink(name, dir_fd=mine) == str(users):
            return
        case stat.S_IFDIR:
            remove_tree(mine, name)
    _put_link(mine, name, users)


def _put_link(mine: int, name: str, users: Path) -> None:
    """Put a link into an open part, in the place of any file: whoever is killed leaves either."""
    draft = f".{name}.link"
    remove_tree(mine, draft)
    os.symlink(users, draft, dir_fd=mine)
    os.rename(draft, name, src_dir_fd=mine, dst_dir_fd=mine)


def folder_in(part: HomePart, environ: Mapping[str, str]) -> Path:
    """Return the CLI's own folder of a part, as `environ` names it."""
    named = environ.get(part.variable)
    return (Path(named) if named else home_in(environ) / part.folder) / part.inside


def bring_login_back(
    folder: Path, executor: ExecutorConfig, environ: Mapping[str, str], now: float
) -> list[Path]:
    """Bring a login that a CLI has renewed by a new file back to the user's folder.

    `environ` is as for `make_home`; `now` is the time by the clock. Returns the user's
    files that were written. Raises OSError, NotAFile, NotWritten.
    """
    written = []
    for part in parts_of(executor):
        users = folder_in(part, environ)
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            _opened(_inner(folder, part)) as mine,
        ):
            for name in part.linked:
                is_file = kind_in(mine, name) == stat.S_IFREG
                if is_file and _bring_back(mine, name, users / name, int(now * 1e9)):
                    written.append(users / name)
    return written


def _bring_back(mine: int, name: str, users: Path, now_ns: int) -> bool:
    """Put a renewed file in the place of the user's, and a link to it again in its own.

    The user's is then as old as the renewed one: another session may have renewed it later, and
    may end later. Returns whether it was taken. It is not where the user's is newer, or where it
    can be no login: one that its CLI was writing when it was killed is cut off.
    """
    users.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file_held(users.parent / LOCK):
        if users.exists() and not users.is_file():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(users))
        renewed = os.stat(name, dir_fd=mine, follow_symlinks=False).st_mtime_ns
        renewed, before = min(renewed, now_ns), 0
        with suppress(FileNotFoundError):
            before = users.stat().st_mtime_ns
        is_newer = renewed > before or before > now_ns  # nothing is of the future
        data = b""
        with suppress(NotAFile):
            data = read_regular_in(mine, Path(name), LOGIN_LIMIT)
        is_taken = is_newer and _may_replace(data, users)
        if is_taken:
            write_atomically(
                Path(os.path.realpath(users)), data, mode=0o600, modified_at_ns=renewed
            )
        _put_link(mine, name, users)
    return is_taken


def _may_replace(data: bytes, users: Path) -> bool:
    """Whether what an attempt has left can be a login: not empty, and JSON where the user's is."""
    before = read_if_there(users, LOGIN_LIMIT)
    return bool(data.strip()) and (_is_json(data) or before is None or not _is_json(before))


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def remove_home(folder: Path) -> None:
    """Remove the folder of a session, or one of several; what it links to is the user's and stays.

    The folder above goes with its last one.
    """
    with suppress(OSError), _opened(folder.parent) as above:
        remove_tree(above, folder.name)
    if folder.parent == Path(all_homes()):
        return
    with suppress(OSError), _opened(folder.parent.parent) as above:
        os.rmdir(folder.parent.name, dir_fd=above)


def homes_in(folder: Path) -> list[Path]:
    """Return the folders in one of homes; a link that somebody has put there is removed."""
    found = []
    with suppress(OSError), _opened(folder) as opened:
        for name in sorted(os.listdir(opened)):  # noqa: PTH208 - of an open folder
            if kind_in(opened, name) == stat.S_IFDIR:
                found.append(folder / name)
            else:
                remove_tree(opened, name)
    return found
