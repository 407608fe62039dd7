"""One user for all homes of a test run, and a queue's file made that user's own."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sow.jobs.queue_files import connect, count_commit
from sow.jobs.queue_owner import all_names, give_names, is_signed, sign_content
from sow.paths import Workspace

SECRET = os.urandom(32)


def give_secret(home: Path) -> Path:
    """Make a home one of the user of this run, whose queues the tests themselves open as well."""
    return put_secret(home / ".local/state")


def put_secret(state: Path) -> Path:
    """Put the user's secret into a folder for state; return the file."""
    path = state / "sow/queue.key"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def outdate(file: Path, *homes: Path) -> None:
    """Have the secrets of these homes, and of the test's own, be newer than a file."""
    for home in (*homes, Path(os.environ["HOME"])):
        secret = give_secret(home)
        while secret.stat().st_mtime_ns <= file.stat().st_ctime_ns:
            secret.write_bytes(SECRET)


def make_own(workspace: Workspace) -> None:
    """Have sow take the file that lies there for one that it has made there itself."""
    for name in all_names(workspace.run):
        name.unlink()
    sign(workspace.queue_db)
    give_names(workspace.queue_db, workspace)


def sign(file: Path, run: Path | None = None) -> None:
    """Have what is in a file be this user's, as far as it is a queue; one that is stays untouched.

    `run`: the folder that it is to lie in, if it does not lie there. Without its log: what looks at
    one of the user's own leaves that where it is.
    """
    with suppress(sqlite3.Error):
        with closing(connect(file, seconds=0, immutable=True)) as connection:
            if is_signed(connection, run or file.parent):
                return
        with closing(connect(file, seconds=0)) as connection:
            connection.execute("begin immediate")
            sign_content(connection, run or file.parent)
            count_commit(connection)
            connection.execute("commit")
