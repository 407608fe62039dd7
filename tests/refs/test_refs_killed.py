"""Killed before each of its writes, a call leaves nothing broken, and the next one completes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from refs.ref_site import RefSite
from refs.remotes import Remote

pytestmark = pytest.mark.slow  # process after process

PROGRAM = Path(__file__).with_name("refs_killed.py")


@pytest.mark.one_of
@pytest.mark.parametrize("verb", ["add", "update"])
def test_it_may_be_killed_at_any_write(site: RefSite, remote: Remote, verb: str) -> None:
    if verb == "update":
        site.good("refs", "add", str(remote.path))
        remote.write("README.md", "Second.\n")
        remote.commit("Second")
    argv = (sys.executable, "-P", str(PROGRAM), verb, str(remote.path), str(site.root))
    done = subprocess.run(argv, env=dict(os.environ), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) > 10
    assert not runs[-1]["died"]
    assert [run for run in runs if run["wrong"]] == []
