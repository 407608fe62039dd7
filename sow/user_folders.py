"""Where a user's own files lie: `sow` in the base folders for configuration, state and cache.

Owns that platformdirs decides, and that the usual answer needs no import of it: its form for
Unix brings `tempfile`, `shutil` and the compressors along (4.14, 6 ms of a command).
"""

import os
import sys
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path

from sow import env_vars

NAME = "sow"


class BaseFolder(Enum):
    """A base folder of the XDG specification: its variable, its place below home, its attribute."""

    CONFIG = ("XDG_CONFIG_HOME", ".config", "user_config_dir")
    STATE = ("XDG_STATE_HOME", ".local/state", "user_state_dir")
    CACHE = ("XDG_CACHE_HOME", ".cache", "user_cache_dir")


def user_folder(base: BaseFolder) -> str:
    """Return sow's folder in a base folder. Nothing promises that it is there.

    Linux and macOS: `$XDG_CONFIG_HOME/sow`, else `~/.config/sow`, and likewise. Windows:
    `%APPDATA%/sow` for the configuration, `%LOCALAPPDATA%/sow` for the others.
    """
    variable, _, attribute = base.value
    if sys.platform == "win32":
        from platformdirs.windows import Windows  # each platform needs its own only

        folders = Windows(NAME, appauthor=False, roaming=base is BaseFolder.CONFIG)
        return str(getattr(folders, attribute))
    # In a session with a home of its own, whose CLI finds it by that very variable.
    users = os.environ.get(f"{env_vars.USERS_PREFIX}{variable}", os.environ.get(variable, ""))
    return _unix_folder(base, users, os.environ.get("HOME"))


@cache
def _unix_folder(base: BaseFolder, chosen: str, named_home: str | None) -> str:
    """Return a folder by its variable and HOME: it is asked for often, and each look costs."""
    _, below_home, attribute = base.value
    if chosen.startswith("/"):
        return f"{chosen}/{NAME}"
    home = os.path.expanduser("~")  # noqa: PTH111 - no exception without a home
    if not chosen and home.startswith("/") and named_home != "":
        return f"{home}/{below_home}/{NAME}"
    from platformdirs.unix import Unix  # who has no home, or names a folder in no usual way

    return str(getattr(Unix(NAME), attribute))


def home_in(environ: Mapping[str, str]) -> Path:
    """Return a user's home: `HOME`, else what the system has on record for this user.

    A service and a container start programs without `HOME`; agents' CLIs ask the system then.
    """
    if named := environ.get("HOME"):
        return Path(named)
    import pwd  # hardly anybody has no HOME

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")
