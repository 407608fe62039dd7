"""What no host offers that is heard, for which a job waits in a shared queue."""

from collections.abc import Sequence

import pytest

from sow.jobs.hosts import Host, Offer, lacking


def host(*labels: str, heard: bool = True, owners: Sequence[str] | None = None) -> Host:
    offer = Offer(
        executors=("codex",),
        owners=None if owners is None else tuple(owners),
        labels=labels,
        version="1",
    )
    return Host("id", "role", "node:/srv", offer, 1.0, 1, 0, heard)


@pytest.mark.parametrize(
    ("hosts", "requires", "executor", "found"),
    [
        ([host()], [], "codex", None),
        ([host()], [], "", None),
        ([host("gpu", "linux")], ["gpu"], "codex", None),
        ([host(), host("gpu")], ["gpu"], "", None),
        ([], [], "", "no host is heard"),
        ([host("gpu", heard=False)], ["gpu"], "codex", "no host is heard"),
        ([host("gpu")], ["gpu"], "claude", "no host that is heard serves executor claude"),
        ([host(owners=["bob"])], [], "codex", "no host that is heard runs jobs of alice"),
        ([host(owners=["alice"])], [], "codex", None),
        ([host("gpu")], ["gpu", "macos"], "", "no host that is heard has the label macos"),
        ([host("gpu"), host("macos", heard=False)], ["macos"], "", "has the label macos"),
        ([host("gpu"), host("macos")], ["gpu", "macos"], "", "has all of the labels gpu, macos"),
    ],
)
def test_what_no_host_offers(
    hosts: Sequence[Host], requires: Sequence[str], executor: str, found: str | None
) -> None:
    words = lacking(hosts, executor=executor, requires=requires, owner="alice")
    assert words == found if found is None else found in (words or "")
