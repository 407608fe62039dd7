"""Who calls, and who may approve plans and documents, and judge the whole.

Owns who may approve: a person, and where this user's own configuration says `approve: agents`,
whoever orchestrates. It is against haste, and no wall against malice.
"""

from sow import env_vars
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.paths import display_path
from sow.schema.config import ApproveRule
from sow.state.authors import ORCHESTRATOR, Author, author_of, caller_of


def approver(caller: Caller, config: Configuration, *, at_terminal: bool) -> Author:
    """Return who approves, as it is put on record. Raises StateError."""
    author = author_of(caller.environ)
    who = who_is_no_person(caller, at_terminal=at_terminal)
    is_other_agent = caller.job_id is not None and author.agent != ORCHESTRATOR
    if who and (is_other_agent or config.approve is not ApproveRule.AGENTS):
        config_path = display_path(config.path)
        raise StateError(
            f"only a person at a terminal can approve; this call comes from {who}",
            hint="Ask the project's owner to run this command in a terminal. To let"
            " orchestrating agents approve, the owner sets `approve: agents` in"
            f" {config_path}.",
        )
    return caller_of(caller.environ, at_terminal=at_terminal)


def who_is_no_person(caller: Caller, *, at_terminal: bool) -> str:
    """Return who calls that is no person at a terminal; empty where it is one."""
    role = author_of(caller.environ).agent
    if caller.job_id is not None:
        return f"the agent of a job ({role})"
    if role == ORCHESTRATOR:
        return "an orchestrator's session"
    return "" if at_terminal else "a program without a terminal"


def refuse_override(caller: Caller, *, at_terminal: bool) -> None:
    """Raise StateError unless a person at a terminal calls."""
    who = who_is_no_person(caller, at_terminal=at_terminal)
    if who:
        raise StateError(
            f"only a person at a terminal can use --before-approval; this call comes from {who}",
            hint="Run the command again without it. If the plan is not approved yet, ask the"
            " project's owner to run `sow approve plan && sow advance` in a terminal.",
        )


def judge_of_whole(caller: Caller, config: Configuration, *, at_terminal: bool) -> Author:
    """Return who judges the whole. Raises StateError.

    An agent that was given the whole to review says what it thinks; whether
    that is enough, the guard asks.
    """
    if caller.job_id is not None and is_reviewer_of_whole(caller):
        return author_of(caller.environ)
    return approver(caller, config, at_terminal=at_terminal)


def is_reviewer_of_whole(caller: Caller) -> bool:
    """Whether the caller is the agent of a task that is a review of the whole."""
    # Only a verdict on the whole asks.
    from sow.errors import SowError
    from sow.state.tasks import read_task

    task_id = caller.environ.get(env_vars.TASK_ID, "")
    try:
        return bool(task_id) and read_task(caller.workspace, task_id).judges_whole
    except SowError:
        return False
