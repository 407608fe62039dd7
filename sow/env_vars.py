"""The names of the environment's variables that are sow's own.

Owns the names only; what each means is said here, who sets and reads it is
elsewhere. Imports nothing: the supervisor and the shortest command use it.
"""

PREFIX = "SOW_"

ROOT = "SOW_ROOT"
"""The folder that holds `.sow`; every agent gets it."""
TASK_ID = "SOW_TASK_ID"
JOB_ID = "SOW_JOB_ID"
ATTEMPT_ID = "SOW_ATTEMPT_ID"
"""Marks all processes of an attempt."""
AGENT = "SOW_AGENT"
"""The role of the agent."""
STEP_ROLE = "sow-step"
"""The role of the repository's own command lines, which sow runs in a step: one without rights."""
EXECUTOR = "SOW_EXECUTOR"
REPORT_SOCKET = "SOW_REPORT_SOCKET"
"""Where an agent in a sandbox reports; the folder of it is in its sandbox."""
SANDBOX = "SOW_SANDBOX"
"""Set for an agent in a sandbox: which one it is. Its supervisor goes by it, too."""
REVIEW = "SOW_REVIEW"
"""Set for an agent whose run ends with a verdict: `1` on its task, `project` on the whole."""
REVIEWS_WHOLE = "project"
SECRETS = "SOW_SECRETS"
"""The names of the variables, with commas between them, whose values sow keeps out of all that it
writes: they come from `env_files` and `env_commands`."""
DOOR = "SOW_DOOR"
"""The descriptor by which the first program in a sandbox opens the way to its proxy
(`sow.sandbox.door`); an agent does not see it."""
OF_AGENTS = frozenset(
    {
        *(ROOT, TASK_ID, JOB_ID, ATTEMPT_ID, AGENT, EXECUTOR, REVIEW),
        *(SANDBOX, SECRETS, REPORT_SOCKET, DOOR),
    }
)
"""What sow tells its agents, and no configuration may change."""

REPORT = "SOW_REPORT"
"""Of a command that a worker runs for an agent in a sandbox: which report it is."""
REPORTS = "SOW_REPORTS"
"""`socket` has every agent of a worker report as one in a sandbox does, for tests."""

EVENT = "SOW_EVENT"
MESSAGE = "SOW_MESSAGE"
"""What a command of `notify:` is told of, besides its standard input."""

AGENTS_PREFIX = "SOW_AGENTS_"
"""With a role's name behind it: the executor that plays the role."""
CONFIG = "SOW_CONFIG"
"""Another place for the user's configuration."""
WAIT = "SOW_WAIT"
"""How long a call waits that does not say it."""
ESCROW = "SOW_ESCROW"
"""Of a call that `sow mcp` runs: where the outcomes go that it has printed (`sow.jobs.waiters`)."""
WATCHED = "SOW_WATCHED"
"""Set for a command that a key of `sow watch` runs: the view shows what becomes of its job."""
PROCESSES = "SOW_PROCESSES"
"""`portable` chooses the portable process back end on Linux too."""
ROOM = "SOW_ROOM"
"""Room in a server's environment for what its forks show (`sow.processes.environment_block`)."""
USERS_PREFIX = "SOW_USERS_"
"""With the name of a CLI's variable behind it: its value before a session had its own folder."""
CALLER_PYTHONPATH = "SOW_CALLER_PYTHONPATH"
"""Carries the caller's PYTHONPATH through our own processes; `scripts/sow` sets it."""
