"""The folder in which a worker runs a job that is at home in another checkout: a guest's.

It is a workspace with a git repository of its own, made from the worker's checkout by links to its
objects, and from what was sent along. Nothing of the job touches the checkout itself, its branches
or its project. Settings, and the command lines in them, are those of that checkout, and what its
user has accepted counts. Owns where such folders lie, and what is put there when.

What was sent comes from somebody else: only plain files with plain names are written, below the
folder alone, and git has checked every object.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from sow.clones.checkout_id import checkout_id
from sow.clones.copying import copy_files, files_to_copy
from sow.clones.locks import LOCK_SECONDS, locked_place
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.place import inside_of, is_own_branch, safe_name
from sow.clones.steps import read_json, write_json
from sow.errors import StateError
from sow.files import NotWritten, StateLocked, read_if_there, write_atomically
from sow.files.flock import take_lock_file
from sow.git.inert_refs import read_ref
from sow.git.remote import Remote, remote_of
from sow.git.repository import Repository, repository_of
from sow.git.run import LONG_SECONDS, git
from sow.git.view import View, split_records, view_of
from sow.ids import JobId
from sow.paths import SOW_FOLDER, Workspace
from sow.schema.travel import Travel
from sow.state.kept.store import KEPT
from sow.state.tasks import read_task
from sow.travel.clones_at_home import drop_outdated
from sow.travel.names import ID_DIGITS, outward_ref
from sow.user_folders import BaseFolder, user_folder

FOLDER = "guests"
LOCK = ".{}.lock"
"""What the lock of a guest's folder is called, beside it."""
FOLDER_MODE = 0o700
TAKEN_UP = Path("sow") / "guest.json"
"""Below the git folder of a guest: what was taken up there."""
SENT = "refs/sow/sent"
"""What was sent, in that repository: it keeps the objects."""
FROM_CHECKOUT = ("config.yaml", ".queue")
"""The files of `.sow` that are the worker's own checkout's."""
FROM_COMMIT = ("prompts", "knowledge", "refs/index.yaml")
"""What of `.sow` a task has from the commits that were sent: it is part of the repository."""
FROM_STATE = ("project", ".version")
"""What of it was sent beside them."""
PLAIN = "100644", "100755"
LONGEST_FILE = 16 << 20
MOST_BYTES = 128 << 20
MOST_FILES = 20_000
MOST_LISTED = MOST_FILES * 300
"""How long the list of them may be, in bytes."""
MOST_SENT = 4 << 30
"""How large what was sent may be, as far as the worker's checkout does not have it."""
NAME = re.compile(r"[^\x00-\x1f\\:]+")
FILE_LIMIT = 1 << 20


class GuestRefused(StateError):
    """What was sent along with a job is none that can be taken up."""

    def __init__(self, job_id: JobId, why: str) -> None:
        super().__init__(
            f"what was sent along with job {job_id} cannot be used: {why}",
            hint="Whoever has queued it can queue it anew.",
        )


class TakenUp(Struct, frozen=True):
    """What was taken up in a guest's folder."""

    job: int
    packed: str
    caught_up: int = 0
    """The last attempt of another host whose doings are there too."""


class GuestWorkspace(Workspace):
    """The workspace of a guest."""

    def __init__(self, root: Path, host: Path) -> None:
        super().__init__(root)
        self.host = host


def guest_at(host: Workspace, home: str, project_id: str, task_id: str) -> GuestWorkspace:
    """Return the folder for the jobs of a task that is at home elsewhere. It need not be there.

    Others have written what it is named after.
    """
    whose = f"{safe_name(home[:ID_DIGITS])}-{safe_name(project_id[:ID_DIGITS])}"
    return guest_in(host, guests_of(host) / whose / safe_name(task_id))


