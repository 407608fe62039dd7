"""`python -m worker.steps scan ORDERS`: looks for an agent's secrets in what it has made.

They come on standard input, `NAME=value` with a NUL behind each. Owns what is looked at: what the
agent has committed (each version of each file, and the messages), what it has left uncommitted, and
the folder of its task. Names of variables and files are left in `found.json`, and never a value.
Nothing of a clone's settings acts meanwhile, and nothing is changed.
"""

import os
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
from msgspec import UNSET

from sow.blanking import Blanker
from sow.clones.clone_facts import CloneFacts
from sow.clones.difference import working_tree_files
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.task_diff import facts_of
from sow.clones.work_tree import work_tree
from sow.errors import SowError
from sow.files import read_regular, write_atomically
from sow.git.git_errors import NoRepository
from sow.git.inert_refs import read_head
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import repository_of
from sow.git.run import LONG_SECONDS, git_talking
from sow.git.view import View, named, view_of
from sow.paths import AttemptPaths, Workspace
from sow.schema.task import Task
from sow.state.tasks import find_task, read_task
from worker.steps.program_input import ORDERS_LIMIT, ScanOrders
from worker.steps.result_file import words_of
from worker.steps.scan_record import Found

PIECE_BYTES = 1 << 20
MOST_FOUND = 200
"""How many places are told at most."""


def main(orders_file: str) -> int:
    """Look, and leave what was found; return 0."""
    orders = msgspec.json.decode(read_regular(Path(orders_file), ORDERS_LIMIT), type=ScanOrders)
    pairs = (field.partition(b"=") for field in sys.stdin.buffer.read().split(b"\0") if field)
    search = Search(Blanker({name: value for name, _, value in pairs}))
    fault = ""
    try:
        _look(orders, search)
    except (SowError, OSError) as error:
        fault = search.named(words_of(error))
    found = Found(attempt=orders.attempt, places=tuple(search.places), fault=fault)
    paths = AttemptPaths(Path(orders.folder))
    write_atomically(paths.found, msgspec.json.encode(found), mode=0o600, durable=False)
    return 0


class Search:
    """The look for values, file by file."""

    def __init__(self, blanker: Blanker) -> None:
        self.blanker = blanker
        self.places: dict[tuple[str, str], None] = {}

    def see(self, where: str, pieces: Iterator[bytes]) -> None:
        """Look at a file that comes in pieces, and at its name."""
        self._note(where, os.fsencode(where))
        kept = b""
        for piece in pieces:
            data = kept + piece
            self._note(where, data)
            kept = data[max(0, len(data) - self.blanker.longest + 1) :]

    def named(self, text: str) -> str:
        """Return a text with the names of secrets in the place of their values, fit for JSON."""
        return self.blanker.whole(os.fsencode(text)).decode("utf-8", "replace")

    def _note(self, where: str, data: bytes) -> None:
        for name in self.blanker.names_in(data):
            if len(self.places) < MOST_FOUND:
                self.places[name.decode(), self.named(where)] = None


def _look(orders: ScanOrders, search: Search) -> None:
    workspace = Workspace(Path(orders.workspace))
    task = read_task(workspace, orders.task)
    folder = find_task(workspace, task.id).folder
    for path in sorted(folder.rglob("*")):
        _see_file(search, path, str(path.relative_to(workspace.root)))
    if task.clone is not UNSET:
        _look_at_clone(workspace, task, search)
        return
    try:
        main = repository_of(workspace.root)
    except NoRepository:
        return
    view = view_of(main.top)
    facts = facts_of(workspace.root, main.top, main.top, "", main.commit)
    _see_commits(search, view, main.commit, orders.commit or main.commit)
    for name in working_tree_files(view, facts):
        _see_file(search, main.top / name, name)


def _look_at_clone(workspace: Workspace, task: Task, search: Search) -> None:
    main = main_checkout(workspace, known_settings(workspace))
    place = main.place(task)
    tip = read_head(real_git_dir(place.path)).commit
    if tip is None or not place.base:
        return
    facts: CloneFacts = place
    with private_view(place.path, main.repository, reads_main=True) as view:
        _see_commits(search, view, tip, place.base)
        tree = work_tree(view, facts, tip)
    for name in (*tree.changed, *(path for left in tree.untaken for path in left.paths)):
        _see_file(search, place.path / name, name)


def _see_commits(search: Search, view: View, tip: str, base: str) -> None:
    """Look at each object that came after `base`: files by their names, commits by their own."""
    if tip == base:
        return
    words = ("rev-list", "--objects", tip, "--not", base)
    listed = view.raw(*words, seconds=LONG_SECONDS).splitlines()
    objects = [line.partition(b" ")[::2] for line in listed]
    with git_talking(view.folder, "cat-file", "--batch", environ=view.environ()) as process:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101 - likewise
        for name, path in objects:
            process.stdin.write(name + b"\n")
            process.stdin.flush()
            head = process.stdout.readline().split()
            if len(head) != 3:
                raise OSError(0, f"git does not give {name.decode()}")
            kind, size = head[1], int(head[2])
            where = named(path) if kind == b"blob" else f"the message of {name[:12].decode()}"
            pieces = _pieces(process.stdout, size)
            if kind == b"tree":
                deque(pieces, maxlen=0)
            else:
                search.see(where, pieces)
            process.stdout.read(1)  # the newline behind it


def _pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield so many bytes of a file, in pieces. Raises OSError where they end before."""
    while size > 0:
        piece = file.read(min(size, PIECE_BYTES))
        if not piece:
            raise OSError(0, "git has ended in the middle of a file")
        size -= len(piece)
        yield piece


def _see_file(search: Search, path: Path, where: str) -> None:
    """Look at a regular file. What cannot be opened holds nothing that would be taken."""
    with _opened(path) as descriptor:
        if descriptor is not None:
            search.see(where, iter(lambda: os.read(descriptor, PIECE_BYTES), b""))


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)
