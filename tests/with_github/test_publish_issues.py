"""Work units as issues: each once, whatever was killed, and whoever copies a marker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from journeys.json_contract import hold
from journeys.site import wait_until
from with_github.github_site import REMOTE, GithubSite
from with_github.rest import ME, opened

from sow.calls.publishing import _alone
from sow.errors import StateError

pytestmark = pytest.mark.slow
TO = ("project", "publish", "--to", "github")


def issues(site: GithubSite) -> list[dict]:
    return site.github()["issues"]


def marker(site: GithubSite, unit: str) -> str:
    return f"<!-- sow:unit {site.row('project', 'status')['project']}/{unit} -->"


def test_each_unit_becomes_an_issue_after_those_it_depends_on(site: GithubSite) -> None:
    site.breakdown()
    published = site.row(*TO, "--label", "sow")
    hold("project publish", [published])
    assert [(each["unit"], each["number"], each["is_new"]) for each in published["issues"]] == [
        ("020", 1, True),
        ("010", 2, True),
    ]
    second, first = issues(site)
    assert (second["title"], first["title"]) == ("Second", "First")
    assert second["labels"] == [{"name": "sow"}]
    assert second["body"].startswith("# Do it\n\nNow.\n\n---\n")
    assert second["body"].endswith(marker(site, "020"))
    assert "Comes after #1." in first["body"]
    shown = site.row("task", "show", "010")
    assert shown["metadata"] == {"issue": "https://github.com/octo/app/issues/2"}


def test_twice_published_is_once(site: GithubSite) -> None:
    site.breakdown()
    site.sow(*TO)
    asked = len(site.github()["requests"])
    assert "(there already)" in site.sow(*TO)
    assert len(issues(site)) == 2
    assert len(site.github()["requests"]) == asked + 1  # which repository it is
    assert site.sow("project", "publish").count(".md") == 2  # the files still say what units say


def test_a_kill_after_an_issue_was_made_makes_no_second_one(site: GithubSite) -> None:
    site.breakdown()
    for made in (1, 2):
        ended = site.run(*TO, gh="killed after it was made")
        assert (ended.code, "signal 9" in ended.err) == (4, True)
        assert len(issues(site)) == made
    published = site.row(*TO)
    assert [(each["number"], each["is_new"]) for each in published["issues"]] == [
        (1, False),
        (2, False),
    ]
    assert len(issues(site)) == 2
    assert "Comes after #1." in issues(site)[1]["body"]


def test_a_second_page_of_issues_is_looked_through(site: GithubSite) -> None:
    site.breakdown()
    site.run(*TO, gh="killed after it was made")
    for number in range(2, 150):
        site.open_issue(number, title="Noise", body="---\n<!-- sow:unit x/020 -->")
    published = site.row(*TO)
    assert [each["number"] for each in published["issues"]] == [1, 150]
    pages = [row for row in site.github()["requests"] if "&page=" in row]
    assert len(pages) >= 2


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("login", "association", "is_taken"),
    [
        ("eve", "NONE", False),
        ("eve", "CONTRIBUTOR", False),
        ("ann", "MEMBER", True),
        (ME, "NONE", True),
    ],
)
def test_a_marker_counts_only_from_who_may_write(
    site: GithubSite, login: str, association: str, is_taken: bool
) -> None:
    site.breakdown()
    body = f"Mine.\n\n{marker(site, '020')}\n"
    site.open_issue(1, login, title="Copied", body=body, association=association)
    found = {each["unit"]: each for each in site.row(*TO)["issues"]}
    assert (found["020"]["number"] == 1) is is_taken
    assert len(issues(site)) == (2 if is_taken else 3)


def test_of_several_with_one_marker_the_first_counts(site: GithubSite) -> None:
    """GitHub names the newest first."""
    site.breakdown()
    for number in (3, 5):
        site.open_issue(number, ME, title="Copied", body=marker(site, "020"))
    found = {each["unit"]: each for each in site.row(*TO)["issues"]}
    assert found["020"]["number"] == 3


def test_a_marker_that_is_quoted_is_none(site: GithubSite) -> None:
    site.breakdown()
    site.open_issue(1, ME, title="About it", body=f"Look: {marker(site, '020')}\n\nBye.")
    site.open_issue(3, ME, title="About it", body=f"Look:\n{marker(site, '020')}\n\nBye.")
    site.open_issue(2, ME, title="Of another", body="<!-- sow:unit " + "0" * 36 + "/020 -->")
    assert [each["is_new"] for each in site.row(*TO)["issues"]] == [True, True]


def test_what_was_done_before_a_refusal_stands(site: GithubSite) -> None:
    site.breakdown()
    site.sow(*TO)
    site.sow("task", "add", "Third", "--agent", "implementer", "--id", "030")
    site.sow("approve", "030")
    site.change_github(status=403, message="You have exceeded a secondary rate limit")
    assert site.run(*TO).code == 4
    site.change_github(status=None)
    assert [each["is_new"] for each in site.row(*TO)["issues"]] == [False, False, True]


def test_issues_that_are_switched_off_are_told(site: GithubSite) -> None:
    site.breakdown()
    site.change_github(repositories={"octo/app": {"default_branch": "main", "has_issues": False}})
    ended = site.run(*TO)
    assert (ended.code, "Issues are disabled" in ended.err) == (4, True)


def test_a_description_that_is_too_long_is_cut_and_the_file_named(site: GithubSite) -> None:
    site.breakdown()
    folder = site.workspace.project / "phases/units/tasks/020"
    (folder / "description.md").write_text("word " * 20_000)
    site.sow("approve", "020")
    site.sow(*TO)
    body = issues(site)[0]["body"]
    assert len(body) <= 65_536
    assert ".sow/knowledge/breakdown/big-move-" in body
    assert body.endswith(marker(site, "020"))


def test_two_at_once_do_not_publish(site: GithubSite) -> None:
    site.breakdown()
    with _alone(site.workspace):
        ended = site.run(*TO)
        assert (ended.code, "another process is publishing" in ended.err) == (4, True)
        with (
            pytest.raises(StateError, match="another process is publishing from this folder"),
            _alone(site.workspace),
        ):
            pass
    site.sow(*TO)


def test_a_gh_that_outlives_its_call_is_waited_for(site: GithubSite, tmp_path: Path) -> None:
    """Killed while GitHub is about to open an issue: the next call would not find it yet."""
    site.breakdown()
    asked, go, real = tmp_path / "asked", tmp_path / "go", tmp_path / "bin/real-gh"
    (tmp_path / "bin/gh").rename(real)
    os.mkfifo(go)
    held_up = f'case "$*" in *POST*) touch {asked}; read word < {go};; esac'
    (tmp_path / "bin/gh").write_text(f'#!/bin/sh\n{held_up}\nexec {real} "$@"\n')
    (tmp_path / "bin/gh").chmod(0o755)
    command = [sys.executable, "-P", "-m", "sow", *TO]
    with subprocess.Popen(command, cwd=site.root, env=site.environment) as killed:
        wait_until(asked.exists, "gh to be about to ask")
        killed.kill()
    refused = site.run(*TO)
    assert (refused.code, "another process is publishing" in refused.err) == (4, True)
    (tmp_path / "bin/gh").unlink()
    real.rename(tmp_path / "bin/gh")
    go.write_text("now\n")
    wait_until(lambda: site.run(*TO).code == 0, "the first gh to end")
    assert [each["title"] for each in issues(site)] == ["Second", "First"]


def test_two_checkouts_that_publish_at_once_open_one_issue_for_each_unit(
    site: GithubSite, tmp_path: Path
) -> None:
    """Each has looked for issues, and found none, before the other opens the first."""
    site.breakdown()
    site.commit("units")
    other = tmp_path / "other"
    site.git("clone", "-q", str(site.root), str(other))
    site.git("-C", str(other), "remote", "set-url", "origin", REMOTE)
    launcher, real = tmp_path / "bin/gh", tmp_path / "bin/real-gh"
    launcher.rename(real)
    looked, go = tmp_path / "looked", tmp_path / "go"
    os.mkfifo(go)
    first = (
        f'case "$*" in *POST*) [ -e {looked} ] || {{ touch {looked}; read word < {go}; }};; esac'
    )
    launcher.write_text(f'#!/bin/sh\n{first}\nexec {real} "$@"\n')
    launcher.chmod(0o755)
    command = [sys.executable, "-P", "-m", "sow", *TO]
    with subprocess.Popen(command, cwd=other, env=site.environment) as slow:
        wait_until(looked.exists, "the other to have looked for issues")
        published = site.row(*TO)
        go.write_text("now\n")
        assert slow.wait() == 0
    assert [each["number"] for each in published["issues"]] == [1, 2]
    opened = [issue["number"] for issue in issues(site) if issue["state"] == "open"]
    assert opened == [1, 2]
    (closed,) = [issue for issue in issues(site) if issue["state"] == "closed"]
    assert closed["body"] == "Opened at the same time as #1, which stays."
    site.root = other
    assert site.row("task", "show", "020")["metadata"] == {
        "issue": "https://github.com/octo/app/issues/1"
    }


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("change", "is_closed"),
    [
        ({}, True),
        ({"title": "Of my own"}, False),
        ({"body": "Another text.\n\n{marker}"}, False),
        ({"login": "ann", "association": "MEMBER"}, False),
        ({"comments": 1}, False),
    ],
)
def test_what_a_killed_call_has_left_beside_anothers_issue_is_closed_by_the_next(
    site: GithubSite, change: dict, is_closed: bool
) -> None:
    site.breakdown()
    site.run(*TO, gh="killed after it was made")
    (made,) = issues(site)
    again = {"login": ME, "title": made["title"], "body": made["body"], **change}
    again["body"] = again["body"].format(marker=marker(site, "020"))
    site.open_issue(2, again.pop("login"), **again)
    with opened(site.data) as data:
        data["issues"][1]["comments"] = change.get("comments", 0)
    assert site.row(*TO)["issues"][0]["number"] == 1
    first, second = issues(site)[:2]
    assert first["state"] == "open"
    assert (second["state"] == "closed") is is_closed


def test_options_for_github_alone_are_refused_without_it(site: GithubSite) -> None:
    site.breakdown()
    assert site.run("project", "publish", "--label", "x").code == 2


def test_agents_do_not_publish_there_and_orchestrators_neither(site: GithubSite) -> None:
    site.breakdown()
    agent = {"SOW_ROOT": str(site.root), "SOW_JOB_ID": "7", "SOW_TASK_ID": "010"}
    for role in ("implementer", "orchestrator"):
        ended = site.run(*TO, SOW_AGENT=role, **agent)
        assert (ended.code, "is not for agents" in ended.err) == (4, True)
    assert issues(site) == []
    site.sow("project", "publish", SOW_AGENT="orchestrator", **agent)


def test_a_project_from_the_units_knows_their_issues(site: GithubSite) -> None:
    site.breakdown()
    site.sow("advance")
    site.sow(*TO)
    site.sow("advance")
    site.sow("project", "finish")
    (folder,) = site.workspace.breakdowns.iterdir()
    site.sow("project", "new", "Move", "--from-breakdown", folder.name)
    assert site.row("task", "show", "020")["metadata"] == {
        "issue": "https://github.com/octo/app/issues/1"
    }
