"""A storm over one queue: processes that open it and commit, swaps of its files, and SIGKILLs.

It goes in rounds. In each round several processes use the queue, its files are swapped once or
several times at random moments, and processes are killed, those that swap too. Then all come to an
end, the queue is opened once more, and what it holds is compared with what was reported.
"""

import mmap
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from journeys.site import wait_until
from queue_cases import MANY, insert

from sow.errors import QueueError
from sow.ids import WorkerId
from sow.jobs import jobs, leases, messages
from sow.jobs.database import ConstraintFailed, Database, open_existing_queue, open_queue
from sow.jobs.faults import QueueDamaged
from sow.jobs.jobs import TaskIsTaken
from sow.paths import Workspace
from sow.state.kept import keeper_hooks

OWN = "own "
"""How the prompt of each job begins that a process of the storm has put on record."""
PROCESSES = 4
SECONDS = 120.0
SIDES = ("-wal", "-shm")
UNTELLABLE = frozenset({"log removed", "copy brought back"})
"""Swaps after which nobody can tell what is missing, if whoever had the file open is gone."""
LOG_LOST = UNTELLABLE | {"moved and brought back", "written over"}
"""Swaps that may leave a file that its log was being written into: nobody can tell that at once."""
OF_DAMAGE = (TaskIsTaken, ConstraintFailed)
"""What the indexes of such a file lead to."""
MOST_REMEDIES = 4
BACK, MISSING = "your own file was put back", "may be missing"


class Event(NamedTuple):
    """What a process says of itself; `handle` tells one opening of the queue from the next."""

    at: int
    handle: str
    kind: str
    text: str


@dataclass
class Journal:
    """A file in which each process writes down what it does, a line each."""

    path: Path

    def write(self, handle: str, kind: str, text: str = "") -> None:
        line = f"{time.monotonic_ns()}\t{handle}\t{kind}\t{' '.join(text.split())[:600]}\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, line.encode())
        os.close(fd)

    def read(self) -> list[Event]:
        if not self.path.exists():
            return []
        lines = (line.split("\t", 3) for line in self.path.read_text().splitlines())
        return [Event(int(at), handle, kind, text) for at, handle, kind, text in lines]

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0


@dataclass
class Swap:
    """One change of the files by somebody else. `ended_at`: when nothing of it went on any more."""

    kind: str
    began_at: int
    ended_at: int
    was_killed: bool


@dataclass
class User:
    """A process that uses the queue, as commands and workers do."""

    workspace: Workspace
    journal: Journal
    name: str
    chance: random.Random
    is_over: Callable[[], bool]
    handles: int = 0
    records: int = 0

    @property
    def handle(self) -> str:
        return f"{self.name}.{self.handles}"

    def live(self) -> None:
        """Open the queue again and again: for one record as a command, or for many as a worker."""
        keeper_hooks.OURS.tell = lambda words: self.journal.write(self.handle, "told", words)
        while not self.is_over():
            self.handles += 1
            opening = self.chance.choice((open_queue, open_queue, open_existing_queue))
            try:
                database = opening(self.workspace)
                if database is None:
                    continue
                with closing(database):
                    self.use(database, self.chance.choice((1, 1, 3, MANY)))
                self.journal.write(self.handle, "closed")
            except (QueueError, *OF_DAMAGE) as error:
                self.journal.write(self.handle, "refused", f"{type(error).__name__}: {error}")

    def use(self, database: Database, times: int) -> None:
        if self.chance.random() < 0.3:
            database.connection.execute("pragma wal_autocheckpoint = 5")
        for _ in range(times):
            if self.is_over():
                return
            self.chance.choice((self.look, self.commit, self.commit, self.claim))(database)
        self.look(database)

    def look(self, database: Database) -> None:
        for record in records_of(database):
            self.refuse_foreign(record)

    def refuse_foreign(self, record: str) -> None:
        if not record.startswith(OWN):
            self.journal.write(self.handle, "foreign", record)

    def commit(self, database: Database) -> None:
        self.records += 1
        record = f"{self.handle}-{self.records}"
        self.journal.write(self.handle, "begun", record)
        with database.transaction():
            job = insert(database, f"t{record}", prompt=f"{OWN}{record}")
            leases.enqueue(database, job.id, now=time.time())
        self.journal.write(self.handle, "committed", record)

    def claim(self, database: Database) -> None:
        worker = WorkerId(f"w-{self.name}")
        data = leases.claim(database, worker, total=MANY, own=MANY, now=time.time())
        if data is not None:
            self.refuse_foreign(jobs.get_job(database, messages.job_of(data)).prompt)


