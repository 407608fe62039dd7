"""Agents in sandboxes in a storm of SIGKILLs: no job, report or secret is lost, nothing twice."""

from collections import Counter

import pytest
from capabilities import skip_or_fail
from journeys.sandbox_storm import SandboxStorm
from journeys.site import Site
from proving import FOLDER, drawn, hand_in, need_enough

from sow.sandbox.probe import SandboxUnavailable, usable

pytestmark = pytest.mark.storm

TASKS, KILLS, MOMENTS = (24, 90, 3) if FOLDER else (8, 16, 1)
FEWEST = 60 if FOLDER else 5
"""How many kills a storm must come to."""
LONGEST_SECONDS = 3600.0


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    try:
        usable("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


@pytest.mark.one_of("storms inside of sandboxes")
@pytest.mark.parametrize("seed", drawn(*range(301, 309)))
def test_whoever_is_killed_sandboxed_agents_lose_nothing(site: Site, seed: int) -> None:
    storm = SandboxStorm(site, seed, tasks=TASKS, kills=KILLS, moments=MOMENTS)
    storm.run(LONGEST_SECONDS)
    broken = storm.end()
    facts = storm.facts(broken)
    by_victim = Counter[str]()
    for _, victim, count in facts["kills"]:
        by_victim[victim] += count
    print(f"the storm over sandboxes, seed {seed}: {facts['jobs']} jobs, {facts['agents']} agents,")
    print(f"{storm.taken} reports, {dict(by_victim)} killed in {facts['seconds']} s")
    print("\n".join(broken))
    hand_in("storm over agents in sandboxes", seed, facts)
    assert broken == []
    killed = by_victim.total()
    need_enough(killed >= FEWEST, f"{killed} of {FEWEST} kills")
