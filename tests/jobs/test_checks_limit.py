"""Jobs without an agent take no agent's slot, and have a limit of their own."""

import time

from queue_cases import MANY, NOW, OTHER_WORKER, WORKER, insert

from sow.ids import JobId, WorkerId
from sow.jobs import control, leases, messages
from sow.jobs.database import Database
from sow.schema.job import Verb


def queue_both(database: Database, agents: int, checks: int) -> tuple[set[JobId], set[JobId]]:
    """Queue agents' jobs, and then checks."""
    by_agents = [insert(database, f"1{number:02}").id for number in range(agents)]
    without = [
        insert(database, f"2{number:02}", verb=Verb.CHECK, executor=None).id
        for number in range(checks)
    ]
    for job_id in (*by_agents, *without):
        leases.enqueue(database, job_id, now=NOW)
    return set(by_agents), set(without)


def claim_all(database: Database, worker: WorkerId = WORKER, **limits: int) -> set[JobId]:
    taken = set()
    limits = {"total": MANY, "own": MANY, **limits}
    while data := leases.claim(database, worker, now=time.time(), **limits):
        taken.add(messages.job_of(data))
    return {job_id for job_id in taken if job_id is not None}


def test_full_slots_leave_checks_their_own(database: Database) -> None:
    agents, checks = queue_both(database, agents=4, checks=3)
    taken = claim_all(database, total=2, checks=2)
    assert (len(taken & agents), len(taken & checks)) == (2, 2)
    assert claim_all(database, OTHER_WORKER, total=2, checks=2) == set(), "it is the project's"
    assert leases.slots_of(database, WORKER) == 2
    assert control.running_by_executor(database) == {"": 2, "claude-code": 2}


def test_many_checks_keep_no_agent_waiting(database: Database) -> None:
    agents, checks = queue_both(database, agents=2, checks=9)
    assert len(claim_all(database, total=1, own=1, checks=9) & checks) == 9
    assert len(claim_all(database, total=2, own=2, checks=9) & agents) == 1


def test_the_limit_of_one_worker_is_one_of_agents(database: Database) -> None:
    agents, checks = queue_both(database, agents=3, checks=3)
    taken = claim_all(database, own=1)
    assert (len(taken & agents), len(taken & checks)) == (1, leases.CHECKS)


def test_while_a_worker_is_short_both_sorts_count_together(database: Database) -> None:
    queue_both(database, agents=3, checks=3)
    assert len(claim_all(database, checks=3, most=2)) == 2
    assert len(claim_all(database, OTHER_WORKER, checks=3, most=3)) == 3
