"""Every prompt that an agent can get, read whole: one rule about its end, and no refused command.

A situation is a kind of run (a task of its own, the review of a task, the review of the whole), a
role, and how the run came about: a first one, a message, another try after each cause.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import click
import pytest
from reports.job_cases import EXECUTORS, SESSION_ID, SessionState, make_attempt, make_job, make_task

from sow.agents.rights import (
    REVIEWING,
    CallingAgent,
    NotForAnyAgent,
    NotForThisAgent,
    NotItsTask,
    NotTheAuthors,
    refuse_without_right,
)
from sow.agents.roles import AGENTS
from sow.attempts.judge import Evidence, judge
from sow.attempts.plan import plan_attempt
from sow.attempts.review import plan_review
from sow.cli.named_commands import Named, commands_of, fault_of
from sow.cli.tree import root
from sow.commands import CALLABLE, Right
from sow.errors import StateError
from sow.executors.base import Ending, Observation
from sow.ids import TaskId
from sow.prompts import compose
from sow.prompts.library import list_prompts, load_prompt
from sow.prompts.variables import VARIABLES
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Verb
from sow.schema.task import Task, TaskStatus

ROLES = [agent.name for agent in AGENTS]
CLI, WITHOUT_RESUMPTION = EXECUTORS["claude-code"], EXECUTORS["windsurf"]
LOCATION = ".sow/project/phases/implementation/tasks/010"
STATUS_COMMAND = re.compile(r"sow task set(?: \d+)? status (\w+)|set-status (\w+)")
STATUS_WORDS = re.compile(r"\bset `(\w+)`")
STATUS_NAMES = re.compile(r"\b(?:needs_review|in_progress|paused|completed|abandoned)\b")
NO_STATUS_RULE = "Set no status"
REPORTED = {"needs_review", "paused", "failed"}
CLONE = compose.CloneBrief(folder="/clones/shop-1/ab/010", branch="sow/sign-in/010")
MESSAGES = {
    "nothing": "",
    "answer": "Take RS256.",
    "correction": compose.feedback_message([("001-x.md", "Line 3 is wrong.")]),
    "nothing changed": compose.NOTHING_CHANGED,
    "red check": compose.check_message(["unit: exit code 1"]),
    "conflict": compose.conflict_message("main", ["a.py"]),
}


class Run(Enum):
    """What an agent is run for."""

    OWN_TASK = "a task of its own"
    REVIEW = "the review of a task"
    WHOLE = "the review of the whole"


class Situation(NamedTuple):
    """A prompt, and who gets it why."""

    run: Run
    role: str
    why: str
    prompt: str

    @property
    def agent(self) -> CallingAgent:
        """The agent that gets it, as its commands are judged."""
        of_whole = self.run is Run.WHOLE
        reviews = of_whole or self.run is Run.REVIEW
        return CallingAgent("010", self.role, reviews=reviews, of_whole=of_whole)


@cache
def loaded(run: Run, role: str) -> str:
    """Return all that an agent may load: what `sow prompt` prints, and its role's guidance."""
    greeting = {Run.OWN_TASK: "agent", Run.REVIEW: "reviewer", Run.WHOLE: "whole-review"}
    is_own = run is Run.OWN_TASK or role in REVIEWING
    guidance = f"guidance/{role if is_own else 'reviewer'}/"
    names = [f"greeting/{greeting[run]}"]
    names += [name for name in list_prompts() if name.startswith(guidance)]
    anything = {name: lambda: "anything" for name in VARIABLES}
    return "\n\n".join(load_prompt(name, None, anything) for name in names)


def task_for(run: Run, session: SessionState) -> Task:
    whole: dict[str, Any] = {"phase": "project", "metadata": {"review_of": "1 reviewer abc"}}
    return make_task(TaskStatus.IN_PROGRESS, session, **(whole if run is Run.WHOLE else {}))


def refusals(run: Run, role: str) -> Iterator[str]:
    """Yield what an agent may have read last: the hint of a command that was refused to it."""
    agent = Situation(run, role, "", "").agent
    errors: list[StateError] = [
        NotForThisAgent("sow merge", agent),
        NotForAnyAgent("sow trust", agent),
        NotItsTask("sow task set", agent, "020"),
    ]
    if agent.reviews:
        errors.append(NotTheAuthors("sow task set", agent))
    return (error.hint or "" for error in errors)


