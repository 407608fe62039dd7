"""The real `gh`, against the little GitHub on a socket, in a namespace without a network.

CI has no `gh`. `pytest -m gh tests/with_github` runs this wherever one is installed, and shows that
the stand-in says what the real one says.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from with_github.github_site import GithubSite
from with_github.rest import opened

pytestmark = pytest.mark.gh
SERVER = Path(__file__).with_name("rest_server.py")
REAL = shutil.which("gh")
UNSHARE = shutil.which("unshare")
ASKED = [
    ("repos/{owner}/{repo}",),
    ("repos/octo/no",),
    ("repos/octo/app/issues/99",),
    ("--bogus", "user"),
    ("--paginate", "repos/octo/app/issues?state=all&per_page=100"),
]
STATUSES = [(401, "Bad credentials"), (403, "API rate limit exceeded"), (429, "x"), (502, "y")]


class RealSite(GithubSite):
    """A site whose `gh` is the real one, behind a launcher that takes the network from it."""

    def __init__(self, folder: Path, socket: Path) -> None:
        super().__init__(folder)
        settings = folder / "gh"
        settings.mkdir()
        (settings / "config.yml").write_text(f"http_unix_socket: {socket}\n")
        shutil.move(folder / "bin/gh", folder / "bin/stand-in")
        launcher = folder / "bin/gh"
        launcher.write_text(f'#!/bin/sh\nexec {UNSHARE} -rn {REAL} "$@"\n')
        launcher.chmod(0o755)
        self.stand_in = folder / "bin/stand-in"
        self.real = launcher
        self.environment.update(GH_CONFIG_DIR=str(settings), GH_TOKEN="dummy")

    def ask(self, program: Path, *words: str, **more: str) -> tuple[int, str, str]:
        """Run either `gh`, and return its ending: code, output, and the first line of complaint."""
        done = subprocess.run(
            [str(program), "api", *words],
            cwd=self.root,
            env={**self.environment, "GH_PROMPT_DISABLED": "1", **more},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.partition("\n")[0]


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealSite]:
    if REAL is None or UNSHARE is None:
        pytest.skip("left out: there is no gh here (Debian: apt install gh), or no unshare")
    socket = tmp_path / "s"
    site = RealSite(tmp_path, socket)
    tried = subprocess.run([UNSHARE, "-rn", "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip("left out: this machine grants no network namespace")
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(socket), str(site.data)], stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield site
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_the_stand_in_says_what_it_says(real: RealSite, words: tuple[str, ...]) -> None:
    assert real.ask(real.stand_in, *words) == real.ask(real.real, *words)


@pytest.mark.parametrize(("status", "message"), STATUSES)
def test_it_tells_of_a_status_as_the_stand_in_does(
    real: RealSite, status: int, message: str
) -> None:
    real.change_github(status=status, message=message)
    assert real.ask(real.stand_in, "user") == real.ask(real.real, "user")


def test_without_a_login_or_a_remote_they_say_the_same(real: RealSite) -> None:
    place = "repos/{owner}/{repo}"
    real.environment.pop("GH_TOKEN")
    assert real.ask(real.real, place) == real.ask(real.stand_in, place, SOW_TEST_GH="not logged in")
    real.environment["GH_TOKEN"] = "dummy"
    real.git("remote", "set-url", "origin", "https://gitlab.example/o/r.git")
    assert real.ask(real.real, place) == real.ask(real.stand_in, place)
    real.git("remote", "remove", "origin")
    assert real.ask(real.real, place) == real.ask(real.stand_in, place)


def test_without_a_network_it_says_so(real: RealSite) -> None:
    (Path(real.environment["GH_CONFIG_DIR"]) / "config.yml").write_text("version: 1\n")
    code, _, complaint = real.ask(real.real, "user")
    assert (code, complaint) == real.ask(real.stand_in, "user", SOW_TEST_GH="no network")[::2]
    ended = real.run("pr", "status")
    assert (ended.code, "GitHub cannot be reached" in ended.err) == (4, True)


def test_units_issues_and_a_pull_request_go_through_it(real: RealSite) -> None:
    real.breakdown()
    for number in range(1, 130):
        real.open_issue(number, title="@noise", body="x")
    made = real.row("project", "publish", "--to", "github", "--label", "sow")
    assert [each["number"] for each in made["issues"]] == [130, 131]
    for unit in ("010", "020"):
        real.sow("task", "set", unit, "metadata.issue", "")
    again = real.row("project", "publish", "--to", "github")
    assert [(each["number"], each["is_new"]) for each in again["issues"]] == [
        (130, False),
        (131, False),
    ]
    real.sow("project", "abandon")
    real.commit("units")
    real.push("main")
    real.finished()
    assert real.row("pr", "create")["is_new"] is True
    assert real.row("pr", "create")["is_new"] is False
    assert real.row("pr", "status")["state"] == "open"
    real.sow("project", "new", "--from-issue", "130")
    assert real.row("project", "status")["name"] == "Second"


def test_a_validation_is_told_with_its_words(real: RealSite) -> None:
    real.finished()
    with opened(real.data) as data:
        data["branches"]["octo/app:main"] = data["branches"]["octo/app:topic"]
    pull = '{"head": "octo:topic", "base": "main", "title": "x", "body": "", "draft": false}'
    file = real.root.parent / "pull.json"
    file.write_text(pull)
    words = ("--method", "POST", "--input", str(file), "repos/octo/app/pulls")
    assert real.ask(real.stand_in, *words) == real.ask(real.real, *words)
    ended = real.run("pr", "create")
    assert (ended.code, "No commits between main and topic" in ended.err) == (4, True)
    assert os.environ.get("GH_TOKEN") is None
