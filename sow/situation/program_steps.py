"""Which commands would begin a run of an executor whose program is not there.

Owns that such a command is not named: what can run goes first, and then a person is asked for the
program. Pure but for `missing_programs`, which looks on PATH and changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.lifecycle.lifecycle_facts import Remedy
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.task_ways import ready_among
from sow.schema.task import Task, TaskStatus
from sow.situation.project_steps import LEADS
from sow.situation.situation import Situation

REVIEWER = "reviewer"
"""The role that reviews where none is named."""
ON_SESSION = ("sow agent resume ", "sow agent answer ")
REVIEWS = "sow agent review "
STARTS = "sow start --headless"
SPAWN = "sow agent spawn "
"""What begins runs of several executors: the tasks of the others can go on."""
BATCH = "sow batch run"
ENDED = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def missing_programs(
    caller: Caller, configuration: Configuration | None, tasks: Sequence[Task]
) -> Mapping[str, SowError]:
    """Return the executors that tasks need whose programs are missing, each with its error."""
    if configuration is None or not tasks:
        return {}
    going_on = [task for task in tasks if task.status not in ENDED]
    roles = [*(task.assigned_agent for task in going_on), REVIEWER]
    names = [name for role in roles for name in configuration.bound(role)]
    names += [task.session.executor for task in going_on if task.session is not UNSET]
    found = {name: _missing(caller, configuration, name) for name in dict.fromkeys(names)}
    return {name: error for name, error in found.items() if error is not None}


def _missing(caller: Caller, configuration: Configuration, name: str) -> SowError | None:
    from sow.agent_clis.known import AGENT_CLIS  # only where there are tasks
    from sow.executors.programs import program_of  # as above

    executor = configuration.executors.get(name)
    if executor is None:
        return None
    try:
        program_of(executor, AGENT_CLIS[executor.type], caller.path_variable)
    except SowError as error:
        return error
    return None


def with_programs(found: Iterable[Remedy], now: Situation) -> Iterator[Remedy]:
    """Yield commands without what a missing program would refuse; last what helps against that."""
    lacking: dict[str, None] = {}
    for remedy in found:
        names = [name for name in _executors(remedy.command, now) if name in now.lacking]
        if not names:
            yield remedy
            continue
        lacking.update(dict.fromkeys(names))
        yield from _rest(remedy, now)
    for name in lacking:
        yield from after(now.lacking[name])


def _executors(command: str, now: Situation) -> Iterator[str]:
    """Yield the executors that a command needs; a batch goes on with what can run."""
    if not command.startswith(BATCH):
        yield from executors_of(command, now)
        return
    facts = now.facts
    ready = {task.id for task in ready_among(facts.tasks, facts.clones)} if facts else set()
    own = {_own_executor(task, now) for task in now.tasks if task.id in ready}
    if own <= now.lacking.keys():
        yield from sorted(own)


def executors_of(command: str, now: Situation) -> Iterator[str]:
    """Yield the executors whose runs a command begins."""
    if command.startswith(REVIEWS):
        yield _player(REVIEWER, now)
    elif command.startswith(STARTS):
        yield _player(LEADS, now)
    words = command.partition('"')[0].split()
    for task in now.tasks:
        if task.id in words and not command.startswith(REVIEWS):
            goes_on = command.startswith(ON_SESSION) and task.session is not UNSET
            own = _own_executor(task, now)
            yield task.session.executor if goes_on and task.session is not UNSET else own


def _own_executor(task: Task, now: Situation) -> str:
    return _player(task.assigned_agent, now)


def _player(role: str, now: Situation) -> str:
    """Return the first executor of a role whose program is there; the first one where none is."""
    names = now.configuration.bound(role) if now.configuration is not None else ()
    return next((name for name in names if name not in now.lacking), names[0] if names else "")


def _rest(remedy: Remedy, now: Situation) -> Iterator[Remedy]:
    """Yield a command for the tasks that can go on of those that it names."""
    if not remedy.command.startswith(SPAWN):
        return
    named = re.findall(r"\b\d+\b", remedy.command.partition('"')[0])
    lacking = {task.id for task in now.tasks if _own_executor(task, now) in now.lacking}
    rest = [task for task in named if task not in lacking]
    if rest:
        command = remedy.command.replace(" ".join(named), " ".join(rest))
        yield Remedy(command, remedy.why.replace(", ".join(named), ", ".join(rest)))
