"""What a living worker was started with and this shell was not, and the other way round.

An agent gets its worker's environment, so a key that was exported after the
worker's start is missing there. Owns what is not worth telling. Names only: no
value leaves this module.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sow import env_vars
from sow.config.configuration import Configuration
from sow.config.environment import references
from sow.environment import worker_environment
from sow.findings import Finding, Level
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import WorkerRecord

OF_THE_TERMINAL = frozenset(
    {
        *("_", "COLORTERM", "COLUMNS", "DISPLAY", "GPG_TTY", "HISTFILE", "INVOCATION_ID"),
        *("JOURNAL_STREAM", "LINES", "LS_COLORS", "OLDPWD", "PS1", "PWD", "SHLVL"),
        *("SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "STY", "TERM", "TERM_PROGRAM"),
        *("TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "VTE_VERSION"),
        *("WAYLAND_DISPLAY", "WINDOWID", "XDG_SESSION_ID", "XDG_SESSION_TYPE"),
        "PATH",  # agents get the PATH of whoever called
    }
)
"""What differs from shell to shell, or does not come from the worker."""


class Difference(msgspec.Struct, frozen=True):
    """Names of variables, sorted."""

    missing: tuple[str, ...]
    """Set here, and not for the worker."""
    other: tuple[str, ...]
    """Set for both, not alike."""
    only_there: tuple[str, ...]
    """Set for the worker alone."""


def difference(worker: Mapping[str, str], caller: Mapping[str, str]) -> Difference:
    """Compare a worker's environment with that of a worker that `caller` would start now."""
    there, here = _compared(worker), _compared(caller)
    return Difference(
        missing=tuple(sorted(here.keys() - there.keys())),
        other=tuple(sorted(name for name in here.keys() & there if here[name] != there[name])),
        only_there=tuple(sorted(there.keys() - here.keys())),
    )


def _compared(environ: Mapping[str, str]) -> dict[str, str]:
    names = {env_vars.CALLER_PYTHONPATH: "PYTHONPATH"}
    return {
        names.get(name, name): value
        for name, value in worker_environment(environ).items()
        if name not in OF_THE_TERMINAL
    }


def examine_inheritance(
    alive: Sequence[WorkerRecord], configuration: Configuration, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield what each living worker's environment lacks or has besides, where it can be read."""
    for worker in alive:
        known = process_facts.life_of(worker.process) is Life.ALIVE
        theirs = process_facts.variables(worker.process.pid) if known else None
        if theirs is None:
            text = f"The environment of worker {worker.id} cannot be read from here"
            yield Finding(check="environment", level=Level.NOTE, text=text)
        else:
            yield _compare(worker, difference(theirs, environ))
            yield from _unset(worker, theirs, configuration)


def _compare(worker: WorkerRecord, found: Difference) -> Finding:
    known = {"worker": worker.id, **msgspec.to_builtins(found)}
    parts = {
        "without": found.missing,
        "with another": found.other,
        "with": found.only_there,
    }
    words = [f"{word} {', '.join(names)}" for word, names in parts.items() if names]
    if not words:
        text = f"Worker {worker.id} has the environment of this shell"
        return Finding(check="environment", level=Level.OK, text=text, facts=known)
    return Finding(
        check="environment",
        level=Level.WARNING,
        text=f"Worker {worker.id} was started {'; '.join(words)}",
        remedy="Its agents get the environment that it was started with. If they need this"
        f" shell's: `sow worker stop {worker.id}`,\nthen run your command again from"
        " here. Running agents continue.",
        facts=known,
    )


def _unset(
    worker: WorkerRecord, theirs: Mapping[str, str], configuration: Configuration
) -> Iterator[Finding]:
    """Yield the `${NAME}`s of the configuration that are not set for this worker."""
    bound = configuration.all_bound
    for executor, variable, name in references(configuration.path):
        if name not in theirs:
            place = f"agents.executors.{executor}.env.{variable}"
            yield Finding(
                check="env",
                level=Level.ERROR if executor in bound else Level.WARNING,
                text=f"Worker {worker.id} lacks {name}, which {place} needs: its jobs fail",
                remedy=(
                    f"Run `sow worker stop {worker.id}`, set {name}, and run your command again."
                ),
            )
