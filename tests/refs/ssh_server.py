"""Git over ssh on loopback: Debian's `sshd` on a port of its own, with throw-away keys.

Owns the server's settings and keys, and the settings of a client that knows it. As root the
server runs where `/run` is empty: it wants a folder there that only its own package makes.
"""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from journeys.site import wait_until

HOST = "127.0.0.1"
SERVER = """\
ListenAddress {host}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
"""
CLIENT = """\
Host *
    IdentityFile {folder}/{key}
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/{known}
    GlobalKnownHostsFile /dev/null
Host shortly
    HostName {host}
    Port {port}
    User {user}
"""
IN_AN_EMPTY_RUN = ("unshare", "--mount", "sh", "-c")
MAKE_RUN = 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"'


@dataclass(frozen=True)
class SshServer:
    """A server that runs."""

    port: int
    folder: Path

    def url(self, path: Path) -> str:
        """Return the whole address of a repository."""
        return f"ssh://{getpass.getuser()}@{HOST}:{self.port}{path}"

    def client(self, *, key: str = "user_key", known: str = "known_hosts") -> str:
        """Return the command of a client with such a key and such a file of known servers."""
        file = self.folder / f"client-{key}-{known}"
        words = {"folder": self.folder, "key": key, "known": known}
        who = {"host": HOST, "port": self.port, "user": getpass.getuser()}
        file.write_text(CLIENT.format(**words, **who))
        return f"ssh -F {file}"


@contextmanager
def serving(folder: Path, sshd: str) -> Iterator[SshServer]:
    """Serve the repositories of this machine to whoever has the key in `folder`."""
    folder.mkdir(mode=0o700)
    make_keys(folder)
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    known = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[{HOST}]:{port} {known}")
    settings = folder / "sshd_config"
    settings.write_text(SERVER.format(host=HOST, port=port, folder=folder))
    argv = (sshd, "-D", "-e", "-f", str(settings))
    if os.geteuid() == 0:
        argv = (*IN_AN_EMPTY_RUN, MAKE_RUN, "sh", *argv)
    with (folder / "log").open("w") as log, subprocess.Popen(argv, stderr=log, cwd="/") as server:
        try:
            wait_until(lambda: server.poll() is not None or listens(port), "the server")
            assert server.poll() is None, (folder / "log").read_text()
            yield SshServer(port, folder)
        finally:
            server.terminate()


def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


def make_keys(folder: Path) -> None:
    """Make the server's key, the user's, and one that only a passphrase opens."""
    for name, passphrase in (("host_key", ""), ("user_key", ""), ("closed_key", "hunter2")):
        words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", folder / name)
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    keys = ((folder / f"{name}.pub").read_text() for name in ("user_key", "closed_key"))
    (folder / "authorized_keys").write_text("".join(keys))


def program() -> str | None:
    """Return where the server's program lies; it is not on an ordinary user's PATH."""
    return shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
