"""What an agent may do with `sow`: one row for every command, asked before any command runs.

An agent is told by its environment: sow gives it SOW_JOB_ID, SOW_ROOT,
SOW_TASK_ID and SOW_AGENT. For what not every agent may do, its role is the one
on its job's record (`sow.calls.recorded_agent`). Whoever sets another job's
number, or none, is taken for what they say. So this is no wall against malice;
it keeps an agent from changing by accident, or on the word of a text that it
has read, what is not its own.

Owns the table, the refusal, and which commands a role's CLI is to let it run.
Imports nothing heavy and opens nothing, for `sow agent log` and `sow task set`
pass through here; who asks is `sow.cli.guarding`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from sow import own_variables
from sow.errors import StateError

ORCHESTRATING = frozenset({"orchestrator"})
"""The roles that hand out work and judge it: to them, every command is open."""
PLANNING = frozenset({"planner"})
"""The roles whose product is tasks."""
REVIEWING = frozenset({"reviewer", "security-reviewer"})
"""The roles whose product is a verdict. That nobody judges what it has made itself is asked where
a verdict is given (`sow.calls.judging`)."""


class Right(Enum):
    """Which agents may run a command. People may run all of them."""

    READS = "every agent: it changes nothing of the project, the queue or the configuration"
    OWN_TASK = "every agent, for its own task"
    PLANNERS = "agents that plan or orchestrate"
    REVIEWERS = "agents that review or orchestrate, for work that is not their own"
    ORCHESTRATORS = "agents that orchestrate"
    PEOPLE = "no agent: it is a person's word"


RIGHTS: Mapping[tuple[str, ...], Right] = {
    ("init",): Right.ORCHESTRATORS,
    ("project", "new"): Right.ORCHESTRATORS,
    ("project", "status"): Right.READS,
    ("project", "check"): Right.ORCHESTRATORS,
    ("task", "add"): Right.PLANNERS,
    ("task", "import"): Right.PLANNERS,
    ("task", "export"): Right.READS,
    ("task", "remove"): Right.PLANNERS,
    ("task", "list"): Right.READS,
    ("task", "show"): Right.READS,
    ("task", "explain"): Right.READS,
    ("task", "output"): Right.READS,
    ("task", "log"): Right.READS,
    ("task", "check"): Right.ORCHESTRATORS,
    ("task", "diff"): Right.READS,
    ("task", "set"): Right.OWN_TASK,
    ("task", "abandon"): Right.OWN_TASK,
    ("task", "reopen"): Right.OWN_TASK,
    ("agent", "spawn"): Right.ORCHESTRATORS,
    ("agent", "resume"): Right.ORCHESTRATORS,
    ("agent", "answer"): Right.ORCHESTRATORS,
    ("agent", "review"): Right.ORCHESTRATORS,
    ("agent", "open"): Right.ORCHESTRATORS,
    ("agent", "wait"): Right.ORCHESTRATORS,
    ("agent", "cancel"): Right.ORCHESTRATORS,
    ("agent", "list"): Right.READS,
    ("agent", "log"): Right.OWN_TASK,
    ("agent", "task", "state", "set-status"): Right.OWN_TASK,
    ("review", "accept"): Right.REVIEWERS,
    ("review", "correct"): Right.REVIEWERS,
    ("review", "show"): Right.READS,
    ("merge",): Right.ORCHESTRATORS,
    ("batch", "run"): Right.ORCHESTRATORS,
    ("batch", "list"): Right.READS,
    ("batch", "show"): Right.READS,
    ("batch", "wait"): Right.ORCHESTRATORS,
    ("batch", "add"): Right.ORCHESTRATORS,
    ("batch", "remove"): Right.ORCHESTRATORS,
    ("batch", "pause"): Right.ORCHESTRATORS,
    ("batch", "resume"): Right.ORCHESTRATORS,
    ("batch", "cancel"): Right.ORCHESTRATORS,
    ("worker",): Right.ORCHESTRATORS,
    ("worker", "list"): Right.READS,
    ("worker", "stop"): Right.ORCHESTRATORS,
    ("worker", "logs"): Right.READS,
    ("worker", "unit"): Right.READS,
    ("job", "list"): Right.READS,
    ("job", "show"): Right.READS,
    ("job", "explain"): Right.READS,
    ("job", "wait"): Right.ORCHESTRATORS,
    ("job", "retry"): Right.ORCHESTRATORS,
    ("job", "cancel"): Right.ORCHESTRATORS,
    ("job", "resolve"): Right.ORCHESTRATORS,
    ("job", "prune"): Right.ORCHESTRATORS,
    ("job", "logs"): Right.READS,
    ("clone", "list"): Right.READS,
    ("clone", "path"): Right.READS,
    ("clone", "update"): Right.ORCHESTRATORS,
    ("clone", "remove"): Right.ORCHESTRATORS,
    ("clone", "prune"): Right.ORCHESTRATORS,
    ("refs", "add"): Right.ORCHESTRATORS,
    ("refs", "list"): Right.READS,
    # They talk with servers in the user's name, and change what every task reads.
    ("refs", "status"): Right.ORCHESTRATORS,
    ("refs", "update"): Right.ORCHESTRATORS,
    ("refs", "remove"): Right.ORCHESTRATORS,
    ("refs", "init"): Right.ORCHESTRATORS,
    ("refs", "prune"): Right.ORCHESTRATORS,
    ("knowledge", "list"): Right.READS,
    ("knowledge", "search"): Right.READS,
    ("knowledge", "show"): Right.READS,
    # It speaks to everybody in the user's name.
    ("pr", "create"): Right.PEOPLE,
    # It asks a server in the user's name.
    ("pr", "status"): Right.ORCHESTRATORS,
    ("cost",): Right.READS,
    # It writes a file wherever it is told to.
    ("report",): Right.ORCHESTRATORS,
    ("stats",): Right.READS,
    ("log",): Right.READS,
    ("status",): Right.READS,
    ("watch",): Right.READS,
    ("next",): Right.READS,
    ("start",): Right.ORCHESTRATORS,
    ("advance",): Right.ORCHESTRATORS,
    ("approve",): Right.ORCHESTRATORS,
    ("phase", "list"): Right.READS,
    ("phase", "add"): Right.ORCHESTRATORS,
    ("phase", "finish"): Right.ORCHESTRATORS,
    ("phase", "reopen"): Right.ORCHESTRATORS,
    ("project", "list"): Right.READS,
    ("project", "set"): Right.ORCHESTRATORS,
    ("project", "publish"): Right.ORCHESTRATORS,
    ("project", "finish"): Right.ORCHESTRATORS,
    ("project", "abandon"): Right.ORCHESTRATORS,
    ("output", "move"): Right.ORCHESTRATORS,
    ("input", "add"): Right.ORCHESTRATORS,
    ("input", "list"): Right.READS,
    ("input", "remove"): Right.ORCHESTRATORS,
    ("output", "add"): Right.ORCHESTRATORS,
    ("output", "list"): Right.READS,
    ("output", "remove"): Right.ORCHESTRATORS,
    ("feedback", "add"): Right.ORCHESTRATORS,
    ("feedback", "list"): Right.READS,
    ("feedback", "settle"): Right.ORCHESTRATORS,
    ("changes",): Right.READS,
    ("notify", "list"): Right.READS,
    ("notify", "test"): Right.ORCHESTRATORS,
    ("queue", "status"): Right.READS,
    ("queue", "pause"): Right.ORCHESTRATORS,
    ("queue", "resume"): Right.ORCHESTRATORS,
    ("prompt",): Right.READS,
    ("config", "init"): Right.ORCHESTRATORS,
    ("config", "path"): Right.READS,
    ("config", "show"): Right.READS,
    ("config", "validate"): Right.READS,
    ("config", "edit"): Right.ORCHESTRATORS,
    ("config", "reset"): Right.ORCHESTRATORS,
    ("validate",): Right.READS,
    ("trust",): Right.PEOPLE,
    ("doctor",): Right.READS,
    ("schema",): Right.READS,
    ("install", "status"): Right.READS,
    # They change what a person's own session may do unasked.
    ("install", "claude"): Right.PEOPLE,
    ("install", "agents-md"): Right.PEOPLE,
    ("uninstall", "claude"): Right.PEOPLE,
    ("uninstall", "agents-md"): Right.PEOPLE,
    # To an agent of a job it says nothing.
    ("news",): Right.READS,
    # What it offers to an agent is no more than what that may run.
    ("mcp",): Right.READS,
    ("completion",): Right.READS,
    # It works in a repository of its own, and with an environment of its own.
    ("demo",): Right.READS,
}
"""Every command, by its words. A command without a row is refused to agents, and fails a test."""
RIGHTS_WITH: Mapping[tuple[tuple[str, ...], str], Right] = {
    (("validate",), "fix"): Right.ORCHESTRATORS,
    # It asks a server in the user's name.
    (("task", "add"), "issue"): Right.ORCHESTRATORS,
    # It speaks to everybody in the user's name.
    (("project", "publish"), "elsewhere"): Right.PEOPLE,
}
"""The right that a command takes with a flag, where that is more than without it."""


WITHOUT_RULE: frozenset[tuple[str, ...]] = frozenset(
    {
        # Whoever writes the user's configuration chooses which programs run.
        *(("config", "init"), ("config", "edit"), ("config", "reset")),
        # They serve until they are stopped; whoever needs a worker starts one.
        *(("worker",), ("mcp",)),
        # They need a person: a terminal, or eyes.
        *(("start",), ("agent", "open"), ("config", "show"), ("demo",), ("completion",)),
        ("watch",),
        # They show or try what belongs to the user, not to the project.
        *(("notify", "list"), ("notify", "test"), ("worker", "unit"), ("install", "status")),
        # The plugin's hook runs it.
        ("news",),
    }
)
"""The commands that no agent's CLI is told to let it run, though sow would not refuse some of them
to some: no work of an agent needs them."""


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


def _without_it(agent: CallingAgent) -> str:
    """Return what an agent does that cannot go on without what it was refused."""
    if agent.reviews:
        return "if you cannot judge without it, say so in your verdict."
    return "if you cannot go on without it, set `paused`."


def commands_for(role: str, *, reviews: bool = False) -> list[tuple[str, ...]]:
    """Return the commands that an agent's CLI is to let it run, each by its words.

    What its role has a right to, save those in WITHOUT_RULE; for one that
    `reviews` its task, what a review needs besides reading.
    """
    agent = CallingAgent("", role, reviews=reviews)
    return [words for words in RIGHTS if words not in WITHOUT_RULE and may_run(agent, words)]


def commands_denied(role: str, *, reviews: bool = False) -> list[tuple[str, ...]]:
    """Return the commands that no CLI of an agent with this role is to let run: all others.

    Somebody who has allowed them to their own session (`sow install claude`) has not meant the
    agents that sow starts.
    """
    allowed = set(commands_for(role, reviews=reviews))
    return [words for words in RIGHTS if words not in allowed]


def may_run(agent: CallingAgent, words: tuple[str, ...]) -> bool:
    """Whether an agent may run a command, for its own task."""
    try:
        refuse_without_right(agent, words, {})
    except StateError:
        return False
    return True


def calling_agent(environ: Mapping[str, str]) -> CallingAgent | None:
    """Return the agent that calls; None for a person, and where sow's root is not its own."""
    if not environ.get(own_variables.JOB_ID, "").isdecimal() or not environ.get(own_variables.ROOT):
        return None
    return CallingAgent(
        environ.get(own_variables.TASK_ID, ""),
        environ.get(own_variables.AGENT, ""),
        reviews=bool(environ.get(own_variables.REVIEW)),
        of_whole=environ.get(own_variables.REVIEW) == own_variables.REVIEWS_WHOLE,
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
    if agent.role == own_variables.STEP_ROLE:
        raise NotForThisAgent(command, agent)
    if right is Right.OWN_TASK:
        for other in _tasks_named(parameters):
            if other != agent.task_id:
                raise NotItsTask(command, agent, other)
    elif agent.role not in ROLES_WITH.get(right, ()):
        raise NotForThisAgent(command, agent)


def takes_role(agent: CallingAgent, words: tuple[str, ...], parameters: Mapping[str, Any]) -> bool:
    """Whether not every agent may run a command, so that it matters which one calls."""
    right = _right_to(words, parameters)
    if right is Right.OWN_TASK:
        return any(other != agent.task_id for other in _tasks_named(parameters))
    return right is not Right.READS


def _right_to(words: tuple[str, ...], parameters: Mapping[str, Any]) -> Right:
    """Return the right that a command takes as it was called."""
    for (command, flag), right in RIGHTS_WITH.items():
        if command == words and parameters.get(flag):
            return right
    return RIGHTS.get(words, Right.ORCHESTRATORS)


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