def guests_of(host: Workspace) -> Path:
    """Return the folder of a checkout's guests: in it one for each home and project."""
    repository = repository_of(host.root)
    own = f"{safe_name(repository.top.name)}-{checkout_id(repository)}"
    return Path(os.path.realpath(user_folder(BaseFolder.STATE)), FOLDER, own)


def guest_in(host: Workspace, top: Path) -> GuestWorkspace:
    """Return the workspace of the guest whose repository is in a folder."""
    return GuestWorkspace(top / inside_of(host.root, repository_of(host.root).top), host.root)


@contextmanager
def guest_lock(top: Path, *, timeout_seconds: float) -> Iterator[None]:
    """Hold the lock under which a guest's folder is made ready or removed. Raises StateLocked."""
    try:
        top.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(top.parent, error) from error
    descriptor = take_lock_file(top.with_name(LOCK.format(top.name)), timeout_seconds)
    if descriptor is None:
        raise StateLocked(top, timeout_seconds)
    try:
        yield
    finally:
        os.close(descriptor)


def take_up(
    guest: GuestWorkspace,
    travel: Travel,
    remote_name: str,
    project_id: str,
    task_id: str,
    *,
    in_clone: bool = True,
) -> None:
    """Have in a guest's folder what a job begins with; what its attempts have made there stays.

    `in_clone` is whether the job works in the task's clone: one that is outdated goes then. Done
    again, it changes nothing. Killed anywhere, the next call begins anew. Raises GuestRefused,
    NoRemote, RemoteRefused, NotWritten, StateLocked, GitRefused, and CloneIsBehind where such a
    clone stays.
    """
    _refuse(travel, project_id, task_id)
    places = _places(guest)
    with guest_lock(places[2], timeout_seconds=LOCK_SECONDS):
        _take_up(guest, places, travel, remote_name, task_id, in_clone=in_clone)


def _take_up(
    guest: GuestWorkspace,
    places: tuple[Repository, str, Path],
    travel: Travel,
    remote_name: str,
    task_id: str,
    *,
    in_clone: bool,
) -> None:
    host, inside, top = places
    packed = travel.packed
    mark = _mark(top)
    before = read_json(mark, TakenUp)
    if before is not None and (before.job, before.packed) == (travel.job_id, packed):
        _take_settings(guest)
        return
    if before is None:
        _make_repository(host, top)
    repository = _repository_in(top, host)
    mark.unlink(missing_ok=True)
    _fetch(remote_of(host, remote_name), repository, travel)
    view = view_of(top)
    _set_refs(view, repository, travel, packed)
    _put_state(guest, view, travel, inside)
    _take_settings(guest)
    if in_clone:
        _drop_outdated_clone(guest, travel, task_id)
    write_json(mark, TakenUp(travel.job_id, packed))


def caught_up(guest: GuestWorkspace) -> int:
    """Return up to which attempt of other hosts a guest's folder has what they did; 0 for none."""
    taken = read_json(_mark(_places(guest)[2]), TakenUp)
    return 0 if taken is None else taken.caught_up


def note_caught_up(guest: GuestWorkspace, travel: Travel, attempt: int) -> None:
    """Note that it has what attempts of other hosts did, up to this one. Raises OSError."""
    mark = _mark(_places(guest)[2])
    write_json(mark, TakenUp(travel.job_id, travel.packed, attempt))


def _mark(top: Path) -> Path:
    return top / ".git" / TAKEN_UP


def _places(guest: GuestWorkspace) -> tuple[Repository, str, Path]:
    """Return the checkout's repository, where in it the workspace is, and the guest's top."""
    assert guest.host is not None  # noqa: S101 - it is a guest
    host = repository_of(guest.host)
    inside = inside_of(guest.host, host.top)
    top = guest.root.parents[len(Path(inside).parts) - 1] if inside else guest.root
    return host, inside, top


