"""`sow batch`: many tasks with one policy, driven by the workers."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "run": LazyCommand("sow.cli.batch_run:run", "Have tasks done, and wait until all have ended."),
    "list": LazyCommand("sow.cli.batch_show:list_batches", "List the batches."),
    "show": LazyCommand("sow.cli.batch_show:show", "Show where each task of a batch stands."),
    "wait": LazyCommand("sow.cli.batch_show:wait", "Wait for a batch."),
    "add": LazyCommand("sow.cli.batch_change:add", "Add tasks to a batch."),
    "remove": LazyCommand("sow.cli.batch_change:remove", "Take tasks out of a batch."),
    "pause": LazyCommand("sow.cli.batch_change:pause", "Begin nothing more of a batch."),
    "resume": LazyCommand("sow.cli.batch_change:resume", "Let a batch go on."),
    "cancel": LazyCommand("sow.cli.batch_change:cancel", "End a batch and its jobs."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def batch() -> None:
    """Have many tasks done, with one word, while nobody sits there."""
