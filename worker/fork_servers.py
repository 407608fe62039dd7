"""A worker's fork servers: which it has, how they are started, and which of them forks for whom."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sow import env_vars
from sow.environment import agent_environment, own_environment, own_process
from sow.processes import environment_block, process_facts
from sow.processes.fork_server import ForkServer
from worker.supervisor.foreign_processes import NO_ATTEMPT
from worker.supervisor.instructions import OPEN_FILES_OPTION, PACKAGES_OPTION

PROGRAM = Path(__file__).with_name("supervisor") / "program.py"
STEPS, STEP_SERVER = "worker.steps", "worker.steps.server"
BIND_NOW = {"LD_BIND_NOW": "1"}
"""Has a server look up the functions of its libraries when it starts (ld.so(8)). Each process that
it forks would look them up anew, which is a seventh of what a supervisor takes."""


@dataclass(frozen=True)
class ForkServers:
    """The two fork servers of a worker; they may be one. For one thread."""

    for_agents: ForkServer
    for_steps: ForkServer
    """It has imported what programs of ours need: its supervisors fork these."""

    def server_for(self, argv: Sequence[str]) -> ForkServer:
        """Return the one whose supervisors start such a process."""
        ours = own_process(STEPS)
        return self.for_steps if [*argv[: len(ours)]] == ours else self.for_agents

    def start_in_peace(self) -> float:
        """Have a supervisor wait ahead for an agent, as `ForkServer.start_in_peace`."""
        return self.for_agents.start_in_peace()

    def close(self) -> None:
        """End both. What they have forked goes on."""
        self.for_agents.close()
        self.for_steps.close()


def fork_servers(environ: Mapping[str, str], *, open_files: int | None = None) -> ForkServers:
    """Return the servers of a worker; each is started when it is first needed.

    `open_files` is as for `supervisor_server`. Where a fork cannot show the environment of its
    attempt, as with the portable back end, there is one for all.
    """
    for_agents = supervisor_server(environ, open_files=open_files)
    if process_facts.packages() is not None:
        return ForkServers(for_agents, for_agents)
    return ForkServers(for_agents, step_server(environ, open_files=open_files))


def supervisor_server(environ: Mapping[str, str], *, open_files: int | None = None) -> ForkServer:
    """Return a server that forks supervisors; it is started when it is first needed.

    `open_files` is the soft limit that agents get where the worker's own was raised.
    """
    packages = process_facts.packages()
    options = [] if packages is None else [PACKAGES_OPTION, str(packages)]
    if open_files is not None:
        options += [OPEN_FILES_OPTION, str(open_files)]
    argv = [sys.executable, "-I", "-S", str(PROGRAM), *options]
    variables = {**agent_environment(environ), **BIND_NOW, env_vars.ATTEMPT_ID: NO_ATTEMPT}
    return ForkServer(argv, variables, makes="supervisor")


def step_server(environ: Mapping[str, str], *, open_files: int | None = None) -> ForkServer:
    """Return a server whose supervisors fork programs of ours, as `supervisor_server` else."""
    options = [] if open_files is None else [OPEN_FILES_OPTION, str(open_files)]
    argv = own_process(STEP_SERVER, *options)
    variables = {**own_environment(agent_environment(environ)), **environment_block.PLACEHOLDER}
    variables |= {**BIND_NOW, env_vars.ATTEMPT_ID: NO_ATTEMPT}
    return ForkServer(argv, variables, makes="supervisor")
