"""Whom a test kills of those around a real agent: the CLI, its supervisor, its worker."""

from native_trial import Trial

NAP = "sleep 300"
"""What an agent's command does while somebody is killed."""


def pids_of(trial: Trial, who: str) -> list[int]:
    """Return whom to kill; with a worker or supervisor the agent's command too, so it goes on."""
    inside = trial.namespace.inhabitants()
    naps = [pid for pid, line in inside.items() if line.startswith(NAP)]
    match who:
        case "agent":
            return [pid for pid, line in inside.items() if is_agent(trial, line)]
        case "worker":
            return [pid for pid, line in inside.items() if "worker" in line] + naps
        case "supervisor":
            return [trial.attempts()[-1]["pid"], *naps]
        case _:
            return [pid for pid, line in inside.items() if "-m sow.acp" in line]


def is_agent(trial: Trial, line: str) -> bool:
    """Whether a command line is that of the CLI itself, or of its launcher."""
    return f".tools/{trial.native.name}-" in line and "/sow agent" not in line
