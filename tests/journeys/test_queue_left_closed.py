"""What a command that only reads leaves of the queue: its file, and nothing beside it.

A log and its index that were left behind are looked for in every process by whoever comes next.
"""

import pytest
from journeys.site import Site
from reports.job_cases import ended_job

from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus

READING = """
job list
job list --json
job show 1
next
notify list
queue status
stats
status
task show 010
worker list
worker list --json
"""


@pytest.mark.slow
def test_a_command_that_reads_leaves_no_log_behind(site: Site) -> None:
    site.project("010")
    database = open_queue(Workspace(site.root))
    jobs.insert_job(database, ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED))
    database.close()
    assert files(site) == {"queue.db"}
    left = {}
    for words in READING.strip().splitlines():
        result = site.sow(*words.split())
        assert result.code == 0, result
        left[words] = files(site)
    assert {words: names for words, names in left.items() if names != {"queue.db"}} == {}


def files(site: Site) -> set[str]:
    return {path.name for path in site.root.glob(".sow/run/queue.db*")}
