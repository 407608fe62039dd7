"""`sow`, the installed command: nothing of the caller's can stand in for our modules."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.site import SOW, Site, make_site
from standins import read_runs

SHADOWS = ("sow", "worker", "huey", "click", "yaml", "msgspec", "json", "sqlite3", "re")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path)
    yield made
    made.close()


def lay_traps(folder: Path) -> None:
    """Put modules into a folder that end whoever imports them."""
    folder.mkdir(exist_ok=True)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text("import os\n\nos._exit(99)\n")


@pytest.mark.slow
def test_a_folder_and_a_pythonpath_full_of_our_names_change_nothing(site: Site) -> None:
    site.project("010")
    lay_traps(site.root)
    lay_traps(site.base / "modules")
    pythonpath = os.pathsep.join([str(site.base / "modules"), str(site.root)])
    site.sow("agent", "spawn", "implementer", "010", env={"PYTHONPATH": pythonpath})
    assert site.task("010")["status"] == "needs_review"


def test_the_traps_would_catch_a_command_that_walks_into_them(tmp_path: Path) -> None:
    lay_traps(tmp_path / "modules")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "modules")}
    argv = [sys.executable, "-m", "sow", "--version"]
    assert subprocess.run(argv, env=environ, capture_output=True, check=False).returncode == 99


@pytest.mark.slow
def test_the_agent_gets_the_pythonpath_of_whoever_started_its_worker(site: Site) -> None:
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010", env={"PYTHONPATH": "/nowhere/lib"})
    (run,) = read_runs(site.root)
    assert run.env["PYTHONPATH"] == "/nowhere/lib"
    assert "SOW_CALLER_PYTHONPATH" not in run.env_names


@pytest.mark.slow
def test_a_link_to_the_command_works(site: Site) -> None:
    """Installers of commands put a link into a folder on the PATH."""
    link = site.base / "bin" / "linked-sow"
    link.symlink_to(SOW)
    done = subprocess.run(
        [str(link), "--version"], env=site.env, cwd=site.base, capture_output=True, check=False
    )
    assert done.returncode == 0


def test_the_command_is_installed_from_our_own_file() -> None:
    """Not an entry point: that would import `sow` with PYTHONPATH still on the path."""
    installed = Path(sysconfig.get_path("scripts"), "sow")
    assert shutil.which("sow", path=str(installed.parent)) == str(installed)
    source = Path(__file__).parents[2] / "scripts" / "sow"
    assert installed.read_text().splitlines()[1:] == source.read_text().splitlines()[1:]


@pytest.mark.slow
def test_output_that_cannot_be_written_is_told(site: Site) -> None:
    site.project("010")
    with Path("/dev/full").open("w") as full:
        listed = site.start("task", "list", stdout=full)
        _, err = listed.communicate(timeout=240)
    assert listed.returncode == 1
    assert err.startswith("Error: cannot write to standard output: No space left on device")
