"""Who the agent of a call is by its job's record, whatever its variables say.

Owns that the record decides where there is one. It is asked before what agents of
certain roles alone may do, and where an agent is told what it may do and how (`sow next`,
`sow prompt`, `sow mcp`); not before what every agent may: an agent logs all the time.
"""

from collections.abc import MutableMapping
from contextlib import closing
from pathlib import Path

from sow import env_vars
from sow.agents.rights import CallingAgent, calling_agent
from sow.errors import SowError
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.lifecycle.stages import WHOLE_PHASE
from sow.paths import Workspace
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.state.authors import LONGEST_NUMBER


def by_record(agent: CallingAgent, environ: MutableMapping[str, str]) -> CallingAgent:
    """Return the calling agent as its job's record has it; without one, as its variables do.

    The variables are put right, so that what the call writes names the same. What the
    repository's own command lines run in an agent's job is not that agent's.
    """
    job = _recorded(environ) if agent.role != env_vars.STEP_ROLE else None
    if job is None:
        return agent
    kind = kind_of(job)
    role = job.agent if kind.is_agents else env_vars.STEP_ROLE
    # A review of the whole is a task like others; its agent is held to be what it says.
    of_whole = agent.of_whole and job.phase == WHOLE_PHASE
    reviews = kind.judges or of_whole
    found = CallingAgent(job.task_id or agent.task_id, role, reviews=reviews, of_whole=of_whole)
    if found != agent:
        environ[env_vars.AGENT] = found.role
        environ[env_vars.TASK_ID] = found.task_id
        whole = env_vars.REVIEWS_WHOLE if found.of_whole else "1"
        environ[env_vars.REVIEW] = whole if found.reviews else ""
    return found


def agent_by_record(environ: MutableMapping[str, str]) -> CallingAgent | None:
    """Return the agent that calls, by its job's record where there is one; None for a person."""
    agent = calling_agent(environ)
    return by_record(agent, environ) if agent is not None else None


def _recorded(environ: MutableMapping[str, str]) -> Job | None:
    """Return the job whose agent calls; None where it is on no record that can be read."""
    number = environ[env_vars.JOB_ID]
    if len(number) > LONGEST_NUMBER:
        return None
    try:
        database = open_existing_queue(Workspace(Path(environ[env_vars.ROOT])))
        if database is None:
            return None
        with closing(database):
            return jobs.get_job(database, JobId(int(number)))
    except SowError:
        return None
