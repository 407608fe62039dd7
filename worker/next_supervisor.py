"""The next supervisor, started ahead: it waits for its orders while the worker waits for a job.

Owns the start of supervisors. One that waits costs no time, and an agent begins
some 30 ms earlier. It knows nothing of the attempt that it will run, and leaves
by itself when its worker is gone.
"""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sow import env_vars
from sow.environment import agent_environment
from sow.errors import SowError
from sow.processes import process_facts
from sow.schema.job import ProcessIdentity
from worker.supervisor.foreign_processes import NO_ATTEMPT
from worker.supervisor.supervise import OPEN_FILES_OPTION, PACKAGES_OPTION

SUPERVISOR = Path(__file__).with_name("supervisor") / "program.py"


class Standby:
    """The place of the supervisor that waits. For one thread."""

    def __init__(self, environ: Mapping[str, str], *, open_files: int | None = None) -> None:
        """`open_files` is the soft limit that agents get where the worker's own was raised."""
        self._open_files = open_files
        self._environ = {**agent_environment(environ), env_vars.ATTEMPT_ID: NO_ATTEMPT}
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> ProcessIdentity:
        """Return who waits; start one where nobody does. Raises SowError when it cannot start."""
        if self._process is not None and not self._waits(self._process):
            self.dismiss()
        if self._process is None:
            self._process = self._start()
        identity = process_facts.identify(self._process.pid)
        assert identity is not None  # noqa: S101 - our own child, not waited for
        return identity

    def give(self, orders: bytes) -> subprocess.Popen[bytes]:
        """Give orders to the one that `prepare` has returned; return its process.

        One that has died meanwhile does nothing; its attempt then ends like any
        whose supervisor died.
        """
        process = self._process
        assert process is not None  # noqa: S101 - `prepare` comes first
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        self._process = None
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(orders)
        return process

    def dismiss(self) -> None:
        """Kill the one that waits. It has begun nothing; one that was stopped would not leave."""
        if self._process is not None:
            identity = process_facts.identify(self._process.pid)
            self._process.kill()
            self._process.communicate()
            self._process = None
            if identity is not None:
                process_facts.tree().unfence("", identity.pid, identity.start_ticks)

    def _waits(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether a supervisor waits, and would take its orders."""
        identity = process_facts.identify(process.pid) if process.poll() is None else None
        return identity is not None and not process_facts.is_stopped(identity)

    def _start(self) -> subprocess.Popen[bytes]:
        """Exec a supervisor, in a session of its own."""
        packages = process_facts.packages()
        options = [] if packages is None else [PACKAGES_OPTION, str(packages)]
        if self._open_files is not None:
            options += [OPEN_FILES_OPTION, str(self._open_files)]
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(SUPERVISOR), *options],
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise SowError(
                f"cannot start a supervisor with {sys.executable}: {error.strerror}",
                hint="Check that this Python is still there and that the system has room for "
                "more processes, then spawn the task again.",
            ) from error
