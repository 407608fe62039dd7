"""What an agent may do with `sow`, asked before any command runs.

An agent is told by its environment: sow gives it SOW_JOB_ID, SOW_ROOT,
SOW_TASK_ID and SOW_AGENT. For what not every agent may do, its role is the one
on its job's record (`sow.calls.recorded_agent`). Whoever sets another job's
number, or none, is taken for what they say. So this is no wall against malice;
it keeps an agent from changing by accident, or on the word of a text that it
has read, what is not its own.

Owns the refusal, and which commands a role's CLI is to let it run. Which right a
command takes is in its row (`sow.commands`). Imports nothing heavy and opens
nothing, for `sow agent log` and `sow task set` pass through here; who asks is
`sow.cli.lazy`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from sow import env_vars
from sow.commands import CALLABLE, REPORTING, Right
from sow.errors import StateError

ORCHESTRATING = frozenset({"orchestrator"})
"""The roles that hand out work and judge it: to them, every command is open."""
PLANNING = frozenset({"planner"})
"""The roles whose product is tasks."""
REVIEWING = frozenset({"reviewer", "security-reviewer"})
"""The roles whose product is a verdict. That nobody judges what it has made itself is asked where
a verdict is given (`sow.calls.judging`)."""


ROLES_WITH: Mapping[Right, frozenset[str]] = {
    Right.PLANNERS: PLANNING,
    Right.REVIEWERS: REVIEWING,
}
"""The roles that have a right besides those that orchestrate."""


class CallingAgent(NamedTuple):
    """The agent of a running job that calls."""

    task_id: str
    role: str
    reviews: bool = False
    """Whether its run ends with a verdict, and with no status."""
    of_whole: bool = False
    """Whether that verdict is on the project as a whole."""

    @property
    def orchestrates(self) -> bool:
        """Whether its role hands out work and judges it."""
        return self.role in ORCHESTRATING


class NotForThisAgent(StateError):
    """An agent has called a command that is open to people and to other roles only."""

    def __init__(self, command: str, agent: CallingAgent) -> None:
        super().__init__(
            f"`{command}` is not for the agent of task {agent.task_id} ({agent.role}): "
            "an agent changes its own task only, unless its role orchestrates",
            hint=f'Log what should be done with `sow agent log "…"`; {_without_it(agent)}'
            " Whoever gave you the task decides.",
        )


class NotForAnyAgent(StateError):
    """An agent has called what only a person may decide."""

    def __init__(self, command: str, agent: CallingAgent) -> None:
        super().__init__(
            f"`{command}` is not for agents, and the agent of task {agent.task_id} calls it",
            hint="Only the person at this machine may decide this. Log what has to be"
            f' decided with `sow agent log "…"`; {_without_it(agent)}',
        )


class NotTheAuthors(StateError):
    """An agent that reviews a task would have changed the task itself."""

    def __init__(self, command: str, agent: CallingAgent) -> None:
        task = agent.task_id
        meant = "--project" if agent.of_whole else task
        what = "the whole: its verdict completes" if agent.of_whole else f"task {task}:"
        super().__init__(
            f"`{command}` is not for the agent that reviews {what} the task"
            f"{'' if agent.of_whole else ' stays as it is'}",
            hint=f'End with a verdict: `sow review accept {meant} --summary "…"`, or'
            f" `sow review correct {meant} --file findings.md`.",
        )


class NotItsTask(StateError):
    """An agent would have changed a task that it was not given."""

    def __init__(self, command: str, agent: CallingAgent, other: str) -> None:
        super().__init__(
            f"`{command}` is for your own task, {agent.task_id}, and names task {other}",
            hint="Without an id the command means your own task. What should become of "
            f'{other}, say in your log: `sow agent log "…"`.',
        )


class NoReport(StateError):
    """An agent in a sandbox has asked its worker for a command that is no report."""

    def __init__(self, command: str, agent: CallingAgent) -> None:
        super().__init__(
            f"`{command}` is not a report: the agent of task {agent.task_id} ({agent.role}) runs in"
            " a sandbox, and can only report from there",
            hint=f'Log what should be done with `sow agent log "…"`; {_without_it(agent)}',
        )


def _without_it(agent: CallingAgent) -> str:
    """Return what an agent does that cannot go on without what it was refused."""
    if agent.reviews:
        return "if you cannot judge without it, say so in your verdict."
    return "if you cannot go on without it, set `paused`."


@lru_cache
def commands_for(role: str, *, reviews: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the commands that an agent's CLI is to let it run, each by its words.

    What its role has a right to, but for the commands without a rule; for an agent
    that `reviews` its task, what a review needs besides reading.
    """
    agent = CallingAgent("", role, reviews=reviews)
    return tuple(words for words, row in CALLABLE.items() if row.has_rule and may_run(agent, words))


