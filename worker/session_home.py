"""The configuration folder of a session's own, as a worker sees to it.

Owns when it is made, when a renewed login goes back to the user's, and when it is removed: a
session that begins has a new one, and one whose task is done is not gone on with.
"""

import os
from collections.abc import Mapping

from sow.agent_clis.description import AgentCli
from sow.attempts.homes import (
    all_homes,
    bring_login_back,
    folder_of_job,
    homes_in,
    homes_of,
    make_home,
    remove_home,
)
from sow.attempts.launch import variables_of
from sow.errors import QueueError, SowError, StateError
from sow.executors.base import Launch
from sow.ids import JobId, TaskId
from sow.jobs import jobs
from sow.schema.job import Job
from sow.state.projects import read_project
from sow.state.tasks import read_task
from sow.state.transitions import TERMINAL
from worker.context import WorkerContext, tell


def prepare_home(context: WorkerContext, job: Job, launch: Launch, *, anew: bool) -> None:
    """Make the folder of its own in which an attempt is to be launched, if it has one.

    Nothing of an earlier session is left where one begins `anew`: it would be taken for the new
    one's. Raises ExecutorError.
    """
    own = folder_of_job(context.workspace, job)
    return_login(context, job)  # whoever should have done so may have been killed
    if anew and own is not None:
        remove_home(own)
    if launch.home is not None:
        make_home(
            launch.home,
            job.agents_executor,
            _environment(context, job),
            launch.home_files,
            launch.home_links,
        )


def warm_home(
    context: WorkerContext, job: Job, launch: Launch, cli: AgentCli, *, anew: bool
) -> None:
    """Let a CLI make its store in the home of a launch, where it is not there: it does that alone.

    It runs outside of any sandbox, so not in a home in which a sandboxed agent has been.
    """
    if job.agents_executor.is_sandboxed and not anew:
        return
    # Few CLIs need it.
    from sow.attempts.warm_up import warm_up

    if words := warm_up(cli, job, launch, context.environ):
        tell(job, words)


def return_login(context: WorkerContext, job: Job) -> None:
    """Bring a login that the agent's CLI has renewed back to the user's folder, if it is there."""
    folder = folder_of_job(context.workspace, job)
    if folder is None or not folder.is_dir():
        return
    try:
        environ, now = _environment(context, job), context.now()
        for path in bring_login_back(folder, job.agents_executor, environ, now):
            tell(job, f"its CLI has renewed its login; {path} has it now")
    except (OSError, SowError) as error:
        tell(job, f"a renewed login cannot be brought back now: {error}")


def sweep_homes(context: WorkerContext) -> None:
    """Remove the folders of sessions that nobody goes on with: their task is done, or gone."""
    if not os.path.isdir(all_homes()):  # noqa: PTH112 - asked for at each rest
        return
    try:
        homes = homes_of(context.workspace, read_project(context.workspace).id)
    except SowError:  # no project is checked out: nothing is known of its tasks
        return
    for whose in homes_in(homes) if homes.is_dir() else ():
        if _is_over(context, whose.name):
            remove_home(whose)


def _is_over(context: WorkerContext, whose: str) -> bool:
    kind, _, name = whose.partition("-")
    if kind == "review" and name.isdecimal():
        try:
            return jobs.get_job(context.database, JobId(int(name))).state.is_final
        except jobs.UnknownJob:
            return True
        except QueueError:
            return False  # nobody can tell now: its reviewer may be at work
    try:
        return read_task(context.workspace, TaskId(name)).status in TERMINAL
    except StateError:
        return not any(context.workspace.phases.glob(f"*/tasks/{name}"))


def _environment(context: WorkerContext, job: Job) -> Mapping[str, str]:
    return variables_of(job, context.environ)
