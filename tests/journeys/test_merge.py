"""The work of two tasks, merged by the true command and the true worker; and a conflict."""

import time

from journeys.gitsite import commit, git, make_repository
from journeys.json_contract import hold
from journeys.site import Site

from sow.clones.place import branch_name
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import change_task


def work(site: Site, task: str, path: str, text: str) -> None:
    """Leave a completed task with a commit on its branch, made by plain git."""
    workspace = Workspace(site.root)
    git(site, "switch", "-q", "-c", branch_name(read_project(workspace), task), "main")
    (site.root / path).write_text(text)
    git(site, "add", path)
    git(site, "commit", "-q", "-m", f"Work on {task}")
    git(site, "switch", "-q", "main")
    change_task(workspace, task, lambda _: {"status": TaskStatus.COMPLETED}, now=time.time())


def test_two_tasks_are_merged_and_a_third_conflicts(site: Site) -> None:
    make_repository(site)
    site.project("010", "020", "030")
    work(site, "010", "first.txt", "first\n")
    work(site, "020", "second.txt", "second\n")
    work(site, "030", "first.txt", "other\n")
    checks = "checks: {unit: echo seen; test -e first.txt -a -e second.txt}"
    settings = f"{checks}\nclones: {{merge_check: unit}}\n"
    (site.root / ".sow/config.yaml").write_text(settings)
    commit(site, "settings")
    site.sow("trust", "--yes")

    done = site.sow("merge", "020", "010", "--json")

    hold("merge", done.json_lines)
    assert (done.json["tasks"], done.json["state"]) == (["010", "020"], "done")
    assert (site.root / "first.txt").read_text() == "first\n"
    assert (site.root / "second.txt").read_text() == "second\n"
    tip = git(site, "rev-parse", "main").strip()
    assert tip[:12] in done.json["reason"]
    assert site.sow("task", "show", "020", "--json").json["merged"]["as"] == tip
    assert "010, 020" in site.sow("agent", "wait", "020").out, "it is the last job of each"
    assert site.sow("agent", "wait", "010", "020").out.count("010, 020 merged") == 1
    assert site.sow("job", "logs", "1").out == "==> unit <==\nseen\n"
    assert "merge for task 010 and task 020" in site.sow("job", "explain", "1").out

    refused = site.sow("merge", "030", expect=4)

    assert "task 030 conflicts with task 010 in first.txt" in refused.out
    assert "sow clone update 030" in refused.err
    assert git(site, "rev-parse", "main").strip() == tip
    git(site, "fsck", "--no-dangling")


def test_a_task_that_removes_the_settings_leaves_them_to_the_project(site: Site) -> None:
    make_repository(site)
    site.project("010")
    commit(site, "a project")
    branch = branch_name(read_project(Workspace(site.root)), "010")
    git(site, "switch", "-q", "-c", branch, "main")
    git(site, "rm", "-q", ".sow/config.yaml")
    commit(site, "No settings")
    git(site, "switch", "-q", "main")
    change_task(
        Workspace(site.root), "010", lambda _: {"status": TaskStatus.COMPLETED}, now=time.time()
    )
    commit(site, "completed")

    merged = site.sow("merge", "010")
    assert "left out, because it belongs to sow: .sow/config.yaml" in merged.out + merged.err

    site.sow("status")
    assert (site.root / ".sow/config.yaml").exists()
    assert git(site, "status", "--porcelain", "--", ".sow/config.yaml") == ""
