"""`sow next`, and how it and `sow status` come to what they show: the look, by whoever calls.

Owns what an agent is shown that does not lead the project: what it may do itself. Which
one it is, its job's record says, as it does where a command is refused.
"""

import os
from collections.abc import Sequence

import click

from sow import env_vars
from sow.calls.caller import find_caller
from sow.cli.arguments import working_folder
from sow.cli.confirming import is_somebody_there
from sow.cli.output import echo_json_lines, json_option
from sow.errors import StateError
from sow.situation.looking import look
from sow.situation.next_steps import next_steps
from sow.situation.situation import Reader, Situation
from sow.situation.step import Step, in_a_line
from sow.terminal_text import printable

NO_FOLDER = "sow init"
"""What the error names that is raised where there is no `.sow` folder."""


def look_here(*, closely: bool = False) -> Situation:
    """Return how things stand where this command is called, by `look`."""
    if env_vars.JOB_ID in os.environ:
        from sow.calls.recorded_agent import agent_by_record  # of agents alone

        agent_by_record(os.environ)
    try:
        caller = find_caller(os.environ, working_folder())
    except StateError as error:
        if NO_FOLDER in (error.hint or ""):
            return Situation(reader=Reader())
        raise
    return look(caller, is_at_terminal=is_somebody_there(), closely=closely)


def steps_here(now: Situation) -> Sequence[Step]:
    """Return what comes next for whoever calls."""
    if env_vars.JOB_ID not in os.environ:
        return next_steps(now)
    from sow.agents.rights import calling_agent  # of agents alone

    agent = calling_agent(os.environ)
    if agent is None or agent.orchestrates:
        return next_steps(now)
    from sow.situation.project_steps import own_steps  # likewise

    own = next((task for task in now.tasks if task.id == agent.task_id), None)
    is_step = agent.role == env_vars.STEP_ROLE
    return [] if own is None or is_step else own_steps(own, reviews=agent.reviews)


@click.command("next")
@json_option
def show_next(as_json: bool) -> None:
    """Print what to do next, one command a line, the most sensible first.

    Each is right at this moment: run the first, then ask again. What stands in
    <…> is yours to fill in; what follows # says why. A line that begins with #
    is for a person: ask one to run its command in a terminal.
    """
    steps = steps_here(look_here())
    if as_json:
        # A person's lines need no forms.
        from sow.situation.view import step_view

        echo_json_lines(map(step_view, steps))
        return
    for step in steps:
        click.echo(printable(in_a_line(step)))