@lru_cache
def commands_denied(role: str, *, reviews: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the commands that no CLI of an agent with this role is to let run: all others.

    Somebody who has allowed them to their own session (`sow install claude`) has not meant the
    agents that sow starts.
    """
    allowed = set(commands_for(role, reviews=reviews))
    return tuple(words for words in CALLABLE if words not in allowed)


def may_run(agent: CallingAgent, words: tuple[str, ...]) -> bool:
    """Whether an agent may run a command, for its own task."""
    try:
        refuse_without_right(agent, words, {})
    except StateError:
        return False
    return True


def calling_agent(environ: Mapping[str, str]) -> CallingAgent | None:
    """Return the agent that calls; None for a person, and where sow's root is not its own."""
    if not environ.get(env_vars.JOB_ID, "").isdecimal() or not environ.get(env_vars.ROOT):
        return None
    return CallingAgent(
        environ.get(env_vars.TASK_ID, ""),
        environ.get(env_vars.AGENT, ""),
        reviews=bool(environ.get(env_vars.REVIEW)),
        of_whole=environ.get(env_vars.REVIEW) == env_vars.REVIEWS_WHOLE,
    )


def refuse_without_right(
    agent: CallingAgent, words: tuple[str, ...], parameters: Mapping[str, Any]
) -> None:
    """Refuse a command to an agent that has no right to it. Raises StateError.

    `words` name the command, `parameters` are what click has read.
    """
    right, command = _right_to(words, parameters), " ".join(("sow", *words))
    if right is Right.PEOPLE:
        raise NotForAnyAgent(command, agent)
    if right is Right.READS:
        return
    if agent.reviews:
        _refuse_to_reviewer(agent, words, command, parameters)
        return
    if agent.orchestrates:
        return
    if agent.role == env_vars.STEP_ROLE:
        raise NotForThisAgent(command, agent)
    if right is Right.OWN_TASK:
        for other in _tasks_named(parameters):
            if other != agent.task_id:
                raise NotItsTask(command, agent, other)
    elif agent.role not in ROLES_WITH.get(right, ()):
        raise NotForThisAgent(command, agent)


def refuse_unreported(
    agent: CallingAgent, words: tuple[str, ...], parameters: Mapping[str, Any]
) -> None:
    """Refuse what a worker does not carry out for an agent in a sandbox. Raises NoReport."""
    if _right_to(words, parameters) not in REPORTING or words not in reports_of(
        agent.role, reviews=agent.reviews
    ):
        raise NoReport(" ".join(("sow", *words)), agent)


@lru_cache
def reports_of(role: str, *, reviews: bool = False) -> frozenset[tuple[str, ...]]:
    """Return the commands that a worker carries out for an agent in a sandbox."""
    allowed = commands_for(role, reviews=reviews)
    return frozenset(words for words in allowed if CALLABLE[words].right in REPORTING)


def takes_role(agent: CallingAgent, words: tuple[str, ...], parameters: Mapping[str, Any]) -> bool:
    """Whether not every agent may run a command, so that it matters which one calls."""
    right = _right_to(words, parameters)
    if right is Right.OWN_TASK:
        return any(other != agent.task_id for other in _tasks_named(parameters))
    return right is not Right.READS


def _right_to(words: tuple[str, ...], parameters: Mapping[str, Any]) -> Right:
    """Return the right that a command takes as it was called."""
    row = CALLABLE.get(words)
    if row is None or row.right is None:
        return Right.ORCHESTRATORS
    given = (right for name, right in row.right_with.items() if parameters.get(name))
    return next(given, row.right)


def _refuse_to_reviewer(
    agent: CallingAgent, words: tuple[str, ...], command: str, parameters: Mapping[str, Any]
) -> None:
    """Refuse what an agent that reviews does not need, whatever its role: it judges and logs."""
    right = _right_to(words, parameters)
    if right is Right.OWN_TASK and words != ("agent", "log"):
        raise NotTheAuthors(command, agent)
    if right not in (Right.REVIEWERS, Right.OWN_TASK):
        raise NotForThisAgent(command, agent)
    for other in _tasks_named(parameters):
        if other != agent.task_id:
            raise NotItsTask(command, agent, other)
    if parameters.get("complete"):
        raise NotTheAuthors(f"{command} --complete", agent)


def _tasks_named(parameters: Mapping[str, Any]) -> list[str]:
    """Return the tasks that a command line names, argument and option alike."""
    words: tuple[str, ...] = parameters.get("words") or ()
    several = [*(parameters.get("tasks") or ()), *(parameters.get("task_options") or ())]
    named = [
        *words[:-2],  # [TASK]... FIELD VALUE
        *several,
        parameters.get("task"),
        parameters.get("task_option"),
    ]
    return [str(task) for task in named if task]