def causes_of(run: Run) -> Sequence[Cause]:
    """Return the causes that another try of such a run may follow."""
    other = Cause.NO_VERDICT if run is Run.OWN_TASK else Cause.NO_STATUS
    return [cause for cause in Cause if cause is not other]


def histories(run: Run, role: str) -> Iterator[tuple[str, list[Attempt]]]:
    for cause in causes_of(run):
        yield f"after {cause}", [make_attempt(cause=cause, session_id=SESSION_ID, reason="It says")]
    last = Cause.NO_STATUS if run is Run.OWN_TASK else Cause.NO_VERDICT
    for hint in refusals(run, role):
        attempt = make_attempt(cause=last, session_id=SESSION_ID, reason=hint)
        yield "after a refused command", [attempt]


def on_a_task(run: Run, role: str, *, in_clone: bool) -> Iterator[Situation]:
    """Yield the prompts of a run on a task: an author's, or of whoever judges the whole."""
    new, begun = (task_for(run, state) for state in (SessionState.NONE, SessionState.STARTED))

    # One that judges the whole works in the checkout itself.
    clone = None if run is Run.WHOLE or not in_clone else CLONE

    def situation(why: str, task: Task, executor: Any, history: Any = (), **job: Any) -> Situation:
        wanted = make_job(agent=role, phase=task.phase, **job)
        plan = plan_attempt(wanted, task, history, executor, LOCATION, clone=clone)
        return Situation(run, role, why, plan.prompt)

    for why, words in MESSAGES.items():
        yield situation(f"spawn, {why}", new, CLI, prompt=words)
        yield situation(f"resume, {why}", begun, CLI, verb=Verb.RESUME, prompt=words)
        how = {"verb": Verb.RESUME, "prompt": words}
        yield situation(f"another session, {why}", begun, WITHOUT_RESUMPTION, **how)
    for why, history in histories(run, role):
        yield situation(f"resumed {why}", begun, CLI, history)
        yield situation(f"spawned {why}", begun, WITHOUT_RESUMPTION, history)


def on_a_review(role: str) -> Iterator[Situation]:
    brief = compose.ReviewBrief(
        task=compose.TaskBrief(
            id=TaskId("010"), name="Add it", location=LOCATION, iteration=2, agent=role
        ),
        description="Add it.",
        feedback=[("001-x.md", "Line 3 is wrong.")],
        base="a" * 40,
        commit="b" * 40,
        files=[".claude/settings.json"],
        steers=[".claude/settings.json"],
    )
    new, begun = (task_for(Run.REVIEW, each) for each in (SessionState.NONE, SessionState.STARTED))
    job = make_job(agent=role, verb=Verb.REVIEW)

    def situation(why: str, task: Task, history: Any, executor: Any = CLI) -> Situation:
        plan = plan_review(job, task, history, executor, brief)
        return Situation(Run.REVIEW, role, why, plan.prompt)

    yield situation("first", new, ())
    for why, history in histories(Run.REVIEW, role):
        yield situation(f"resumed {why}", begun, history)
        yield situation(f"spawned {why}", begun, history, WITHOUT_RESUMPTION)


@cache
def situations(run: Run, role: str, *, in_clone: bool = False) -> tuple[Situation, ...]:
    if run is Run.REVIEW:
        return tuple(on_a_review(role))
    return tuple(on_a_task(run, role, in_clone=in_clone))


def statuses_in(text: str) -> set[str]:
    """Return the statuses that a text tells its reader to set."""
    commands = {each or other for each, other in STATUS_COMMAND.findall(text)}
    return commands | set(STATUS_WORDS.findall(text))


def endings_in(text: str) -> list[str]:
    """Return the rules about the end of the run that a text has."""
    return re.findall(rf"{re.escape(compose.REPORT)}|{NO_STATUS_RULE}", text)


