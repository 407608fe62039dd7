"""The frame of a program that makes a place ready and then becomes an agent's CLI there.

Owns what such a program leaves where it cannot: `result.json`, in the words of
what failed, with the cause. A fault that passes (a lock, a full disk) is told from
one that stays, so that the attempt is made again. The CLI is not started then. Owns also the run of
the repository's command line that makes a clone ready for work (`clones.setup`); that its text was
accepted is the caller's to ask.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from sow import env_vars
from sow.config.clones import CloneSettings, setup_commands
from sow.config.units import write_duration
from sow.environment import caller_environment
from sow.errors import SowError
from sow.jobs.leases import Fenced
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from worker.kinds.check.program import last_lines
from worker.steps.command_line import Runner
from worker.steps.line_sandbox import Visible, fence_of_line
from worker.steps.result_file import failure_result, leave_result
from worker.supervisor.keyrings import close_keyrings, is_fence

RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and an agent's CLI must not."""
OF_AGENT_ALONE = (env_vars.REPORT_SOCKET, env_vars.DOOR)


def become(argv: tuple[str, ...], paths: AttemptPaths, make_ready: Callable[[], Path]) -> int:
    """Become `argv` in the folder that `make_ready` returns; return 1 where that cannot be.

    Where the agent reports is its own affair: this program has the queue. So is its door: no
    command line of the repository inherits it.
    """
    kept = {name: os.environ.pop(name) for name in OF_AGENT_ALONE if name in os.environ}
    pass_door_on(kept, is_passed_on=False)
    try:
        os.chdir(make_ready())
    except Fenced:
        print("Another worker has ended this attempt in the meantime.", file=sys.stderr)
        return 1
    except (SowError, OSError, MemoryError) as error:
        _leave(result_of(error), paths)
        return 1
    pass_door_on(kept, is_passed_on=True)
    _become(argv, kept)
    return 0


def pass_door_on(environ: Mapping[str, str], *, is_passed_on: bool) -> None:
    """Have what is started inherit the agent's door, if there is one, or not."""
    if env_vars.DOOR in environ:
        os.set_inheritable(int(environ[env_vars.DOOR]), is_passed_on)


def _leave(result: StepResult, paths: AttemptPaths) -> None:
    """Leave why the CLI is not started; where the disk is full, on standard error alone."""
    print(result.reason, file=sys.stderr)
    with suppress(SowError, OSError, MemoryError):
        leave_result(result, paths)


def _become(argv: tuple[str, ...], more: Mapping[str, str]) -> None:
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    environ = {**caller_environment(os.environ), **more}
    environ.pop(env_vars.CALLER_PYTHONPATH, None)
    if is_fence(argv[0]):
        close_keyrings()
    os.execve(argv[0], argv, environ)


def result_of(error: SowError | OSError | MemoryError) -> StepResult:
    """Return what an error has come to."""
    return failure_result(error, passing=Cause.SETUP_PREVENTED, lasting=Cause.SETUP_FAILED)


def set_up(
    settings: CloneSettings, paths: AttemptPaths, root: Path, packages: str | None, visible: Visible
) -> None:
    """Run `clones.setup` in the clone whose workspace's root is `root`. Raises SowError.

    `visible` says what it sees in its sandbox, if it has one.

    It is the repository's, which agents may edit: to `sow` it has no rights, and it gets none of
    the agent's secrets, for its log is not blanked.
    """
    line = settings.setup or ""
    seconds = settings.setup_timeout_seconds
    agent = os.environ.get(env_vars.AGENT, "")
    os.environ[env_vars.AGENT] = env_vars.STEP_ROLE
    names = os.environ.get(env_vars.SECRETS, "").split(",")
    secrets = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.chdir(root)
    runner = Runner(str(paths.folder), packages)
    try:
        (command,) = setup_commands(settings)
        fence = fence_of_line(command, visible, paths, paths.setup_log)
        ended = runner.run(line, paths.setup_log, seconds=seconds, fence=fence)
    finally:
        runner.close()
        os.environ[env_vars.AGENT] = agent
        os.environ.update(secrets)
    if ended.code != 0:
        how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
        if ended.timed_out:
            how = f"it took longer than {write_duration(seconds)} (clones.setup_timeout)"
        words = "\n".join(f"  {text}" for text in last_lines(paths.setup_log))
        raise SowError(
            f"clones.setup failed ({line}): {how}\n{words}".rstrip(),
            hint=f"Its whole output is in {paths.setup_log}.",
        )
