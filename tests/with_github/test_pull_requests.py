"""A finished project as a pull request, and where that stands."""

import pytest
from journeys.json_contract import hold
from with_github.github_site import GithubSite
from with_github.rest import opened

from sow.state.tasks import change_task

pytestmark = pytest.mark.slow


def pull(site: GithubSite) -> dict:
    (found,) = site.github()["pulls"]
    return found


def test_a_finished_project_is_asked_for_with_its_report(site: GithubSite) -> None:
    site.finished()
    made = site.row("pr", "create", "--draft")
    hold("pr create", [made])
    assert (made["number"], made["state"], made["is_new"]) == (1, "draft", True)
    found = pull(site)
    assert (found["title"], found["base"]["ref"]) == ("Sign-in", "main")
    assert found["head"]["label"] == "octo:topic"
    body = found["body"]
    assert "For @<!-- -->all, fixes #<!-- -->7." in body
    assert "| 010 | Hash \\| it | implementer | pending |" in body
    assert "Not done: 010." in body
    assert "lie in `.sow/knowledge/projects/" in body


def test_a_review_of_the_whole_is_none_of_what_was_done(site: GithubSite) -> None:
    site.git("checkout", "-qb", "topic")
    site.sow("project", "new", "Sign-in")
    site.sow("task", "add", "Hash it", "--agent", "implementer")
    words = ("--agent", "reviewer", "--phase", "project", "--new-phase")
    site.sow("task", "add", "Review of the whole", *words)
    for status in ("in_progress", "completed"):
        site.sow("task", "set", "010", "status", status)
    site.end()
    site.commit("done")
    site.push("topic")
    site.sow("pr", "create")
    body = pull(site)["body"]
    assert "| 010 | Hash it | implementer | completed |" in body
    assert "Review of the whole" not in body
    assert "Not done" not in body


def test_a_breakdown_asks_with_its_units_which_nobody_has_done_yet(site: GithubSite) -> None:
    site.git("checkout", "-qb", "breakdown/big")
    site.breakdown()
    site.sow("task", "add", "Dropped", "--agent", "implementer")
    site.sow("task", "set", "030", "status", "abandoned")
    site.end()
    site.commit("done")
    site.push("breakdown/big")
    site.sow("pr", "create")
    body = pull(site)["body"]
    assert "## The work units" in body
    assert "| 010 | First | implementer | 020 |\n| 020 | Second | implementer |  |\n" in body
    for words in ("What was done", "Not done", "pending", "Dropped"):
        assert words not in body


def test_called_again_it_shows_the_open_one(site: GithubSite) -> None:
    site.finished()
    site.sow("pr", "create")
    assert site.row("pr", "create")["is_new"] is False
    assert "is open already" in site.sow("pr", "create")
    assert len(site.github()["pulls"]) == 1


def test_a_kill_after_it_was_made_makes_no_second_one(site: GithubSite) -> None:
    site.finished()
    assert site.run("pr", "create", gh="killed after it was made").code == 4
    assert site.row("pr", "create")["is_new"] is False


def test_a_branch_that_is_not_pushed_is_not_pushed(site: GithubSite) -> None:
    site.finished()
    with opened(site.data) as data:
        del data["branches"]["octo/app:topic"]
    ended = site.run("pr", "create")
    assert ended.code == 4
    assert "octo/app has no branch topic" in ended.err
    assert "git push -u origin topic" in ended.err
    site.push("topic")
    site.commit("more")
    ended = site.run("pr", "create")
    assert (ended.code, "not the commit here" in ended.err) == (4, True)
    assert site.github()["pulls"] == []


def test_what_is_not_committed_is_told(site: GithubSite) -> None:
    site.git("checkout", "-qb", "topic")
    site.sow("project", "new", "Sign-in")
    site.commit("work")
    site.push("topic")
    site.end()
    made = site.row("pr", "create")
    assert any(path.startswith(".sow/knowledge") for path in made["uncommitted"])
    assert "Note: not committed: .sow/knowledge" in site.run("pr", "create").err


def test_only_a_finished_project_is_asked_for(site: GithubSite) -> None:
    site.git("checkout", "-qb", "topic")
    assert "no project has been finished on it" in site.run("pr", "create").err
    site.sow("project", "new", "Sign-in", "--type", "standard")
    ended = site.run("pr", "create")
    assert (ended.code, "its project is planning" in ended.err) == (4, True)
    site.sow("project", "abandon")
    assert "its project is abandoned" in site.run("pr", "create").err


@pytest.mark.parametrize("words", [("checkout", "-q", "main"), ("checkout", "-q", "--detach")])
def test_it_leads_from_a_branch_into_another(site: GithubSite, words) -> None:
    site.finished()
    site.git(*words)
    ended = site.run("pr", "create")
    assert (ended.code, "needs a branch other than main" in ended.err) == (4, True)


