"""What may go wrong with `gh`: each is told in words, with the remedy and the exit code."""

from pathlib import Path

import pytest
from with_github.github_site import GithubSite

from sow.errors import StateError
from sow.github.run import gh

pytestmark = pytest.mark.slow

FAULTS = {
    "not logged in": ("not logged in", "gh auth login"),
    "no network": ("cannot be reached", "error connecting to api.github.com"),
    "too old": ("gh 2.23.0 is too old", "2.20 or newer"),
    "malformed": ("cannot be read", "gh api user"),
    "another form": ("cannot be read", "Expected `str`"),
    "silent": ("was refused", "exit code 1"),
    "killed": ("ended by signal 9 during the repository of this folder's remotes", "call again"),
    "prints without end": ("printed more than 64 MB for", "gh --version"),
    "complains without end": ("printed more than 64 MB for", "gh --version"),
}
STATUSES = [
    (401, "Bad credentials", "not logged in", "gh auth login"),
    (403, "API rate limit exceeded for user ID 1.", "takes no more requests", "rate_limit"),
    (403, "You have exceeded a secondary rate limit", "takes no more requests", "not done twice"),
    (429, "Too many", "takes no more requests", "Wait"),
    (403, "Resource not accessible by integration", "was refused", "not accessible"),
    (404, "Not Found", "GitHub has no", "gh auth status"),
    (451, "Unavailable", "was refused", "Unavailable"),
    (502, "Bad gateway", "cannot be reached", "call again"),
]
COMMANDS = [
    ("pr", "status"),
    ("project", "new", "--from-issue", "12"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_told_with_its_remedy(site: GithubSite, fault: str, command) -> None:
    ended = site.run(*command, gh=fault)
    assert ended.code == 4
    assert all(words in ended.err for words in FAULTS[fault])
    assert not site.workspace.project.exists()


@pytest.mark.parametrize(("status", "message", "words", "hint"), STATUSES)
def test_each_status_is_told(site: GithubSite, status: int, message: str, words, hint) -> None:
    site.change_github(status=status, message=message)
    ended = site.run("pr", "status")
    assert ended.code == 4
    assert words in ended.err
    assert hint in ended.err


def test_without_gh_it_says_how_to_get_it(tmp_path: Path) -> None:
    ended = GithubSite(tmp_path, has_gh=False).run("pr", "status")
    assert ended.code == 4
    assert "not installed" in ended.err
    assert "apt install gh" in ended.err


def test_a_gh_that_the_machine_does_not_start_is_not_called_missing(tmp_path: Path) -> None:
    site = GithubSite(tmp_path, has_gh=False)
    (tmp_path / "bin/gh").write_bytes(b"\x7fELF of another machine")
    (tmp_path / "bin/gh").chmod(0o755)
    ended = site.run("pr", "status")
    assert (ended.code, "gh cannot be started: exec format error" in ended.err) == (4, True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["remote", "remove", "origin"], "no git remotes found"),
        (["remote", "set-url", "origin", "https://gitlab.example/o/r.git"], "none of the git"),
    ],
)
def test_without_a_remote_of_github_it_says_so(site: GithubSite, words, complaint: str) -> None:
    site.git(*words)
    ended = site.run("pr", "status")
    assert ended.code == 4
    assert "no repository of GitHub is known here" in ended.err
    assert complaint in ended.err
    assert "--repo OWNER/NAME" in ended.err


def test_a_repository_that_is_not_there_is_named(site: GithubSite) -> None:
    ended = site.run("pr", "status", "--repo", "octo/no")
    assert (ended.code, "no repository octo/no" in ended.err) == (4, True)


@pytest.mark.parametrize("name", ["app", "a/b/c/d", "--help/x", "o/..", "o/r?x", "", "o/r r"])
def test_what_is_no_name_of_a_repository_is_refused(site: GithubSite, name: str) -> None:
    ended = site.run("pr", "status", f"--repo={name}")
    assert ended.code == (2 if name else 4)  # an empty one is none
    assert ("is no name of a repository" in ended.err) is bool(name)


def test_a_gh_that_hangs_is_ended_with_all_that_it_started(site: GithubSite) -> None:
    environment = {**site.environment, "SOW_TEST_GH": "hangs"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", site.environment["PATH"])
        with pytest.raises(StateError, match=r"the weather was not answered within 0.5 s"):
            gh(site.root, "api", "user", what="the weather", seconds=0.5, environ=environment)
