"""The text that begins a role's prompts, as this workspace's team has it, its variables filled in.

What fills them is `sow.attempts.prompt_facts`. The names and files are `sow.prompts.library`.
"""

from sow.agents.rights import REVIEWING
from sow.paths import Workspace
from sow.prompts.library import TEMPLATE, load_prompt
from sow.schema.task import Task

REVIEWER = "reviewer"


def role_template(role: str, task: Task, location: str, workspace: Workspace | None) -> str:
    """Return the template of a role; without a workspace, or a team's folder in it, sow's own.

    `location` is the task's folder as the agent opens it. Raises BadPromptFile, UnfilledPrompt
    and, where a text names the project, what reading that raises.
    """
    name = f"{TEMPLATE}{role}"
    if workspace is None or not workspace.prompts.is_dir():
        return load_prompt(name)
    # Only a team's texts name variables; sow's own templates are the same for every task.
    from sow.attempts.prompt_facts import facts_of

    return load_prompt(name, workspace.prompts, facts_of(role, task, location, workspace))


def review_template(role: str, task: Task, location: str, workspace: Workspace | None) -> str:
    """Return the text that begins a review by that role.

    The text of a role that makes work says how one makes it, and how one reports on it: its agent
    gets the reviewer's, and is told as what it looks. Raises BadPromptFile, UnfilledPrompt.
    """
    if role in REVIEWING:
        return role_template(role, task, location, workspace)
    text = role_template(REVIEWER, task, location, workspace)
    return f"{text}\nYour role is {role}: look at the work with the eyes of that role.\n"
