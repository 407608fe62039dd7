"""Storms of SIGKILLs (§9): "0 lost, 0 run twice at the same time, 0 processes left"."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from journeys.site import Site, make_site
from journeys.storm import run_storm
from journeys.storm_plan import WINDOWS, Plan

pytestmark = [pytest.mark.storm, pytest.mark.xdist_group("storms")]  # one at a time

FEWEST = 5
"""Kills in each window of a storm."""
SEEDS = range(10)


@pytest.mark.parametrize("seed", [11, 23, 47])
def test_a_storm_of_kills_loses_nothing_and_runs_nothing_twice(site: Site, seed: int) -> None:
    """ "SIGKILL storm (workers, callers, supervisors, random moments, ≥ 80 jobs)"."""
    plan = Plan(seed, plain=46, crashing=16, leaving=14, cancelled=4, callers=8, workers=3, stops=3)
    verdict = run_storm(site, plan)
    print(f"kills of storm {seed}\n{verdict.table()}")
    assert verdict.broken == []
    assert min(verdict.in_window(window) for window in WINDOWS) >= FEWEST
    assert verdict.stops > 0


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


@pytest.mark.parametrize("make_plan", [without_recovery, without_fencing])
def test_a_storm_notices_what_is_switched_off(
    tmp_path: Path, make_plan: Callable[[int], Plan]
) -> None:
    """ "with recovery or fencing switched off it fails in at least 9 of 10 seeds"."""
    broken = [bool(small_storm(tmp_path / f"{seed}", make_plan(seed))) for seed in SEEDS]
    print(f"storms {make_plan.__name__}: {sum(broken)} of {len(SEEDS)} fail, as they must")
    assert sum(broken) >= 9, broken


@pytest.mark.parametrize("make_plan", [without_recovery, without_fencing])
def test_the_same_storm_with_all_switched_on_breaks_nothing(
    tmp_path: Path, make_plan: Callable[[int], Plan]
) -> None:
    for seed in SEEDS[:2]:
        plan = replace(make_plan(seed), recovery=True, fencing=True, patience=60.0)
        assert small_storm(tmp_path / f"{seed}", plan) == []


def small_storm(base: Path, plan: Plan) -> list[str]:
    """Return the promises that a storm breaks in a place of its own."""
    base.mkdir()
    site = make_site(base)
    try:
        return run_storm(site, plan).broken
    finally:
        site.close()
