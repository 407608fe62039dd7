"""`sow task check` and `sow project check`: run the repository's checks as a job.

Owns which checks are meant: those named on the command line, else the task's
own, else the repository's default.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from sow.calls.caller import Caller
from sow.calls.request import Request
from sow.cli import completing, completing_names
from sow.cli import late_click as click
from sow.cli.arguments import id_option, named_task, this_caller
from sow.cli.call_options import WaitOptions, again_option, call_options
from sow.cli.calling import place_and_wait
from sow.config.checks import checks_of, chosen, read_repository
from sow.ids import TaskId, parse_task_id
from sow.schema.job import Verb
from sow.schema.job_terms import CheckTerms
from sow.state.tasks import read_task
from sow.terminal_text import readable


@click.command("check")
@click.argument(
    "words", metavar="[TASK] [CHECK]...", nargs=-1, shell_complete=completing_names.task_or_checks
)
@id_option
@again_option
@call_options()
def task_check(
    words: tuple[str, ...], task_option: str | None, again: bool, options: WaitOptions
) -> int:
    """Run the checks of TASK and print whether they passed.

    CHECK is a name below `checks` in .sow/config.yaml. Without one the task's
    own checks are run (`sow task set TASK checks …`), else the default ones.
    The result is recorded with the task; its status does not change.

    Exit: 0 passed, 1 a check failed, 3 the settings cannot be used, 4 refused,
    7 cancelled, 75 still running or held (`sow trust`), 130 interrupted.
    """
    has_task = bool(words) and words[0].isdecimal()
    caller = this_caller()
    named = named_task(words[0] if has_task else None, task_option, caller.environ)
    task_id = parse_task_id(named)
    task = read_task(caller.workspace, task_id)
    own = () if task.checks is UNSET else tuple(task.checks)
    names = [readable(word) for word in words[1 if has_task else 0 :]]
    return _check(caller, task_id, names or own, options, again=again)


@click.command("check")
@click.argument("names", metavar="[CHECK]...", nargs=-1, shell_complete=completing.checks)
@again_option
@call_options()
def project_check(names: tuple[str, ...], again: bool, options: WaitOptions) -> int:
    """Run the checks on the project's branch, and print whether they passed.

    CHECK is a name below `checks` in .sow/config.yaml; without one the default
    ones are run, or all if there is no default. They run in the working tree as
    it is, for no task. Refused if another branch is checked out.

    Exit: as for `sow task check`.
    """
    caller = this_caller()
    checks = checks_of(read_repository(caller.workspace.repository_config))
    meant = [readable(name) for name in names] or checks.of_project
    return _check(caller, TaskId(""), meant, replace(options, names_jobs=True), again=again)


def _check(
    caller: Caller, task_id: TaskId, names: Sequence[str], options: WaitOptions, *, again: bool
) -> int:
    path = caller.workspace.repository_config
    meant = chosen(checks_of(read_repository(path)), names, path)
    request = Request(verb=Verb.CHECK, task_id=task_id, again=again, terms=CheckTerms(names=meant))
    return place_and_wait(caller, [request], options)
