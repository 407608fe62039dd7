"""Links put in the way while commands work: nothing outside of the repository ever changes."""

import os
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from proving import drawn, hand_in, one_in, rounds
from refs.ref_site import RefSite
from refs.refs_storm import forked
from refs.refs_swapped import SwapStorm, without_links
from refs.remotes import Remote
from refs.swapped_steps import SteppedCommand
from refs.swapping import make_canary, snapshot
from small_process import done_in_small_process


def storm_of(tmp_path: Path, home: Path, seed: int, ends: int) -> SwapStorm:
    """Let a storm pass, and see that it has left nothing wrong."""
    remotes = [Remote.begun(tmp_path / "remotes" / name) for name in ("one", "two")]
    site = RefSite.begun(tmp_path / "here")
    for remote in remotes:
        site.good("refs", "add", remote.url)
    canary = make_canary(home / "canary")
    before = snapshot(canary)
    begun = SwapStorm(seed, tmp_path, site, remotes, canary, ends)
    storm = done_in_small_process(begun.passed)
    print(f"swaps of seed {seed}: {storm.swaps}, ends {dict(storm.ends)}")
    assert snapshot(canary) == before
    assert storm.wrongs == []
    for remote in remotes:
        ended = site.sow("refs", "add", remote.url)
        if "not of sow's making" in ended.err:  # a copy that was swapped when its mark went
            site.link(remote.path.name).rename(tmp_path / f"moved-{remote.path.name}")
            site.good("refs", "add", remote.url)
    site.good("refs", "init")
    for remote in remotes:
        assert (site.link(remote.path.name) / "docs/style.md").read_text() == "Be brief.\n"
    listed = site.lines("refs", "list")
    assert {each["presence"] for each in listed} == {"linked"}
    names = {path.name for path in site.link("").iterdir()}
    assert names - {".copy-one", ".copy-two"} == {"one", "two", "index.yaml"}
    return storm


@pytest.mark.slow
def test_links_put_in_the_way_lead_nothing_outside(tmp_path: Path, poisoned_home: Path) -> None:
    storm = storm_of(tmp_path, poisoned_home, 5, 40)
    assert storm.ends["done"]


@pytest.mark.storm
@pytest.mark.parametrize("seed", drawn(3, 17, 29, 43))
def test_a_storm_of_links_leads_nothing_outside(
    tmp_path: Path, poisoned_home: Path, seed: int
) -> None:
    storm = storm_of(tmp_path, poisoned_home, seed, rounds(400, 60))
    hand_in("links in the way of references", seed, {"swaps": storm.swaps, **storm.ends})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "makes_links"),
    one_in(8, list(product(("add", "update", "init", "remove"), (True, False)))),
)
@pytest.mark.parametrize("seed", drawn(2, 13, 37))
def test_a_link_put_in_the_way_at_any_step_leads_nothing_outside(
    tmp_path: Path, poisoned_home: Path, verb: str, makes_links: bool, seed: int
) -> None:
    remote = Remote.begun(tmp_path / "remotes" / "one")
    RefSite.begun(tmp_path / "other").good("refs", "add", remote.url)
    site = RefSite.begun(tmp_path / "here")
    before = None if makes_links else without_links
    words = {"add": ("add", remote.url), "remove": ("remove", "one")}.get(verb, (verb,))
    if verb != "add":
        with_or_without_links(site, ("add", remote.url), before)
    if verb == "init":
        with_or_without_links(site, ("remove", "one"), before)
        site.index.write_text(f"references:\n- id: one\n  source: {remote.url}\n  link: one\n")
    remote.write("README.md", "Second.\n")
    remote.commit("Second")
    command = SteppedCommand(site, make_canary(poisoned_home / "canary"), words, before)
    wrongs = done_in_small_process(partial(command.all_wrongs, seed))
    assert len(wrongs) > 10
    assert [each for each in wrongs if each] == []
    how = "links" if makes_links else "copies"
    hand_in(f"links in the way of refs {verb}, {how}", seed, {"steps": len(wrongs)})


def with_or_without_links(
    site: RefSite, words: tuple[str, ...], before: Callable[[], None] | None
) -> None:
    """Run a command in a process of its own, which may be one that cannot make links."""
    pid = forked(site, words, site.root.with_name("output"), before)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
