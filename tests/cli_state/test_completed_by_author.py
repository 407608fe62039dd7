"""An author's own `completed`: its word alone, or work that waits for a review."""

import pytest
import yaml
from clones.clone_site import add_clone, name_author, plain


@pytest.fixture
def at_work(begun, as_agent):
    """The commands, as the agent of a task that is in progress calls them."""
    assert begun("task", "set", "010", "status", "in_progress").code == 0
    as_agent("010")
    return begun


def settle(folder, **settings):
    (folder / ".sow/config.yaml").write_text(yaml.safe_dump(settings))


@pytest.mark.parametrize("settings", [{}, {"reviews": None}, {"reviews": "optional"}])
def test_without_more_its_own_agent_completes_a_task(at_work, tmp_path, settings):
    settle(tmp_path, **settings)
    done = at_work("task", "set", "status", "completed")
    assert (done.code, done.out, done.err) == (0, "Task 010: status is completed\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ("task", "set", "status", "completed"),
        ("task", "set", "010", "status", " completed "),
        ("agent", "task", "state", "set-status", "completed"),
    ],
    ids=" ".join,
)
def test_where_a_review_is_required_it_waits_for_one_and_is_told(at_work, tmp_path, words):
    settle(tmp_path, reviews="required")
    done = at_work(*words)
    assert (done.code, done.out) == (0, "Task 010: status is needs_review\n")
    assert "completed counts as needs_review here" in done.err
    assert "reviews: required" in done.err
    assert at_work("task", "show", "010", "--json").json["status"] == "needs_review"


def test_whoever_is_not_its_author_completes_it(at_work, as_agent, tmp_path):
    settle(tmp_path, reviews="required")
    assert at_work("task", "set", "status", "needs_review").code == 0
    as_agent("020", role="orchestrator")
    done = at_work("task", "set", "010", "status", "completed")
    assert (done.code, done.out, done.err) == (0, "Task 010: status is completed\n", "")


def test_what_is_done_in_a_clone_waits_for_a_review(at_work, tmp_path):
    plain(tmp_path, "init", "-q", "-b", "main")
    name_author(tmp_path)
    (tmp_path / ".gitignore").write_text("/clone\n")
    plain(tmp_path, "add", "-A")
    plain(tmp_path, "commit", "-q", "-m", "First")
    site = add_clone(tmp_path, tmp_path / "clone", "sow/sign-in-1f2e3d4c/010")
    state = next(tmp_path.glob(".sow/project/phases/*/tasks/010/state.yaml"))
    place = (
        f"    path: {site.clone}\n    branch: {site.facts.branch}\n    base: {site.facts.base}\n"
    )
    state.write_text(f"{state.read_text().rstrip()}\n  clone:\n{place}version: 2\n")
    done = at_work("task", "set", "status", "completed", "--json")
    assert (done.code, done.json["status"]) == (0, "needs_review")
    assert "done in a clone" in done.err


def test_settings_that_nobody_can_read_are_an_error_and_nothing_is_changed(at_work, tmp_path):
    settle(tmp_path, reviews="always")
    done = at_work("task", "set", "status", "completed")
    assert (done.code, "reviews" in done.err) == (3, True)
    assert at_work("task", "show", "010", "--json").json["status"] == "in_progress"