def test_nothing_between_the_branches_is_told(site: GithubSite) -> None:
    site.finished()
    with opened(site.data) as data:
        data["branches"]["octo/app:main"] = data["branches"]["octo/app:topic"]
    ended = site.run("pr", "create")
    assert (ended.code, "No commits between main and topic" in ended.err) == (4, True)


def test_it_closes_the_issues_that_it_came_from(site: GithubSite) -> None:
    site.open_issue(5, title="Wanted", body="x")
    site.open_issue(6, title="Also", body="x")
    site.git("checkout", "-qb", "topic")
    site.sow("project", "new", "--from-issue", "5")
    for task in ("010", "020"):
        site.sow("task", "add", "--agent", "implementer", "--from-issue", "6", "--id", task)
    site.sow("task", "set", "020", "metadata.issue", "https://github.com/octo/other/issues/9")
    for status in ("in_progress", "completed"):
        for task in ("010", "020"):
            change_task(
                site.workspace, task, lambda _, to=status: {"status": to}, now=1_769_860_800.0
            )
    site.end()
    site.commit("done")
    site.push("topic")
    site.sow("pr", "create")
    assert "Closes #5, closes #6." in pull(site)["body"]


def test_a_fork_is_asked_from(site: GithubSite) -> None:
    site.finished()
    site.git("remote", "add", "fork", "git@github.com:me/app.git")
    site.git("config", "branch.topic.pushRemote", "fork")
    ended = site.run("pr", "create")
    assert "me/app has no branch topic" in ended.err
    assert "git push -u fork topic" in ended.err
    with opened(site.data) as data:
        data["repositories"]["me/app"] = {"default_branch": "main"}
    site.push("topic", owner="me")
    site.sow("pr", "create", "--base", "main")
    assert pull(site)["head"]["label"] == "me:topic"


@pytest.mark.parametrize(
    "origin", ["git@gitlab.example:team/app.git", "https://gitlab.example/a/b/app.git", "/srv/app"]
)
def test_a_branch_that_git_pushes_to_another_host_is_asked_for_on_github(
    site: GithubSite, origin: str
) -> None:
    site.finished()
    site.git("remote", "set-url", "origin", origin)
    site.git("remote", "add", "hub", "ssh://git@ssh.github.com:443/octo/app.git")
    site.commit("more")
    ended = site.run("pr", "create", "--repo", "octo/app")
    assert "octo/app has the branch topic at" in ended.err
    assert "git push -u hub topic" in ended.err
    site.push("topic")
    site.sow("pr", "create", "--repo", "octo/app")
    assert pull(site)["head"]["label"] == "octo:topic"


def test_its_state_is_read_back(site: GithubSite) -> None:
    site.finished()
    ended = site.run("pr", "status")
    assert (ended.code, "no pull request for the branch topic" in ended.err) == (4, True)
    site.sow("pr", "create")
    fresh = site.row("pr", "status")
    hold("pr status", [fresh])
    assert (fresh["state"], fresh["is_current"], fresh["checks"]) == ("open", True, [])
    with opened(site.data) as data:
        data["pulls"][0].update(mergeable=False)
        data["reviews"]["1"] = [
            {"state": "APPROVED", "user": {"login": "ann"}},
            {"state": "CHANGES_REQUESTED", "user": {"login": "bob"}},
            {"state": "CHANGES_REQUESTED", "user": {"login": "ann"}},
            {"state": "COMMENTED", "user": {"login": "ann"}},
            {"state": "APPROVED", "user": {"login": "bob"}},
        ]
        data["checks"][data["pulls"][0]["head"]["sha"]] = [
            {"name": "unit", "status": "completed", "conclusion": "success"},
            {"name": "lint\x1b[31m", "status": "completed", "conclusion": "failure"},
            {"name": "slow", "status": "queued", "conclusion": None},
        ]
    found = site.row("pr", "status")
    assert (found["approvers"], found["changes_asked_by"]) == (["bob"], ["ann"])
    assert [check["state"] for check in found["checks"]] == ["passed", "failed", "pending"]
    words = site.sow("pr", "status")
    assert "changes asked by ann; approved by bob" in words
    assert "failed: lint" in words
    assert "cannot be merged" in words
    assert "\x1b" not in words
    with opened(site.data) as data:
        data["pulls"][0].update(state="closed", merged=True)
    site.commit("later")
    assert site.row("pr", "status")["state"] == "merged"
    assert "the branch here is not" in site.sow("pr", "status")
    site.git("checkout", "-q", "main")
    assert site.row("pr", "status", "--branch", "topic")["number"] == 1


def test_agents_open_none(site: GithubSite) -> None:
    site.finished()
    agent = {"SOW_ROOT": str(site.root), "SOW_JOB_ID": "7", "SOW_TASK_ID": "010"}
    ended = site.run("pr", "create", SOW_AGENT="orchestrator", **agent)
    assert (ended.code, "is not for agents" in ended.err) == (4, True)
    assert site.run("pr", "status", SOW_AGENT="implementer", **agent).code == 4
