"""A PostgreSQL server for a run of tests: Debian's program, in a folder of its own, over a socket.

It is started when the first test asks for it and ends with the run. The program refuses to run as
root: then it runs as another user. Its folder lies outside of the run's own, which may be closed to
that user, and whose path may be too long for a socket.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

FOLDERS = (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/bin"))
OTHER_USERS = ("postgres", "nobody")
MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 1 << 30
READY_SECONDS = 60.0
UNSAFE = ("fsync=off", "full_page_writes=off", "autovacuum=off")
"""What makes a server quick whose data nobody wants back, and has it do nothing by itself."""


class Server:
    """A server. `url` is that of its one database, as its superuser."""

    def __init__(
        self,
        folder: Path,
        settings: Sequence[str],
        as_user: Mapping[str, Any],
        enter: Sequence[str] = (),
    ) -> None:
        """`enter` goes before its command, if it is to run in another network."""
        self.folder = folder
        self.url = f"postgresql://sow@/postgres?host={folder}"
        self._settings = ("listen_addresses=", f"unix_socket_directories={folder}", *settings)
        self._as_user = as_user
        self._enter = enter
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        argv = [str(program("postgres")), "-D", str(self.folder / "data")]
        argv += [word for setting in self._settings for word in ("-c", setting)]
        as_user = self._as_user
        if self._enter:  # only root enters: who runs it is changed there
            names = {"user": "--reuid", "group": "--regid"}
            change = [f"{option}={as_user[name]}" for name, option in names.items()]
            ends_with_us = ("--pdeathsig", "INT")
            argv = [*self._enter, "setpriv", *change, "--clear-groups", *ends_with_us, "--", *argv]
            as_user = {}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **as_user,
            )
        wait_until_ready(self.url, self._process, self.folder / "log")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: its clients are sent away, and what was committed stays. Two may do so."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(60)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all of its processes: no connection breaks, and nobody gets an answer."""
        assert self._process is not None
        its = psutil.Process(self._process.pid)
        all_of_it = [its, *its.children(recursive=True)]
        for process in all_of_it:
            with suppress(psutil.NoSuchProcess):  # a client has just left
                process.suspend()
        try:
            yield
        finally:
            for process in all_of_it:
                with suppress(psutil.NoSuchProcess):
                    process.resume()


def program(name: str) -> Path | None:
    """Return where a program of PostgreSQL lies, of the newest version that is there."""
    there = [folder / name for folder in FOLDERS if (folder / name).exists()]
    return there[0] if there else None


def require() -> None:
    """Skip a test where there is no PostgreSQL; CI has it."""
    if program("initdb") is None:
        assert not os.environ.get("CI"), "CI has no PostgreSQL"
        pytest.skip("PostgreSQL is not installed")


@contextmanager
def running(*settings: str, enter: Sequence[str] = ()) -> Iterator[Server]:
    """Start a server; end it, and remove its folder. `enter`: what leads to its network."""
    require()
    is_roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=MEMORY if is_roomy else "/tmp"))
    user = _other_user() if os.geteuid() == 0 else None
    as_user: dict[str, Any] = {}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    try:
        made = ["-D", folder / "data", "-U", "sow", "-A", "trust", "-E", "UTF8", "--locale=C"]
        _run("initdb", *made, "--no-sync", "--no-instructions", cwd=folder, **as_user)
        server = Server(folder, settings, as_user, enter)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # at once: nothing of it is kept
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers."""
    import psycopg

    deadline = time.monotonic() + READY_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        with suppress(psycopg.OperationalError):
            psycopg.connect(url).close()
            return
        time.sleep(0.02)


def _other_user() -> pwd.struct_passwd:
    known = {user.pw_name: user for user in pwd.getpwall()}
    return next(known[name] for name in OTHER_USERS if name in known)


def _run(name: str, *arguments: object, **more: Any) -> None:
    argv = [str(program(name)), *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stderr
