"""Two repositories, ten processes, SIGKILLs: no broken clone, no lost entry."""

import os
import subprocess
from pathlib import Path

import psutil
import pytest
from journeys.site import wait_until
from proving import drawn, hand_in, rounds
from refs.ref_site import RefSite, cached_folders
from refs.refs_storm import BOTH, RefsStorm
from refs.remotes import Remote
from small_process import done_in_small_process

pytestmark = pytest.mark.storm

KILLS, ENDS = rounds(40, 9), rounds(30, 6)


@pytest.mark.parametrize("seed", drawn(7, 19, 31, 53))
def test_a_storm_of_kills_breaks_no_clone_and_loses_no_entry(tmp_path: Path, seed: int) -> None:
    remotes = [Remote.begun(tmp_path / "remotes" / name) for name in ("one", "two")]
    for remote in remotes:
        for name in BOTH:
            remote.write(name, "0\n")
        remote.commit("Same")
    sites = [RefSite.begun(tmp_path / name) for name in ("here", "there")]
    begun = RefsStorm(seed, tmp_path, sites, remotes, KILLS, ENDS)
    storm = done_in_small_process(begun.passed)
    wait_until(lambda: not gits_in_the_cache(), "the gits of the dead end", seconds=120)
    print(f"refs storm {seed}: kills {dict(storm.kills)}, ends {dict(storm.ends)}")
    assert storm.torn == []
    for site in sites:
        index = {each["reference"] for each in site.lines("refs", "list")}
        assert {name for root, name in storm.added if root == site.root} <= index
        site.good("refs", "init")
        site.good("refs", "update")
        for remote in remotes:
            link = site.link(remote.path.name)
            if remote.path.name in index:
                assert files_below(link) == files_of(remote)
            assert f"{remote.path.name}-docs" not in index or (
                files_below(site.link(f"{remote.path.name}-docs")) == files_of(remote, "docs/")
            )
        standing = {each["standing"] for each in site.lines("refs", "status")}
        assert standing <= {"current"}
        names = {path.name for path in (site.root / ".sow/refs").iterdir()}
        assert names == index | {"index.yaml"}
    sites[0].good("refs", "prune")
    for folder in cached_folders():
        assert {path.name for path in folder.iterdir()} == {
            "repository.git",
            "trees",
            "record.json",
        }
        assert not list(folder.rglob(".draft-*"))
        assert fsck(folder / "repository.git") == 0
    kinds = dict(storm.kills)
    hand_in("references", seed, {"kills of refs": kinds, "ends": storm.ends.total()})


def gits_in_the_cache() -> list[int]:
    """Return the gits that work in the cache."""
    root = str(Path(os.environ["HOME"]) / ".cache")
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["name"] == "git" and (process.info["cwd"] or "").startswith(root):
            found.append(process.pid)
    return found


def files_below(top: Path) -> dict[str, str]:
    """Return the files of a link, and what they hold."""
    real = top.resolve(strict=True)
    paths = [path for path in real.rglob("*") if path.is_file()]
    return {str(path.relative_to(real)): path.read_text() for path in paths}


def files_of(remote: Remote, folder: str = "") -> dict[str, str]:
    """Return the files of a remote's commit."""
    names = remote.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    return {
        name.removeprefix(folder): (remote.path / name).read_text()
        for name in names
        if name.startswith(folder)
    }


def fsck(repository: Path) -> int:
    """Have git look through a repository in the cache; return its exit code."""
    environ = {**os.environ, "GIT_DIR": str(repository), "GIT_NO_LAZY_FETCH": "1"}
    words = ("git", "fsck", "--connectivity-only", "--no-dangling")
    return subprocess.run(words, cwd=repository, env=environ, check=False).returncode
