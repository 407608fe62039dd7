"""The environments of the processes that sow starts.

Owns five rules: our own processes never see the caller's PYTHONPATH, agents
get it back, an agent never learns that its parent was an agent too, nobody
sees what a program around the caller (git, make, npm) has set for its own child
(`surrounding_programs`), and of a list of names the basis always passes. Knows nothing of
configuration, queue or state.
"""

import sys
from collections.abc import Collection, Mapping

from sow import env_vars
from sow.surrounding_programs import users_environment

BASIS = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM"})
"""What every program needs: an agent gets it whatever its executor's `env_inherit` lists."""
GIT_COUNT = "GIT_CONFIG_COUNT"
"""Says how many of git's settings stand in the variables `GIT_CONFIG_KEY_0` and so on."""
OF_BASIS = "LC_"
"""How the names of the others begin."""


def own_process(module: str, *arguments: str) -> list[str]:
    """Return the argv that runs a module of ours with this interpreter.

    `-P` keeps the working folder and the script's folder off the import path.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` for a process of ours: PYTHONPATH put aside."""
    result = dict(environ)
    if "PYTHONPATH" in result:
        result[env_vars.CALLER_PYTHONPATH] = result.pop("PYTHONPATH")
    return result


def caller_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` as the caller had it: its own PYTHONPATH again."""
    result = dict(environ)
    if env_vars.CALLER_PYTHONPATH in result:
        result["PYTHONPATH"] = result.pop(env_vars.CALLER_PYTHONPATH)
    return result


def worker_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` for a worker started in the background.

    It outlives its caller, so nothing that describes the caller goes along:
    no `SOW_*` (save the PYTHONPATH put aside), no nesting marker, and nothing that a
    program around the caller has set for its own child.
    """
    ours = own_environment(environ)
    result = _users_own(ours)
    if env_vars.CALLER_PYTHONPATH in ours:
        result[env_vars.CALLER_PYTHONPATH] = ours[env_vars.CALLER_PYTHONPATH]
    return result


def agent_environment(
    environ: Mapping[str, str], only: Collection[str] | None = None
) -> dict[str, str]:
    """Return `environ` as an agent, a check or a user's command should see it: the user's own.

    `environ` is the worker's, or that of a command which runs an agent at the terminal. `only`
    names what passes besides the basis; None: all.
    """
    result = _users_own(environ)
    if env_vars.CALLER_PYTHONPATH in environ:
        result["PYTHONPATH"] = environ[env_vars.CALLER_PYTHONPATH]
    if only is None:
        return result
    return {name: value for name, value in result.items() if name in only or is_of_basis(name)}


def is_of_basis(name: str) -> bool:
    """Whether an agent gets a variable of that name whatever is listed."""
    return name in BASIS or name.startswith(OF_BASIS)


def _users_own(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` less what is sow's, a program's around us, or an agent's CLI's.

    What a session had in the place of the user's configuration folder is the user's again. The
    secrets that an agent was given are its own: no worker, and no agent that it starts, gets them.
    A variable without a name goes too: the system may hand one over, but refuses to set or to
    remove it (setenv(3)), and a supervisor does both.
    """
    # The descriptions are heavy, and short commands need the rest of this module only.
    from sow.agent_clis.known import nesting_markers

    markers = nesting_markers() | {*environ.get(env_vars.SECRETS, "").split(",")}

    own = {
        name: value
        for name, value in users_environment(environ).items()
        if name and name not in markers and not name.startswith(env_vars.PREFIX)
    }
    for name, value in environ.items():
        if name.startswith(env_vars.USERS_PREFIX):  # the call comes from a session with its own
            variable = name.removeprefix(env_vars.USERS_PREFIX)
            own.pop(variable, None)
            own |= {variable: value} if value else {}
    if f"{env_vars.USERS_PREFIX}{GIT_COUNT}" in environ:
        _drop_uncounted(own)
    return own


def _drop_uncounted(own: dict[str, str]) -> None:
    """Drop git's settings beyond those that are the user's: a session's CLI has added them."""
    count = own.get(GIT_COUNT, "")
    most = int(count) if count.isdecimal() else 0
    for name in [*own]:
        _, is_setting, number = name.partition("GIT_CONFIG_KEY_")
        if not is_setting:
            _, is_setting, number = name.partition("GIT_CONFIG_VALUE_")
        if is_setting and number.isdecimal() and int(number) >= most:
            del own[name]