def records_of(database: Database) -> list[str]:
    return [row["prompt"] for row in database.rows("select prompt from job")]


@dataclass
class Swapper:
    """Whoever changes the queue's files without sow."""

    workspace: Workspace
    foreign: list[Path]
    backup: Path
    chance: random.Random

    def __post_init__(self) -> None:
        self.file = self.workspace.queue_db
        self.sides = [Path(f"{self.file}{side}") for side in SIDES]
        self.aside = self.workspace.root / "moved"

    @property
    def kinds(self) -> dict[str, Callable[[], None]]:
        return {
            "renamed over": self.rename_over,
            "removed and copied": self.remove_and_copy,
            "checkout": self.check_out,
            "merge": self.merge,
            "checkout that removes": self.check_out_away,
            "written over": self.write_over,
            "copy brought back": self.bring_back,
            "removed": self.remove,
            "moved and brought back": self.move_and_bring_back,
            "log removed": self.remove_log,
        }

    def git(self, *words: str) -> None:
        os.execvp("git", ["git", "-C", str(self.workspace.root), "-c", "gc.auto=0", *words])

    def rename_over(self) -> None:
        draft = self.workspace.root / "draft.db"
        shutil.copyfile(self.chance.choice(self.foreign), draft)
        draft.replace(self.file)

    def remove_and_copy(self) -> None:
        self.file.unlink(missing_ok=True)
        shutil.copyfile(self.chance.choice(self.foreign), self.file)

    def check_out(self) -> None:
        self.git("checkout", "-q", "-f", "trap")

    def merge(self) -> None:
        self.git("merge", "-q", "--ff-only", "trap")

    def check_out_away(self) -> None:
        subprocess.run(["git", "-C", str(self.workspace.root), "read-tree", "trap"], check=False)
        self.git("reset", "-q", "--hard", "main")

    def write_over(self) -> None:
        shutil.copyfile(self.chance.choice(self.foreign), self.file)

    def bring_back(self) -> None:
        names = [path.name for path in self.backup.iterdir()]
        if self.chance.random() < 0.5:
            for path in (self.file, *self.sides):
                path.unlink(missing_ok=True)
        for name in names:
            os.spawnvp(
                os.P_WAIT, "cp", ["cp", "-a", str(self.backup / name), str(self.file.parent)]
            )

    def remove(self) -> None:
        files = [self.file, *self.sides][: self.chance.choice((1, 3))]
        for path in files:
            path.unlink(missing_ok=True)

    def move_and_bring_back(self) -> None:
        files = [self.file, *self.sides][: self.chance.choice((1, 3))]
        self.aside.mkdir(exist_ok=True)
        moved = []
        for path in files:
            with suppress(FileNotFoundError):
                moved.append((path.rename(self.aside / path.name), path))
        for _ in range(self.chance.randrange(3)):
            subprocess.run(["git", "--version"], check=False, capture_output=True)
        for there, path in moved:
            there.rename(path)

    def remove_log(self) -> None:
        for path in self.chance.choice((self.sides, self.sides[:1], self.sides[1:])):
            path.unlink(missing_ok=True)


