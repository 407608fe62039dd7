"""What of this machine no sandbox shows: homes, sockets of the session, temporary folders, keys.

Owns which folders these are, and which variables of the environment lead to them. Reads only.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

import sow
from sow.sandbox.paths_seen import installation_of, way_to
from sow.sandbox.view import View, covers
from sow.user_folders import BaseFolder, home_in, user_folder

HOMES = ("/home", "/root")
SOCKETS = ("/run",)
"""Of the user's session (`/run/user`), of docker and of the system."""
SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - a sandbox has its own
OF_ROOT = ("/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d", "/var/lib/docker", "/var/spool/cron")
KEYS_OF_ROOT = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-")
"""What only root can read, and an agent that runs as root would."""
ALSO_READ = ("/etc/resolv.conf",)
"""Links into hidden folders without which the network does not work."""
GIT_FILES = ("git/config", "git/ignore", "git/attributes")
"""In the folder of settings, besides `~/.gitconfig`: who commits."""
SESSION_VARIABLES = (
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL"),
    *("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *("DOCKER_HOST", "CONTAINER_HOST", "TMUX", "TMUX_TMPDIR", "STY"),
)
"""Variables that lead to the user's session; what they name is hidden."""
TEMPORARY = {"TMPDIR": "/tmp"}  # noqa: S108 - its own


def inside_words(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words by which bubblewrap changes an environment: none leads to what is hidden."""
    away = [word for name in SESSION_VARIABLES if name in environ for word in ("--unsetenv", name)]
    new = [word for name, value in TEMPORARY.items() for word in ("--setenv", name, value)]
    return (*away, *new)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to see and to write of what is hidden. Paths may lead over links."""

    folder: str
    """What it works in, and writes."""
    cwd: str
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Further folders that it is not to see."""
    optional: tuple[str, ...] = ()
    """Files that it may write, if they are there: its CLI's login."""
    programs: tuple[str, ...] = ()
    """The programs that it runs, by their paths."""
    has_network: bool = True
    hosts: tuple[str, ...] = ()
    """What it may ask by a proxy, where it has no network; empty: nobody."""


def view_of_machine(wanted: Wanted, environ: Mapping[str, str], *, as_root: bool) -> View:
    """Return what a process is to see. `environ` has its HOME and PATH."""
    home = str(home_in(environ))
    path = environ.get("PATH", "")
    installed = [installation_of(each, path) for each in (*wanted.programs, *own_programs())]
    plain = (home, wanted.folder, wanted.cwd, *wanted.writable, *wanted.readable, *wanted.optional)
    settings = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    git_files = [f"{home}/.gitconfig", *(f"{settings}/{name}" for name in GIT_FILES)]
    readable = [*wanted.readable, *git_files, *ALSO_READ, *packages_folders()]
    readable += [part for parts, _ in installed for part in parts]
    links = [
        *(link for each in (*plain, *git_files, *ALSO_READ) for link in way_to(each).links),
        *(link for _, each in installed for link in each),
    ]
    hidden = (home, *HOMES, *SOCKETS, *own_folders(), *wanted.hidden)
    return View(
        hidden=_folders((*hidden, *OF_ROOT) if as_root else hidden),
        scratch=_folders(SCRATCH),
        unreadable=_existing(KEYS_OF_ROOT) if as_root else (),
        readable=_existing(readable),
        writable=tuple(
            dict.fromkeys(map(_real, (wanted.folder, *wanted.writable, *wanted.optional)))
        ),
        optional=tuple(map(_real, wanted.optional)),
        links=tuple(links),
        home=_real(home),
        cwd=_real(wanted.cwd),
        has_network=wanted.has_network,
    )


def own_programs() -> tuple[str, ...]:
    """Return the programs by which `sow` runs."""
    return (sys.executable, str(Path(sys.executable).with_name("sow")))


def own_folders() -> tuple[str, ...]:
    """Return the user's folders that may lie outside of the home, sow's own among them.

    Those of this process: an agent's variables may name the home of its session.
    """
    named = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME")
    users = (os.environ.get(name, "") for name in named)
    return (*(each for each in users if each.startswith("/")), *map(user_folder, BaseFolder))


def too_wide(folder: str, environ: Mapping[str, str]) -> str:
    """Return why nobody may write a whole folder; empty where an agent may have it."""
    real = _real(folder)
    for kept in (_real(str(home_in(environ))), *own_folders(), *HOMES, "/etc", "/usr"):
        if covers(real, _real(kept)):
            return f"it is or contains {kept}"
    return ""


def packages_folders() -> tuple[str, ...]:
    """Return where the code of sow lies: with an editable installation, no part of the prefix."""
    around = Path(sow.__file__).parents[1]
    return (str(around / "sow"), str(around / "worker"), sys.prefix, sys.base_prefix)


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    real = dict.fromkeys(_real(path) for path in paths)
    return tuple(path for path in real if path != "/" and os.path.isdir(path))  # noqa: PTH112


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    real = dict.fromkeys(_real(path) for path in paths)
    return tuple(path for path in real if os.path.exists(path))  # noqa: PTH110


def _real(path: str) -> str:
    return os.path.realpath(path)
