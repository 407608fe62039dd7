"""`sow task`: the commands over tasks, and `sow agent task`, the agents' own form of one."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "add": LazyCommand("sow.cli.task_add:add", "Add a task."),
    "import": LazyCommand("sow.cli.task_import:import_file", "Add and change tasks by a file."),
    "export": LazyCommand("sow.cli.task_export:export", "Print the tasks as such a file."),
    "list": LazyCommand("sow.cli.task_list:list_all", "List the tasks of the project."),
    "show": LazyCommand("sow.cli.task_show:show", "Show tasks."),
    "explain": LazyCommand("sow.cli.task_output:explain", "Tell what happened in its last job."),
    "output": LazyCommand("sow.cli.task_output:output", "Print what its last job's agent said."),
    "log": LazyCommand("sow.cli.task_log:log", "Print what was done, as its agents logged it."),
    "check": LazyCommand("sow.cli.check:task_check", "Run its checks, and record how they ended."),
    "diff": LazyCommand("sow.cli.task_diff:diff", "Print what it has changed."),
    "set": LazyCommand("sow.cli.task_change:set_field", "Set one field of a task."),
    "remove": LazyCommand("sow.cli.task_remove:remove", "Remove tasks that never ran."),
    "abandon": LazyCommand("sow.cli.task_change:abandon", "Give a task up."),
    "reopen": LazyCommand("sow.cli.task_change:reopen", "Make a finished task pending again."),
}

AGENT_STATE_COMMANDS = {
    "set-status": LazyCommand("sow.cli.task_change:set_status", "Set the status of your task."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def task() -> None:
    """Add, list, show and change tasks.

    A task is named by its id, as an argument or by --id; without either
    SOW_TASK_ID is used, which sow sets for every agent.
    """


@click.group("task", cls=LazyGroup)
def agent_task() -> None:
    """Report on the task you work on."""


@agent_task.group("state", cls=LazyGroup, lazy_commands=AGENT_STATE_COMMANDS)
def agent_task_state() -> None:
    """Change the state of the task you work on."""