@pytest.mark.parametrize("role", ROLES)
def test_an_author_has_one_rule_about_its_status(role: str) -> None:
    found = [*situations(Run.OWN_TASK, role), *situations(Run.OWN_TASK, role, in_clone=True)]
    assert len(found) > 80
    for each in found:
        assert endings_in(each.prompt) == [compose.REPORT], each.why
        assert statuses_in(each.prompt) == REPORTED, each.why
    if role != "orchestrator":  # it names what becomes of other tasks
        assert statuses_in(loaded(Run.OWN_TASK, role)) <= REPORTED
    assert NO_STATUS_RULE not in loaded(Run.OWN_TASK, role)


@pytest.mark.parametrize("run", [Run.REVIEW, Run.WHOLE], ids=lambda run: run.name)
@pytest.mark.parametrize("role", ROLES)
def test_a_reviewer_is_told_of_two_verdicts_and_of_no_status(run: Run, role: str) -> None:
    what = "--project" if run is Run.WHOLE else "010"
    for each in situations(run, role):
        assert endings_in(each.prompt) == [NO_STATUS_RULE], each.why
        assert statuses_in(each.prompt) == set(), each.why
        assert STATUS_NAMES.findall(each.prompt) == [], each.why
        verdicts = [item for item in commands_of(each.prompt) if item.in_block and is_verdict(item)]
        begins = [(item.words[1], item.words[2]) for item in verdicts]
        assert begins == [("accept", what), ("correct", what)], each.why
    assert statuses_in(loaded(run, role)) == set()
    assert "`paused`" not in loaded(run, role)


def is_verdict(named: Named) -> bool:
    return named.words[:1] == ("review",) and len(named.words) > 2


@pytest.mark.parametrize("run", Run, ids=lambda run: run.name)
@pytest.mark.parametrize("role", ROLES)
def test_no_prompt_names_a_command_that_its_agent_is_refused(run: Run, role: str) -> None:
    found = situations(run, role)
    texts = {loaded(run, role), *(each.prompt for each in found)}
    for named in {named._replace(line=0) for text in texts for named in commands_of(text)}:
        assert fault_of(named, root) is None
        words, parameters = parsed(named)
        if words not in CALLABLE or CALLABLE[words].right is Right.PEOPLE:
            assert role == "orchestrator" or words not in CALLABLE, named
            continue
        refuse_without_right(found[0].agent, words, parameters)


def parsed(named: Named) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the command that a line names, and what click makes of its arguments."""
    command: click.Command = root
    rest, words = [word for word in named.words if word not in ("…", "...")], []
    context = click.Context(root)
    while isinstance(command, click.Group) and rest:
        child = command.get_command(context, rest[0])
        if child is None:
            break
        words.append(rest.pop(0))
        command = child
    with command.make_context("sow", rest, resilient_parsing=True) as made:
        return tuple(words), dict(made.params)


def test_an_agent_in_a_clone_is_told_so_and_how_it_commits() -> None:
    for each in situations(Run.OWN_TASK, "implementer", in_clone=True):
        assert each.prompt.count("You work in a clone of the repository") == 1, each.why
        for words in (CLONE.folder, CLONE.branch, 'as "010: Add JWT auth"', "do not push"):
            assert words in each.prompt, each.why
    for each in situations(Run.OWN_TASK, "implementer"):
        assert "You work in a clone" not in each.prompt
    kept = compose.CloneBrief(folder="/c", branch="b", commits_leftovers=False)
    task = task_for(Run.OWN_TASK, SessionState.NONE)
    prompt = plan_attempt(make_job(), task, (), CLI, LOCATION, clone=kept).prompt
    assert "What you leave uncommitted, sow leaves in the clone" in prompt


@pytest.mark.parametrize(
    ("run", "cause"), [(Run.OWN_TASK, Cause.NO_STATUS), (Run.WHOLE, Cause.NO_VERDICT)]
)
def test_whoever_judges_the_whole_owes_a_verdict_and_no_status(run: Run, cause: Cause) -> None:
    task = task_for(run, SessionState.STARTED)
    ending = Ending(code=0, signal=None, stderr_tail="", output_tail="")
    evidence = Evidence(make_job(), task, ending, Observation())
    assert judge(evidence, CLI).cause is cause
