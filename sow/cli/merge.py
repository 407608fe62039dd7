"""`sow merge`: the work of tasks into the project's branch, as a job."""

from sow.calls.kinds.merge import merge_request
from sow.cli import completing
from sow.cli import late_click as click
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

    A task can be merged if it is completed, or if its last commit is accepted; an
    accepted task is then completed. Tasks are merged after those that they depend
    on. The clones of merged tasks are removed.

    The result is computed outside the working tree, and the check
    clones.merge_check runs on it. Then sow moves the branch, and updates the
    changed files in the working tree. If there is a conflict, a failed check, or an
    uncommitted change in a file of the merge, nothing is changed.

    --rebase leaves out merge commits and empty commits. It refuses a task if its
    rebased commits give other files than its merge.

    Exit: 0 merged, 1 the check failed, 4 a conflict or refused, 7 cancelled,
    75 still running or held (`sow trust`), 130 interrupted.
    """
    if squash and rebase:
        raise UsageError("--squash and --rebase exclude each other", hint="Give only one of them.")
    way = MergeWay.SQUASH if squash else MergeWay.REBASE if rebase else MergeWay.MERGE
    about_tasks(*tasks)
    caller = this_caller()
    named = [parse_task_id(task) for task in tasks]
    request = merge_request(caller, named, way=way, again=again)
    return place_and_wait(caller, [request], options)
