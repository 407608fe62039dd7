"""`sow merge`: the work of tasks into the project's branch, as a job."""

import click

from sow.calls.kinds.merge import merge_request
from sow.cli import completing
from sow.cli.arguments import about_tasks, this_caller
from sow.cli.call_options import WaitOptions, again_option, call_options
from sow.cli.calling import place_and_wait
from sow.errors import UsageError
from sow.ids import parse_task_id
from sow.schema.job_terms import MergeWay


@click.command()
@click.argument(
    "tasks", metavar="TASK...", nargs=-1, required=True, shell_complete=completing.tasks
)
@click.option("--squash", is_flag=True, help="Make one commit for each task.")
@click.option("--rebase", is_flag=True, help="Rebase the commits of each task.")
@again_option
@call_options()
def merge(
    tasks: tuple[str, ...], squash: bool, rebase: bool, again: bool, options: WaitOptions
) -> int:
    """Merge the work of each TASK into the project's branch: all of them, or none.

    A task is merged that is completed, or accepted at its last commit, which
    completes it. A task comes after those that it depends on. The result is
    computed beside the working tree; the check that clones.merge_check names is
    run on it, then the branch moves, and the files of the working tree that the
    merge touches follow. The clones of merged tasks are removed.

    With --rebase a task's merges and what brings nothing are left out; where
    its commits do not come to the files of its merge, it is refused.

    A conflict, a red check, and a file that is changed in the working tree
    change nothing.

    Exit: 0 merged, 1 the check is red, 4 a conflict or refused, 7 cancelled,
    75 still running or held (`sow trust`), 130 interrupted.
    """
    if squash and rebase:
        raise UsageError("--squash and --rebase exclude each other", hint="Name one of them.")
    way = MergeWay.SQUASH if squash else MergeWay.REBASE if rebase else MergeWay.MERGE
    about_tasks(*tasks)
    caller = this_caller()
    named = [parse_task_id(task) for task in tasks]
    request = merge_request(caller, named, way=way, again=again)
    return place_and_wait(caller, [request], options)