def _refuse(travel: Travel, project_id: str, task_id: str) -> None:
    """Raise GuestRefused for names that can be none of the job's."""
    job_id = travel.job_id
    if travel.ref != outward_ref(project_id, task_id, travel.packed):
        raise GuestRefused(job_id, f"{travel.ref} is no ref of its task")
    if not is_own_branch(travel.branch, project_id, task_id):
        raise GuestRefused(job_id, f"{travel.branch} is no branch of its task")
    trunk = travel.trunk
    if trunk.startswith(("-", "sow/")) or not _is_branch(trunk):
        raise GuestRefused(job_id, f"{trunk!r} can be no branch of its project")


def _is_branch(name: str) -> bool:
    git_says = view_of(Path("/")).answer("check-ref-format", f"refs/heads/{name}")[0]
    return bool(name) and git_says == 0


def _make_repository(host: Repository, top: Path) -> None:
    """Make the repository, with the objects of the worker's checkout and nothing else of it."""
    draft = top.with_name(f".{top.name}.{os.urandom(4).hex()}")
    try:
        shutil.rmtree(top, ignore_errors=True)
        words = ("clone", "--quiet", "--no-checkout", "--no-tags", "--dissociate", "--template=")
        source = os.fsdecode(host.common_dir)
        settings = ("-c", "protocol.file.allow=always")
        git(top.parent, *settings, *words, "--", source, draft.name, seconds=LONG_SECONDS)
        for name in ("hooks", "logs"):
            shutil.rmtree(draft / ".git" / name, ignore_errors=True)
        git(draft, "remote", "remove", "origin")
        (draft / ".git" / "info").mkdir(exist_ok=True)
        (draft / ".git" / "info" / "exclude").write_text(f"{SOW_FOLDER}/\n")
        draft.rename(top)
    except OSError as error:
        raise NotWritten(top, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _repository_in(top: Path, host: Repository) -> Repository:
    """Return the repository before any branch of it is there."""
    folder = top / ".git"
    return Repository(
        top=top,
        git_dir=folder,
        common_dir=folder,
        branch=None,
        commit="",
        object_format=host.object_format,
    )


def _fetch(remote: Remote, into: Repository, travel: Travel) -> None:
    """Fetch what was sent, into the guest's repository. The address is the worker's checkout's."""
    here = Remote(remote.name, remote.url, into)
    sent = {commit for commit in (travel.base, travel.tip) if commit is not None}

    def look(view: View) -> None:
        _, *parents = view.text("rev-list", "--parents", "-n", "1", travel.packed).split()
        if set(parents) != sent:
            raise GuestRefused(travel.job_id, "its record names other commits than its ref has")

    here.fetch(travel.ref, travel.packed, most=MOST_SENT, look=look)


def _set_refs(view: View, repository: Repository, travel: Travel, packed: str) -> None:
    """Name the commits that were sent; the task's branch goes on from where it is there.

    Of an earlier job of the task it may lie here with more.
    """
    branch = f"refs/heads/{travel.branch}"
    for name, commit in ((SENT, packed), (f"refs/heads/{travel.trunk}", travel.base)):
        view.text("update-ref", "--no-deref", name, commit)
    if travel.tip is not None:
        view.text("update-ref", "--no-deref", branch, travel.tip)
    elif read_ref(repository.common_dir, branch) is not None:
        view.text("update-ref", "--no-deref", "-d", branch)
    view.text("symbolic-ref", "HEAD", f"refs/heads/{travel.trunk}")


def _put_state(guest: GuestWorkspace, view: View, travel: Travel, inside: str) -> None:
    """Put `.sow` in place as it was sent, and forget the copies of what was there before."""
    draft = guest.root / f"{SOW_FOLDER}.new"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=FOLDER_MODE, parents=True)
        sow = f"{inside}/{SOW_FOLDER}/" if inside else f"{SOW_FOLDER}/"
        folders = [f"{sow}{name}" for name in FROM_COMMIT]
        tree = travel.tip or travel.base
        _write(travel.job_id, view, tree, folders, draft, below=sow)
        _write(travel.job_id, view, travel.packed, FROM_STATE, draft, below="")
        guest.sow.mkdir(mode=FOLDER_MODE, exist_ok=True)
        guest.run.mkdir(mode=FOLDER_MODE, exist_ok=True)
        shutil.rmtree(view.folder / ".git" / KEPT, ignore_errors=True)
        for path in guest.sow.iterdir():
            if path != guest.run:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in draft.iterdir():
            path.rename(guest.sow / path.name)
        (guest.sow / "refs").mkdir(exist_ok=True)
        draft.rmdir()
    except OSError as error:
        raise NotWritten(guest.sow, error) from error


