"""A batch in a storm of SIGKILLs: all done, in order, each branch merged once, nothing left."""

import pytest
from journeys.batch_storm import BatchStorm
from journeys.site import Site
from proving import FOLDER, drawn, hand_in, need_enough

pytestmark = pytest.mark.storm

TASKS, KILLS, GITS = (20, 20, 160) if FOLDER else (8, 6, 10)
FEWEST = 150 if FOLDER else 5
"""How many kills a storm must come to: of ten seeds at least 1,500."""
LONGEST_SECONDS = 3600.0


@pytest.mark.parametrize("seed", drawn(7, 19, 31, 53, 71, 83, 97, 113, 131, 149))
def test_a_batch_is_done_whoever_is_killed(site: Site, seed: int) -> None:
    storm = BatchStorm(site, seed, tasks=TASKS, kills=KILLS, gits=GITS)
    storm.run(LONGEST_SECONDS)
    broken = list(storm.broken())
    facts = storm.facts(broken)
    print(f"kills of the storm over a batch, seed {seed}: {facts}, met {storm.hunt.met}")
    hand_in("storm over a batch", seed, facts)
    assert broken == []
    killed = sum(count for _, _, count in facts["kills"])
    need_enough(killed >= FEWEST, f"{killed} of {FEWEST} kills")
