"""A storm over three hosts: nothing is lost, nothing runs twice at the same time, all ends once.

Two controls show that it can fail: without the end of agents whose lease ends, two agents of a task
are seen at the same time; without the lock at the claim, more agents run than may.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts.fleet import Fleet, open_fleet
from hosts.storm import FREEZING, STRIKES, Plan, Storm, Verdict
from hosts.storm_worker import NO_LOCK, NO_SELF_FENCING, WHOLE
from proving import drawn, hand_in, need_enough, rounds

pytestmark = [
    pytest.mark.storm,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
]
SEEDS = range(301, 311)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with open_fleet(tmp_path) as fleet:
        yield fleet


def passed(name: str, fleet: Fleet, plan: Plan) -> Verdict:
    """Let a storm pass, show what it has come to, and hand that in."""
    verdict = Storm(fleet, plan).run()
    print(f"storm over {name}, seed {plan.seed}: {verdict.table()}")
    print("\n".join(verdict.broken))
    hand_in(f"storm over {name}", plan.seed, verdict.facts)
    return verdict


@pytest.mark.parametrize("seed", drawn(*SEEDS))
def test_a_storm_over_hosts_loses_nothing_and_runs_nothing_twice_at_the_same_time(
    fleet: Fleet, seed: int
) -> None:
    plan = Plan(
        seed,
        jobs=rounds(40, 12),
        longest=rounds(16, 6),
        strikes=rounds(5, 1),
        server_strikes=rounds(3, 1),
        kinds=(*STRIKES, FREEZING),
    )
    verdict = passed("hosts", fleet, plan)
    assert verdict.broken == []
    need_enough(verdict.strikes.total() >= rounds(15, 3), dict(verdict.strikes))


def cut_off(seed: int, worker: str) -> Plan:
    """One host is cut off, with agents that work for longer than their leases last.

    The others have room for all that it has: what they take over begins while those still work.
    """
    return Plan(
        seed,
        jobs=9,
        concurrency=9,
        struck=("host_a",),
        kinds=("cut off",),
        strikes=1,
        server_strikes=0,
        lease=6.0,
        shortest=24.0,
        longest=26.0,
        worker=worker,
    )


@pytest.mark.one_of("what shows storms over hosts")
def test_a_storm_without_self_fencing_sees_agents_of_a_task_side_by_side(fleet: Fleet) -> None:
    verdict = passed("hosts without self-fencing", fleet, cut_off(1, NO_SELF_FENCING))
    assert [each for each in verdict.broken if each.startswith("doubled: ")] != []


def many_claims(worker: str) -> Plan:
    """Short jobs, of which two may run at the same time on all hosts together."""
    return Plan(
        1,
        jobs=24,
        limit=2,
        shortest=0.4,
        longest=0.8,
        strikes=0,
        server_strikes=0,
        worker=worker,
        longest_seconds=120.0 if worker == WHOLE else 60.0,
    )


@pytest.mark.one_of("what shows storms over hosts")
@pytest.mark.parametrize("worker", [NO_LOCK, WHOLE])
def test_a_limit_holds_over_hosts_by_the_lock_at_the_claim_alone(fleet: Fleet, worker: str) -> None:
    storm = Storm(fleet, many_claims(worker))
    verdict = storm.run()
    print(f"{worker}: {verdict.table()}; at most {storm.most_leases} at once")
    print("\n".join(verdict.broken))
    if worker == NO_LOCK:
        assert storm.most_leases > 2
    else:
        assert storm.most_leases == 2
        assert verdict.broken == []
