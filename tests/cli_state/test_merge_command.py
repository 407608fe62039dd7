"""`sow merge` from its words to its place in the queue: without a worker."""

import pytest
from clones.merge_site import make_merge_site

from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = make_merge_site(tmp_path / "home")
    (tmp_path / "user.yaml").write_text("worker: {autostart: false}\n")
    monkeypatch.setenv("SOW_CONFIG", str(tmp_path / "user.yaml"))
    return made


@pytest.fixture
def sow(site, sow, monkeypatch):
    monkeypatch.chdir(site.home.workspace.root)
    return sow


def test_it_is_queued_and_told_by_all_its_tasks(sow, site):
    site.work("a", "a\n", "010")
    site.work("b", "b\n", "020")
    done = sow("merge", "020", "010", "--squash", "--detach", "--json")
    assert (done.code, done.json["tasks"], done.json["task"]) == (0, ["010", "020"], "010")
    assert done.json["continue_with"] == "sow agent wait 010 --json"
    assert "for task 010 and task 020" in sow("job", "explain", "1").out
    assert sow("merge", "020", "--detach").code == 4
    assert sow("clone", "remove", "020", "--discard").code == 4, "a job is at work on it"
    line = sow("agent", "cancel", "020").out
    assert line.startswith("010, 020 cancelled (merge, job 1")
    assert "sow merge 010 020 --squash" in sow("job", "explain", "1").out


def test_a_rebase_is_told_as_one(sow, site):
    site.work("a", "a\n", "010")
    assert sow("merge", "010", "--rebase", "--detach").code == 0
    assert sow("merge", "010", "--detach").code == 4, "another way is another call"
    assert sow("agent", "cancel", "010").code == 0
    assert "sow merge 010 --rebase" in sow("job", "explain", "1").out


def test_one_way_at_a_time(sow, site):
    done = sow("merge", "010", "--rebase", "--squash")
    assert (done.code, "exclude each other" in done.err) == (2, True)


@pytest.mark.parametrize("words", [("10",), ("999",), ("010", "nonsense")])
def test_what_is_no_task_is_refused(sow, site, words):
    assert sow("merge", *words).code == 4


def test_it_needs_a_task(sow):
    assert sow("merge").code == 2


def test_what_cannot_be_merged_says_what_to_do(sow, site):
    site.work("a", "a\n", status=TaskStatus.NEEDS_REVIEW)
    done = sow("merge", "010")
    assert done.code == 4
    assert "sow review accept 010" in done.err


@pytest.mark.parametrize(("role", "code"), [("implementer", 4), ("reviewer", 4), ("sow-step", 4)])
def test_only_an_orchestrator_merges(sow, site, monkeypatch, role, code):
    site.work("a", "a\n")
    for name, value in (("JOB_ID", "7"), ("TASK_ID", "020"), ("AGENT", role)):
        monkeypatch.setenv(f"SOW_{name}", value)
    monkeypatch.setenv("SOW_ROOT", str(site.home.workspace.root))
    done = sow("merge", "010", "--detach")
    assert done.code == code
    assert "not for the agent" in done.err


def test_what_is_merged_is_sows_to_write_and_to_show(sow, site):
    made = site.work("a", "a\n")
    assert "sow merge" in sow("task", "set", "010", "merged", "x").err
    site.merge()
    assert f"  merged       {made[:12]} into main" in sow("task", "show", "010").out
    merged = sow("task", "show", "010", "--json").json["merged"]
    assert sorted(merged) == ["as", "at", "commit", "into"]
