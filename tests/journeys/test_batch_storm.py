"""A batch in a storm of SIGKILLs: all done, in order, each branch merged once, nothing left."""

import pytest
from journeys.batch_storm import BatchStorm
from journeys.site import Site
from proving import FOLDER, hand_in, seeds

pytestmark = [pytest.mark.storm, pytest.mark.xdist_group("storms")]  # one at a time

TASKS, KILLS = (60, 60) if FOLDER else (16, 20)
LONGEST_SECONDS = 3600.0


@pytest.mark.parametrize("seed", seeds(7, 19, 31, 53, 71))
def test_a_batch_is_done_whoever_is_killed(site: Site, seed: int) -> None:
    storm = BatchStorm(site, seed, tasks=TASKS, kills=KILLS)
    storm.run(LONGEST_SECONDS)
    broken = list(storm.broken())
    killed = {f"{victim} killed": count for victim, count in sorted(storm.kills.items())}
    hand_in("storm over a batch", seed, {"tasks": TASKS, **killed, "broken": len(broken)})
    assert broken == []
    assert storm.kills.total() > 0
