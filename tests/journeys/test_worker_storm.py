"""Storms of SIGKILLs (§9): "0 lost, 0 run twice at the same time, 0 processes left"."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from journeys.site import Site, make_site
from journeys.storm import run_storm
from journeys.storm_plan import (
    WINDOWS_WITH_EXECUTORS,
    WINDOWS_WITH_SESSIONS,
    Plan,
    Verdict,
)
from journeys.storm_verdict import PROMISES
from proving import FOLDER, drawn, hand_in, need_enough, rounds

pytestmark = pytest.mark.storm

SMALL_SEEDS = range(10)


@pytest.mark.one_of("storms over agents")
@pytest.mark.parametrize("seed", drawn(11, 23, 47))
def test_a_storm_of_kills_loses_nothing_and_runs_nothing_twice(site: Site, seed: int) -> None:
    """ "SIGKILL storm (workers, callers, supervisors, random moments, ≥ 80 jobs)"."""
    plan = Plan(
        seed,
        plain=rounds(46, 20),
        crashing=rounds(16, 8),
        leaving=rounds(14, 7),
        cancelled=4,
        callers=8,
        workers=3,
        stops=3,
        kills=rounds(6, 3),
    )
    verdict = watched_storm("agents without sessions", site, plan)
    assert verdict.broken == []
    need_enough(plan.is_met_by(verdict.kills), dict(verdict.kills))
    need_enough(verdict.stops > 0, "no worker was stopped")


@pytest.mark.one_of("storms over agents")
@pytest.mark.parametrize("seed", drawn(*range(101, 111)))
def test_a_storm_that_kills_agents_too_leaves_every_job_done(site: Site, seed: int) -> None:
    """Agents die as well, and now and then everybody at once; whatever can go on goes on."""
    plan = Plan(
        seed,
        plain=rounds(34, 10),
        crashing=rounds(10, 4),
        leaving=rounds(10, 4),
        cancelled=4,
        mute=rounds(12, 4),
        late=rounds(10, 4),
        sessions=True,
        callers=5,
        workers=3,
        kills=rounds(12, 4),
        rate=0.5,
        fewest_in_all=rounds(200, 40),
        moments=rounds(8, 2),
        windows=WINDOWS_WITH_SESSIONS,
    )
    verdict = watched_storm("agents with sessions", site, plan)
    assert verdict.broken == []
    need_enough(plan.is_met_by(verdict.kills), dict(verdict.kills))
    need_enough(verdict.moments >= plan.moments, f"{verdict.moments} moments")


@pytest.mark.one_of("storms over agents")
@pytest.mark.parametrize("seed", drawn(*range(201, 207)))
def test_a_storm_over_many_clis_mixes_up_no_session_and_tears_no_home(
    site: Site, seed: int
) -> None:
    """Five CLIs with homes of their own and an agent over ACP; two play each role."""
    plan = Plan(
        seed,
        plain=rounds(12, 4),
        crashing=rounds(10, 3),
        leaving=rounds(8, 2),
        cancelled=rounds(7, 2),
        mute=rounds(8, 3),
        late=rounds(8, 3),
        moving=rounds(14, 5),
        limited=rounds(6, 1),
        renewing=rounds(14, 5),
        executors=True,
        sessions=True,
        callers=7,
        workers=2,
        kills=rounds(10, 2),
        forks=rounds(10, 2),
        rate=0.5,
        fewest=rounds(5, 1),
        fewest_in_all=rounds(120, 20),
        moments=rounds(6, 1),
        windows=WINDOWS_WITH_EXECUTORS,
    )
    verdict = watched_storm("many CLIs", site, plan)
    assert verdict.broken == []
    need_enough(plan.is_met_by(verdict.kills), dict(verdict.kills))


def watched_storm(name: str, site: Site, plan: Plan) -> Verdict:
    """Let a storm pass, show its kills, and hand in what it has come to."""
    begun = time.monotonic()
    verdict = run_storm(site, plan)
    print(f"kills of the storm over {name}, seed {plan.seed}\n{verdict.table()}")
    print("\n".join(verdict.broken))
    facts = {
        "jobs": verdict.jobs,
        "agents": verdict.agents,
        "kills": [
            [window, victim, verdict.kills[window, victim]]
            for window in verdict.windows
            for victim in verdict.victims
        ],
        "moments": verdict.moments,
        "stops": verdict.stops,
        "broken": {each: count_of(each, verdict.broken) for each in PROMISES},
        "seconds": round(time.monotonic() - begun),
    }
    hand_in(f"storm over {name}", plan.seed, facts)
    return verdict


def count_of(promise: str, broken: list[str]) -> int:
    return sum(sentence.startswith(f"{promise}:") for sentence in broken)


def without_recovery(seed: int) -> Plan:
    """Workers die, and what they leave stays where it is."""
    windows = ("claimed", "recorded", "running")
    return Plan(
        seed, plain=10, kills=1, windows=windows, quick_report=True, patience=3.0, recovery=False
    )


def without_fencing(seed: int) -> Plan:
    """Workers stop before they write down a crash, and go on when the job has ended long since."""
    return Plan(
        seed,
        crashing=8,
        windows=(),
        odds=1.0,
        stops=2,
        quick_report=True,
        patience=10.0,
        fencing=False,
    )


def without_session_law(seed: int) -> Plan:
    """Agents crash and are killed, again and again, before they have said a word."""
    return Plan(
        seed,
        mute=4,
        sessions=True,
        windows=("opening",),
        kills=4,
        patience=10.0,
        session_law=False,
    )


SMALL_PLANS = [without_recovery, without_fencing, without_session_law]


@pytest.mark.one_of("small storms")
@pytest.mark.parametrize("make_plan", drawn(*SMALL_PLANS))
def test_a_storm_notices_what_is_switched_off(
    tmp_path: Path, make_plan: Callable[[int], Plan]
) -> None:
    """ "with recovery or fencing switched off it fails in at least 9 of 10 seeds"."""
    chosen = SMALL_SEEDS if FOLDER else SMALL_SEEDS[:1]
    broken = [bool(small_storm(tmp_path / f"{seed}", make_plan(seed))) for seed in chosen]
    print(f"storms {make_plan.__name__}: {sum(broken)} of {len(chosen)} fail, as they must")
    facts = {"storms": len(chosen), "noticed": sum(broken)}
    hand_in(make_plan.__name__.replace("_", " "), len(chosen), facts)
    assert sum(broken) >= 0.9 * len(chosen), broken


@pytest.mark.one_of("small storms")
@pytest.mark.parametrize("make_plan", drawn(*SMALL_PLANS))
def test_the_same_storm_with_all_switched_on_breaks_nothing(
    tmp_path: Path, make_plan: Callable[[int], Plan]
) -> None:
    for seed in drawn(*SMALL_SEEDS[:2]):
        whole = {"recovery": True, "fencing": True, "session_law": True}
        plan = replace(make_plan(seed), **whole, patience=60.0)
        assert small_storm(tmp_path / f"{seed}", plan) == []


def small_storm(base: Path, plan: Plan) -> list[str]:
    """Return the promises that a storm breaks in a place of its own."""
    base.mkdir()
    site = make_site(base, forks=False)
    try:
        return run_storm(site, plan).broken
    finally:
        site.close()
