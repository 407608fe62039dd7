"""The repository's command line that makes a clone ready for work, run to its end.

Owns that its failure is told in its own words. That its text was accepted is the
caller's to ask.
"""

import os
from pathlib import Path

from sow import env_vars
from sow.config.clones import CloneSettings
from sow.config.units import write_duration
from sow.errors import SowError
from sow.paths import AttemptPaths
from worker.kinds.check.program import last_lines
from worker.steps.command_line import Runner


def set_up(settings: CloneSettings, paths: AttemptPaths, root: Path, packages: str | None) -> None:
    """Run `clones.setup` in the clone whose workspace's root is `root`. Raises SowError.

    It is the repository's, which agents may edit: to `sow` it has no rights.
    """
    line = settings.setup or ""
    seconds = settings.setup_timeout_seconds
    agent = os.environ.get(env_vars.AGENT, "")
    os.environ[env_vars.AGENT] = env_vars.STEP_ROLE
    os.chdir(root)
    runner = Runner(str(paths.folder), packages)
    try:
        ended = runner.run(line, paths.setup_log, seconds=seconds)
    finally:
        runner.close()
        os.environ[env_vars.AGENT] = agent
    if ended.code != 0:
        how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
        if ended.timed_out:
            how = f"it took longer than {write_duration(seconds)} (clones.setup_timeout)"
        words = "\n".join(f"  {text}" for text in last_lines(paths.setup_log))
        raise SowError(
            f"clones.setup failed ({line}): {how}\n{words}".rstrip(),
            hint=f"All that it printed is in {paths.setup_log}.",
        )
