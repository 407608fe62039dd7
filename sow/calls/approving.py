"""Who may approve plans and documents, and judge the whole.

Owns that rule: a person at a terminal, and where this user's own configuration
says `approve: agents`, whoever orchestrates. It is against haste, and no wall
against malice.
"""

from sow import own_variables
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.paths import display_path
from sow.schema.config import ApproveRule
from sow.state.authors import Author, author_of

ORCHESTRATOR = "orchestrator"


class NotToApprove(StateError):
    """Somebody has approved who may not."""

    def __init__(self, who: str, config_path: str) -> None:
        super().__init__(
            f"a person at a terminal approves, and this is {who}",
            hint="Ask the person whose project it is to run this command in a terminal; or they"
            f" let orchestrating agents approve: `approve: agents` in {config_path}.",
        )


def approver(caller: Caller, config: Configuration, *, at_terminal: bool) -> Author:
    """Return who approves, as it is put on record. Raises NotToApprove."""
    author = author_of(caller.environ)
    agents_may = config.approve is ApproveRule.AGENTS
    path = display_path(config.path)
    if caller.job_id is not None:
        if not agents_may or author.agent != ORCHESTRATOR:
            raise NotToApprove(f"the agent of a job ({author.agent})", path)
        return author
    if not agents_may and author.agent == ORCHESTRATOR:
        raise NotToApprove("an orchestrator's session", path)
    if not agents_may and not at_terminal:
        raise NotToApprove("no terminal", path)
    return author if at_terminal else author_of(caller.environ, otherwise=ORCHESTRATOR)


def judge_of_whole(caller: Caller, config: Configuration, *, at_terminal: bool) -> Author:
    """Return who judges the whole. Raises NotToApprove.

    An agent that was given the whole to review says what it thinks; whether
    that is enough, the guard asks.
    """
    if caller.job_id is not None and is_reviewer_of_whole(caller):
        return author_of(caller.environ)
    return approver(caller, config, at_terminal=at_terminal)


def is_reviewer_of_whole(caller: Caller) -> bool:
    """Whether the caller is the agent of a task that is a review of the whole."""
    # Only a verdict on the whole asks.
    from sow.calls.whole_review import is_review_of_whole
    from sow.errors import SowError
    from sow.state.tasks import read_task

    task_id = caller.environ.get(own_variables.TASK_ID, "")
    try:
        return bool(task_id) and is_review_of_whole(read_task(caller.workspace, task_id))
    except SowError:
        return False
