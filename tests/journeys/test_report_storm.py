"""A storm of reports, and of kills of those who take them: what was taken is there, and once."""

import pytest
from journeys.report_storm import ReportStorm
from journeys.site import Site
from proving import FOLDER, drawn, hand_in, need_enough

pytestmark = pytest.mark.storm

AGENTS, REPORTS, KILLS = (6, 15, 20) if FOLDER else (3, 12, 5)
FEWEST = 5 if FOLDER else 3
"""How many kills a storm must come to."""
LONGEST_SECONDS = 3600.0


@pytest.mark.one_of("storms inside of sandboxes")
@pytest.mark.parametrize("seed", drawn(*range(401, 409)))
def test_a_storm_of_reports_loses_none_and_carries_none_out_twice(site: Site, seed: int) -> None:
    storm = ReportStorm(site, seed, agents=AGENTS, reports=REPORTS, kills=KILLS)
    storm.run(LONGEST_SECONDS)
    broken = storm.broken()
    facts = storm.facts(broken)
    print(f"the storm of reports, seed {seed}: {facts['reports']} entries, {dict(storm.kills)},")
    print(f"{storm.stops} stops, {dict(storm.hostile)} in {facts['seconds']} s")
    print("\n".join(broken))
    hand_in("storm of reports", seed, facts)
    assert broken == []
    killed = storm.kills.total()
    need_enough(killed >= FEWEST, f"{killed} of {FEWEST} kills")