@dataclass
class QueueStorm:
    """Rounds of users and swaps over one queue; `wrongs` is what must not have been."""

    seed: int
    folder: Path
    workspace: Workspace
    foreign: list[Path]
    chance: random.Random = field(init=False)
    wrongs: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    swaps: Counter[str] = field(default_factory=Counter)
    notice_counts: Counter[str] = field(default_factory=Counter)
    committed: int = 0
    may_be_damaged: bool = False
    mixed: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    users: dict[int, str] = field(default_factory=dict)
    started: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.backup = self.folder / "backup"

    def passed(self, rounds: int) -> Self:
        """Let so many rounds pass; return it."""
        with mmap.mmap(-1, 1) as flag:
            for number in range(rounds):
                self.pass_round(Journal(self.folder / f"round-{number}"), flag)
        return self

    def pass_round(self, journal: Journal, flag: mmap.mmap) -> None:
        self.copy_files()
        flag[0] = 0
        for _ in range(PROCESSES):
            self.start_user(journal, flag)
        swaps = [self.swap(journal, flag) for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]
        self.pass_time(journal, flag)
        flag[0] = 1
        wait_until(self.is_calm, "the processes of a round end", SECONDS)
        self.settle_git()
        self.may_be_damaged |= self.may_be_damaged_now(swaps)
        left, words = self.open_again(journal)
        events = journal.read()
        self.judge(events, swaps, left, words)
        self.known = left
        mixed = set(mixed_up(self.workspace.run / "aside"))
        if mixed - self.mixed and not any(each.kind == "written over" for each in swaps):
            self.wrongs.append(f"records of ours are in foreign files: {mixed - self.mixed}")
        self.mixed |= mixed

    def copy_files(self) -> None:
        """Take the copy that may be brought back later, as a backup would."""
        shutil.rmtree(self.backup, ignore_errors=True)
        self.backup.mkdir()
        if self.workspace.queue_db.exists():
            shutil.copy2(self.workspace.queue_db, self.backup)

    def start_user(self, journal: Journal, flag: mmap.mmap) -> None:
        self.started += 1
        user = User(
            self.workspace,
            journal,
            f"p{self.started}",
            random.Random(f"{self.seed} {self.started}"),
            lambda: flag[0] == 1,
        )
        pid = self.forked(user.live, journal, user.name)
        self.users[pid] = user.name

    def forked(self, work: Callable[[], None], journal: Journal, name: str) -> int:
        """Run something in a process of its own: a fork starts at once."""
        pid = os.fork()
        if pid:
            return pid
        try:
            work()
            os._exit(0)
        except BaseException:
            journal.write(name, "bug", traceback.format_exc()[-590:])
        finally:
            os._exit(70)

    def pass_time(self, journal: Journal, flag: mmap.mmap) -> None:
        """Let the processes do some more, and kill one of them now and then."""
        goal = journal.size() + self.chance.randrange(3000)
        wait_until(lambda: journal.size() >= goal or self.is_calm(), "the queue is used", SECONDS)
        if self.chance.random() < 0.5 and self.users:
            pid = self.chance.choice(list(self.users))
            os.kill(pid, signal.SIGKILL)
            self.collect(pid, 0)
            self.kills["of a user"] += 1
            self.start_user(journal, flag)

    def swap(self, journal: Journal, flag: mmap.mmap) -> Swap:
        """Swap the files at a random moment; one in four is killed in the middle of it."""
        self.pass_time(journal, flag)
        chance = random.Random(self.chance.random())
        swapper = Swapper(self.workspace, self.foreign, self.backup, chance)
        kind = self.chance.choice(list(swapper.kinds))
        began = time.monotonic_ns()
        pid = self.forked(swapper.kinds[kind], journal, kind)
        dies = self.chance.random() < 0.25
        if dies:
            rest = time.monotonic() + self.chance.uniform(0, 0.004)
            while time.monotonic() < rest:
                pass
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        was_killed = os.WIFSIGNALED(status)
        self.kills["of a swap"] += was_killed
        self.swaps[kind] += 1
        return Swap(kind, began, time.monotonic_ns(), was_killed)

    def collect(self, which: int, options: int) -> None:
        pid, _ = os.waitpid(which, options)
        self.users.pop(pid, None)

    def is_calm(self) -> bool:
        for pid in list(self.users):
            self.collect(pid, os.WNOHANG)
        return not self.users

    def settle_git(self) -> None:
        """Have git forget what was checked out; it touches no file of the queue."""
        top = self.workspace.root
        (top / ".git/index.lock").unlink(missing_ok=True)
        for lock in (top / ".git").rglob("*.lock"):
            lock.unlink()
        for words in (("symbolic-ref", "HEAD", "refs/heads/main"), ("read-tree", "base")):
            subprocess.run(["git", "-C", str(top), *words], check=True)
        subprocess.run(["git", "-C", str(top), "update-ref", "refs/heads/main", "base"], check=True)

    def open_again(self, journal: Journal) -> tuple[set[str], list[str]]:
        """Open the queue as the next call does; follow the remedies that it prints."""
        words: list[str] = []
        keeper_hooks.OURS.tell = words.append
        for _ in range(MOST_REMEDIES):
            try:
                with closing(open_queue(self.workspace)) as database:
                    records = records_of(database)
                    check = [row[0] for row in database.rows("pragma integrity_check")]
            except QueueError as error:
                words.append(f"{type(error).__name__}: {error}")
                self.follow(error)
                continue
            if check != ["ok"] and self.may_be_damaged:  # as `sow doctor` finds it
                self.follow(QueueDamaged(self.workspace.queue_db, f"is damaged: {check[0]}"))
                words.append("damaged")
                continue
            self.may_be_damaged = False
            if check != ["ok"]:
                self.wrongs.append(f"damaged: {check[:3]}")
            for event in words:
                journal.write("final", "told", event)
            foreign = [record for record in records if not record.startswith(OWN)]
            if foreign:
                self.wrongs.append(f"foreign rows are there: {foreign}")
            if len(set(records)) != len(records):
                self.wrongs.append("a record is there twice")
            return {record.removeprefix(OWN) for record in records}, words
        self.wrongs.append(f"the remedies do not help: {words}")
        return set(), words

    def follow(self, error: QueueError) -> None:
        """Run the first command that an error names."""
        commands = [line.strip() for line in error.hint.splitlines() if line.startswith("    ")]
        if commands:
            subprocess.run(["sh", "-c", commands[0]], check=True)

    def judge(
        self, events: list[Event], swaps: list[Swap], left: set[str], words: list[str]
    ) -> None:
        """Compare what was reported with what is there."""
        about = f"seed {self.seed}, {[(each.kind, each.was_killed) for each in swaps]}"
        for event in events:
            if event.kind in ("foreign", "bug"):
                self.wrongs.append(f"{about}: {event}")
        notices = [event for event in events if event.kind == "refused" or tells_of_loss(event)]
        self.notice_counts.update(
            event.text.split(":")[0][:40] for event in notices if event.kind == "refused"
        )
        self.notice_counts.update("told" for event in notices if event.kind == "told")
        # After the others a file of ours is aside, and a message names the folder.
        is_plain = not self.may_be_damaged_now(swaps)
        is_told = any(map(tells_of_loss, events)) if is_plain else bool(notices)
        begun = {event.text: event.at for event in events if event.kind == "begun"}
        reported = [event for event in events if event.kind == "committed"]
        self.committed += len(reported)
        if self.may_be_damaged_now(swaps) and any("damaged" in each for each in words):
            return  # all of it was put aside
        last = max(each.ended_at for each in swaps)
        is_untellable = any(each.kind in UNTELLABLE for each in swaps) or (
            # It may have taken the log along, and by the next swap the file alone comes back.
            len(swaps) > 1 and any(each.kind == "removed" for each in swaps)
        )
        for event in reported:
            if event.text in left:
                continue
            if begun[event.text] > last:
                self.wrongs.append(f"{about}: {event.text} was committed after all and is lost")
            handle_was_told = any(
                other.handle == event.handle and other.at >= event.at for other in notices
            )
            if not (handle_was_told or is_told or is_untellable):
                self.wrongs.append(f"{about}: {event.text} is lost, and nobody was told")
            elif not handle_was_told and self.was_used_later(event, events, last):
                self.wrongs.append(f"{about}: who had committed {event.text} was not told")
        if self.known - left and not (is_told or is_untellable):
            self.wrongs.append(f"{about}: {len(self.known - left)} earlier ones lost untold")

    def may_be_damaged_now(self, swaps: list[Swap]) -> bool:
        return any(each.kind in LOG_LOST for each in swaps)

    def was_used_later(self, record: Event, events: list[Event], since: int) -> bool:
        """Whether a handle did something after the swaps that looks at the file."""
        return any(
            event.handle == record.handle
            and event.kind == "committed"
            and event.at > since
            and any(
                other.handle == record.handle
                and other.kind == "begun"
                and other.text == event.text
                and other.at > since
                for other in events
            )
            for event in events
        )

    def names_left(self) -> set[str]:
        return {path.name for path in self.workspace.run.iterdir()}


def tells_of_loss(event: Event) -> bool:
    """Whether a user is told that records may be gone: not where all of them are back."""
    return event.kind == "told" and (BACK not in event.text or MISSING in event.text)


def mixed_up(aside: Path) -> Iterator[str]:
    """Name the files that were put aside and hold records of both kinds."""
    for path in aside.rglob("queue.db"):
        with suppress(sqlite3.Error):
            uri = f"{path.as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                rows = [row[0] for row in connection.execute("select prompt from job")]
            if 0 < sum(row.startswith(OWN) for row in rows) < len(rows):
                yield str(path)
