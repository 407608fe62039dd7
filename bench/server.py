"""Debian's PostgreSQL in a temporary folder, on loopback alone; it ends with its use."""

import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
READY_SECONDS = 60.0


@contextmanager
def running_server() -> Iterator[str]:
    """Run a server that keeps what it commits; yield the address of its superuser, `owner`."""
    import psycopg

    with tempfile.TemporaryDirectory(prefix="sow-pg-", dir="/tmp") as made:
        folder, port, as_user = Path(made), _free_port(), _other_user()
        if as_user:
            os.chown(folder, as_user["user"], as_user["group"])
        initdb = [FOLDERS[0] / "initdb", "-D", folder / "data", "-U", "owner", "-A", "trust"]
        initdb += ["-E", "UTF8", "--locale=C"]
        subprocess.run(initdb, check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_user)
        settings = (f"port={port}", f"unix_socket_directories={folder}", "max_connections=200")
        argv = [FOLDERS[0] / "postgres", "-D", folder / "data"]
        argv += [word for setting in settings for word in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log, **as_user)
        url = f"postgresql://owner@127.0.0.1:{port}/postgres"
        try:
            deadline = time.monotonic() + READY_SECONDS
            while True:
                with suppress(psycopg.OperationalError):
                    psycopg.connect(url).close()
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((folder / "log").read_text())
                time.sleep(0.05)
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(READY_SECONDS)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _other_user() -> dict[str, Any]:
    """Return as whom it runs: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
