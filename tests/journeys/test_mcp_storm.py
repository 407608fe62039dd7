"""A client of `sow mcp` that cancels its calls, or loses its server, at any moment of a call.

Two laws. An outcome whose answer the client has not got, or has cancelled, is owed to its next
call, and once. An outcome that it has got and kept is owed to nobody. A call that ends before its
job is queued has come to nothing: there is no outcome, and nothing is owed.
"""

import json
import random
import select
import signal
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from journeys.callers import await_end, good, job_of, queue
from journeys.mcp_clients import ask, calls_of, greeted, hear, say
from journeys.site import Site, wait_until
from proving import drawn, hand_in, rounds

from sow.ids import JobId
from sow.jobs import jobs, waiters
from sow.paths import Workspace
from sow.schema.job import Job, JobState

TASK = "010"
FATES = ("kept", "cancelled", "cancelled", "cancelled late", "server lost", "server lost")
DEATHS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LONGEST_SECONDS = 1.2
"""About as long as a call takes, from its request to its answer."""


class Client:
    """One client, its server, and what has become of its calls."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        self.site, self.chance = site, chance
        self.server = greeted(site)
        self.number = 100
        self.fates: Counter[str] = Counter()

    def call(self, fate: str) -> str:
        """Have a job run, let a fate come to the call, and return what has become of it."""
        self.number += 1
        if job_of(self.site, TASK) is None:  # the first call starts the worker, and is left alone
            ask(self.server, self.number, "agent_spawn", agent="implementer", tasks=[TASK])
            fate = "kept"
        else:
            ask(self.server, self.number, "agent_resume", task=TASK, prompt=f"{self.number}?")
        if fate in ("kept", "cancelled late"):
            self.hear_answers(self.number)
        else:
            self.let_pass(self.chance.uniform(0, LONGEST_SECONDS))
        if fate == "server lost":
            return self.lose_server()
        if fate != "kept":
            say(self.server, method="notifications/cancelled", params={"requestId": self.number})
            self.number += 1
            say(self.server, id=self.number, method="ping")
            self.hear_answers(self.number)
        return fate

    def let_pass(self, seconds: float) -> None:
        """Return when the answer comes, or after so long."""
        select.select([self.server.stdout], [], [], seconds)

    def hear_answers(self, number: int) -> None:
        while hear(self.server).get("id") != number:
            pass

    def lose_server(self) -> str:
        """Have the server die, and take another; return whether it had written the answer."""
        self.server.send_signal(self.chance.choice(DEATHS))
        written, _ = self.server.communicate(timeout=240)
        lines = [line for line in written.split("\n")[:-1] if '"results"' in line]
        answered = any(json.loads(line).get("id") == self.number for line in lines)
        self.server = greeted(self.site)
        return "server lost, answered" if answered else "server lost"

    def leave(self) -> None:
        self.server.kill()
        self.server.communicate()


def is_owed(site: Site, job_id: JobId) -> bool:
    with closing(queue(site)) as database:
        return waiters.is_owed(database, Workspace(site.root), job_id)


def lies_in_escrow(site: Site, job_id: JobId) -> bool:
    with closing(queue(site)) as database:
        return any(each.startswith("m") for each in waiters.of_job(database, job_id))


def was_undone(site: Site, job: Job) -> bool:
    """Whether a job was ended by its own call, which had to leave before it had queued it."""
    with closing(queue(site)) as database:
        ran = jobs.last_attempt(database, job.id) is not None
    return job.state is JobState.CANCELLED and not ran


def asked_again(site: Site) -> Any:
    return site.sow("agent", "wait", TASK, "--json", expect=None).json["owed"]


def see_to_laws(site: Site, fate: str, job_id: JobId) -> None:
    """Hold the debt of a job against what has become of its call."""
    if fate == "server lost, answered":  # whether it has struck the debt nobody can know
        asked_again(site)
    elif fate == "undone":
        assert asked_again(site) is False, fate
    elif fate == "kept":
        wait_until(lambda: not lies_in_escrow(site, job_id), "what was got is struck")
        assert asked_again(site) is False, fate
    else:
        wait_until(lambda: is_owed(site, job_id), f"{fate}: it is owed")
        assert asked_again(site) is True, fate
    assert asked_again(site) is False, f"{fate}: it is owed once"


def storm(site: Site, seed: int, calls: int) -> Counter[str]:
    """Let calls have their fates, and return how many of each there were."""
    chance = random.Random(seed)
    site.project(TASK)
    site.script([good({"shell": f"sleep 0.{chance.randrange(4)}"}) for _ in range(calls)])
    fates = [FATES[number % len(FATES)] for number in range(calls)]
    chance.shuffle(fates)
    client = Client(site, chance)
    for given in fates:
        before = job_of(site, TASK)
        fate = client.call(given)
        wait_until(lambda: not calls_of(site), "the call is over")
        job = job_of(site, TASK)
        if job is None or (before is not None and job.id == before.id):
            client.fates["came to nothing"] += 1
            continue
        if was_undone(site, await_end(site, TASK)):
            assert fate in ("cancelled", "server lost", "server lost, answered")
            fate = "undone"
        client.fates[fate] += 1
        see_to_laws(site, fate, job.id)
    client.leave()
    return client.fates


@pytest.mark.storm
@pytest.mark.parametrize("seed", drawn(4, 19, 31, 52))
def test_no_outcome_is_lost_to_a_client_and_none_told_twice(site: Site, seed: int) -> None:
    fates = storm(site, seed, rounds(24, 8))
    print(f"calls of seed {seed}: {dict(fates)}")
    assert {"kept", "cancelled late"} <= set(fates)
    early = ("cancelled", "server lost", "undone", "came to nothing")
    assert any(fates[fate] for fate in early), "some calls end before their answers"
    hand_in("calls of a client of sow mcp", seed, dict(fates))
