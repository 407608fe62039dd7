"""What a person is told of an agent's proxy, from the record that its forwarder has left."""

import pytest
from watch_cases import WatchSite

from worker.network_findings import refusals_of

LOST = (
    "the proxy of `network: allow` ended before the agent, which reached no host from then on; each"
    " attempt gets a new proxy"
)
EVIL = "the agent asked for evil.example, ?, which `network: allow` does not name"


@pytest.mark.parametrize(
    ("words", "warnings"),
    [
        (["evil.example", "?", "evil.example"], [EVIL]),
        (["-"], [LOST]),
        (["evil.example", "?", "-"], [EVIL, LOST]),
        ([], []),
    ],
)
def test_hosts_and_a_lost_proxy_are_told_of(
    site: WatchSite, words: list[str], warnings: list[str]
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    lines = [f"{attempt.attempt_id} {word}\n" for word in words]
    attempt.paths.refused.write_text("".join(lines))
    assert refusals_of(site.adopt(job)) == warnings
