"""What `sow prompt` without a name prints: the texts that this reader needs, put together.

Owns who the reader is, which texts those are, and what fills their variables. An agent is known by
the variables that sow gives it; whoever else asks leads the project.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sow import env_vars
from sow.agents.rights import REVIEWING
from sow.calls.caller import Caller
from sow.errors import StateError
from sow.ids import parse_task_id
from sow.paths import Workspace
from sow.prompts.library import load_prompt
from sow.prompts.variables import Facts

SEPARATOR = "\n\n---\n\n"
"""What stands between two texts."""
ORCHESTRATOR = "orchestrator"
REVIEWER = "reviewer"
NOTHING = "# nothing now"
"""What stands for an empty list of steps."""


class Composed(NamedTuple):
    """What one reader gets."""

    names: tuple[str, ...]
    """The prompts that it is made of, in their order."""
    text: str


def composed_for(caller: Caller | None, team: Path | None, environ: Mapping[str, str]) -> Composed:
    """Return what whoever calls needs to know now; without a caller there is no workspace.

    `team` is the folder of the team's own texts, if there is one.
    Raises UnknownPrompt, BadPromptFile, UnfilledPrompt, and what reading the state does.
    """
    names = names_for(caller.workspace if caller else None, environ)
    facts = facts_for(caller, environ)
    texts = (load_prompt(name, team, facts).strip() for name in names)
    return Composed(names, SEPARATOR.join(texts) + "\n")


def names_for(workspace: Workspace | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prompts that this reader's is made of. Raises what reading the state does."""
    if workspace is None:
        return ("greeting/no-workspace",)
    role = _role(environ)
    if not role:
        return _for_whoever_leads(workspace)
    if not environ.get(env_vars.TASK_ID):
        if role == ORCHESTRATOR and not environ.get(env_vars.JOB_ID):
            return _for_whoever_leads(workspace)  # a session on a terminal (`sow start`)
        raise StateError(
            f"SOW_TASK_ID is not set, and the {role} that calls has no task without it",
            hint=f"`sow prompt guidance/{role}/base` prints the role's guidance.",
        )
    if review := environ.get(env_vars.REVIEW):
        of_whole = review == env_vars.REVIEWS_WHOLE
        judge = role if role in REVIEWING else REVIEWER  # another role's tells how to make work
        greeting = "greeting/whole-review" if of_whole else "greeting/reviewer"
        return (greeting, f"guidance/{judge}/base")
    base = f"guidance/{role}/base"
    if role == ORCHESTRATOR:
        return ("greeting/agent", *_for_whoever_leads(workspace), base)
    return ("greeting/agent", base)


def facts_for(caller: Caller | None, environ: Mapping[str, str]) -> Facts:
    """Return all that there is to say to this reader; nothing is read before it is asked for."""
    if caller is None:
        return {}
    # The state's schema is heavy, and few texts name anything of it.
    from sow.attempts.prompt_facts import project_facts

    facts = {**project_facts(caller.workspace), "next": lambda: _next(caller)}
    role, task_id = _role(environ), environ.get(env_vars.TASK_ID, "")
    if not role or not task_id:
        return facts
    return {**facts, **_task_facts(caller.workspace, role, task_id)}


def _role(environ: Mapping[str, str]) -> str:
    """Return the role of the agent that reads; nothing for a person, and in a step of ours."""
    role = environ.get(env_vars.AGENT, "")
    return "" if role == env_vars.STEP_ROLE else role


def _for_whoever_leads(workspace: Workspace) -> tuple[str, ...]:
    # As above; an agent's own texts need none of it.
    from sow.state.places import has_project
    from sow.state.projects import read_project

    if not has_project(workspace):
        return ("greeting/no-project",)
    project = read_project(workspace)
    return ("greeting/orchestrator", f"states/{project.kind}/{project.standing}")


def _task_facts(workspace: Workspace, role: str, name: str) -> Facts:
    """Return what there is to say of a task. It is read here: what names none asks for no facts."""
    # As above.
    from sow.attempts.prompt_facts import facts_of
    from sow.state.tasks import find_task, read_task

    task_id = parse_task_id(name)
    folder = str(find_task(workspace, task_id).folder)
    return facts_of(role, read_task(workspace, task_id), folder, workspace)


def _next(caller: Caller) -> str:
    # What comes next takes git, the queue and the configuration: only greetings say it.
    from sow.cli.confirming import is_somebody_there
    from sow.situation.looking import look
    from sow.situation.next_steps import next_steps
    from sow.situation.step import in_a_line
    from sow.terminal_text import printable

    now = look(caller, is_at_terminal=is_somebody_there() and not _is_agents(caller))
    lines = [printable(in_a_line(step)) for step in next_steps(now)]
    return "\n".join(lines) or NOTHING


def _is_agents(caller: Caller) -> bool:
    """Whether an agent's CLI reads it, which may have been started on a terminal."""
    return bool(caller.environ.get(env_vars.AGENT))