def _write(
    job_id: JobId,
    view: View,
    commit: str,
    names: tuple[str, ...] | list[str],
    to: Path,
    *,
    below: str,
) -> None:
    """Write the plain files of a commit that have these names, or lie in folders of these names."""
    files = list(_plain_files(job_id, view, commit, names))
    asked = "".join(f"{blob}\n" for blob, _, _ in files).encode()
    answer = view.raw("cat-file", "--batch", stdin=asked, seconds=LONG_SECONDS) if files else b""
    at = 0
    for _, size, path in files:
        begin = answer.index(b"\n", at) + 1
        place = to / path.removeprefix(below)
        place.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        place.write_bytes(answer[begin : begin + size])
        at = begin + size + 1


def _plain_files(
    job_id: JobId, view: View, commit: str, names: tuple[str, ...] | list[str]
) -> Iterator[tuple[str, int, str]]:
    """Yield the blob, the size and the path of each. Raises GuestRefused for what is none."""
    words = ("ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", *names)
    left = MOST_BYTES
    listed = view.bounded(*words, most=MOST_LISTED)
    if listed is None:
        raise GuestRefused(job_id, "the state of its project has too many files")
    for count, line in enumerate(split_records(listed)):
        about, _, path = line.partition("\t")
        mode, _, blob, size = about.split()
        parts = path.split("/")
        if mode not in PLAIN or not all(map(_is_plain, parts)):
            raise GuestRefused(job_id, f"{path[:200]!r} is no plain file")
        left -= int(size)
        if int(size) > LONGEST_FILE or left < 0 or count >= MOST_FILES:
            raise GuestRefused(job_id, f"the state of its project is too large ({path[:200]!r})")
        yield blob, int(size), path


def _is_plain(name: str) -> bool:
    return name not in (".", "..", ".git") and NAME.fullmatch(name) is not None


def _drop_outdated_clone(guest: GuestWorkspace, travel: Travel, task_id: str) -> None:
    """Remove the clone of an earlier job of the task, where its branch has moved on at home."""
    main = main_checkout(guest, known_settings(guest))
    place = main.place(read_task(guest, task_id))
    with locked_place(place):
        drop_outdated(main, place, travel.tip)


def _take_settings(guest: GuestWorkspace) -> None:
    """Have the settings of the worker's own checkout, as they are now."""
    assert guest.host is not None  # noqa: S101 - it is a guest
    here = os.fsencode(guest.host)
    if read_if_there(guest.host_here, FILE_LIMIT) != here:
        write_atomically(guest.host_here, here)
    for name in FROM_CHECKOUT:
        data = read_if_there(guest.host / SOW_FOLDER / name, FILE_LIMIT)
        place = guest.sow / name
        if data is None:
            place.unlink(missing_ok=True)
        elif data != read_if_there(place, FILE_LIMIT):
            write_atomically(place, data)
    _take_copied(guest, guest.host)


def _take_copied(guest: GuestWorkspace, host: Path) -> None:
    """Have the files that `clones.copy` means, as they are in the worker's own checkout."""
    patterns = known_settings(guest).copy
    for path in files_to_copy(host, patterns)[0]:
        if (guest.root / path).is_file():
            (guest.root / path).unlink()
    copy_files(host, guest.root, "", patterns)
