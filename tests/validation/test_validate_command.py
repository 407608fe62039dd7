"""What people and programs see of `sow validate`: paths, words, exit codes, advice for git."""

from collections.abc import Callable
from pathlib import Path

import pytest
from in_process import Ended, run_in_process

from sow.paths import Workspace
from sow.state.tasks import add_task, list_tasks

NOON = 1_769_860_800.0
TASKS = ".sow/project/phases/implementation/tasks"


@pytest.fixture
def call(workspace: Workspace, environment: dict[str, str]) -> Callable[..., Ended]:
    def run(*words: str, cwd: Path | None = None, **more: str) -> Ended:
        where = cwd or workspace.root
        return run_in_process("validate", *words, env={**environment, **more}, cwd=where)

    return run


@pytest.fixture
def two_findings(workspace: Workspace) -> Workspace:
    """Return a project with a task that depends on nothing, and a leftover beside the settings."""
    add_task(workspace, name="A", agent="tester", now=NOON)
    state = workspace.root / TASKS / "010/state.yaml"
    state.write_text(state.read_text().replace("depends_on: []", 'depends_on: ["990"]'))
    (workspace.sow / ".config.yaml.12-0123456789ab.tmp").write_text("")
    return workspace


def test_the_findings_come_in_the_order_of_the_files(two_findings, call) -> None:
    ended = call()
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "✗ Error: .sow/.config.yaml.12-0123456789ab.tmp, line 1: an interrupted write has left"
        " .config.yaml.12-0123456789ab.tmp",
        "  Nothing reads it.",
        "  Fix it: `sow validate --fix`",
        f"✗ Error: {TASKS}/010/state.yaml, line 9: task 010 depends on 990, which does not exist",
        "  A task that waits for it would never be ready.",
        "  Correct the id, or remove it: `sow task list` shows the tasks.",
        "",
        "2 findings, 1 of which `sow validate --fix` fixes.",
    ]


def test_what_is_mended_is_told_and_the_rest_is_left(two_findings, call) -> None:
    ended = call("--fix")
    assert ended.code == 1
    assert ended.out.splitlines()[0] == "Fixed .sow/.config.yaml.12-0123456789ab.tmp: it is removed"
    assert ended.out.splitlines()[-1] == "1 finding."


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (".sow", ["leftover", "unknown-task"]),
        (".sow/project", ["unknown-task"]),
        (f"{TASKS}/010/state.yaml", ["unknown-task"]),
        (".sow/project/log.md", []),
    ],
)
def test_a_path_limits_what_is_told(two_findings, validate, path: str, kinds: list[str]) -> None:
    found = validate(path)
    assert (found.kinds, found.code) == (kinds, int(bool(kinds)))


def test_a_path_limits_what_is_mended(two_findings, validate) -> None:
    assert validate("--fix", ".sow/project").record["fixed"] == []
    assert len(validate("--fix", ".sow", ".sow/project").record["fixed"]) == 1


def test_paths_are_taken_from_where_one_stands(two_findings, call) -> None:
    assert call("010", cwd=two_findings.root / TASKS).code == 1
    assert call("log.md", cwd=two_findings.project).code == 0


@pytest.mark.parametrize("path", ["..", "/etc", "docs", ".sow/../x"])
def test_a_path_outside_is_a_slip(workspace: Workspace, call, path: str) -> None:
    ended = call(path)
    assert ended.code == 2
    assert "is not in" in ended.err


def test_a_path_of_nothing_is_a_slip_and_what_was_checked_is_named(two_findings, call) -> None:
    ended = call(".sow/projcet")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"Error: {two_findings.sow}/projcet: there is no such file or ")
    (two_findings.sow / ".gitattributes").unlink()
    assert "no-union" in call(".sow/.gitattributes", "--json").out
    assert call(".sow/knowledge").out == f"Nothing is wrong in {two_findings.sow}/knowledge.\n"


def test_a_sow_without_a_project_may_be_checked(workspace: Workspace, call) -> None:
    import shutil

    shutil.rmtree(workspace.project)
    assert call().code == 0


def test_where_there_is_no_sow_there_is_nothing_to_check(tmp_path: Path, environment) -> None:
    ended = run_in_process("validate", env=environment, cwd=tmp_path)
    assert ended.code == 4
    assert "no .sow folder" in ended.err


def test_nothing_is_changed_by_a_look(two_findings, call) -> None:
    """Not even what other commands put right in passing."""
    before = {path: path.stat().st_mtime_ns for path in two_findings.sow.rglob("*")}
    call()
    assert {path: path.stat().st_mtime_ns for path in two_findings.sow.rglob("*")} == before


@pytest.mark.slow
def test_git_is_to_be_told_what_is_solved(workspace, git, commit, call) -> None:
    commit("begun")
    for branch, name in (("theirs", "Theirs"), ("main", "Ours")):
        git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        add_task(workspace, name=name, agent="tester", now=NOON)
        commit(branch)
    git("merge", "-q", "theirs", code=1)
    ended = call("--fix")
    assert ended.code == 0
    advice = "Git still lists these files as unmerged; to tell git and commit: git add .sow"
    assert advice in ended.out.splitlines()
    git("add", ".sow")
    git("commit", "-q", "-m", "both")
    assert advice not in call("--fix").out
    assert [task.name for task in list_tasks(workspace)] == ["Ours", "Theirs"]


@pytest.mark.slow
def test_another_merge_that_is_under_way_says_nothing_of_an_earlier_one(
    workspace, git, commit, validate
) -> None:
    """The marks of the first were committed; the second is stopped before its commit."""
    commit("begun")
    git("branch", "other")
    for branch, name in (("theirs", "Theirs"), ("main", "Ours")):
        git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        add_task(workspace, name=name, agent="tester", now=NOON)
        after = "020" if name == "Theirs" else "030"
        add_task(
            workspace,
            name=f"After {name}",
            agent="tester",
            now=NOON,
            task_id=after,
            depends_on=["010"],
        )
        commit(branch)
    git("merge", "-q", "theirs", code=1)
    commit("with the marks in it")
    git("checkout", "-q", "other")
    (workspace.root / "words.md").write_text("Words.\n")
    commit("other")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-commit", "--no-ff", "other")
    assert validate("--fix").code == 0
    assert {task.name: task.depends_on for task in list_tasks(workspace)} == {
        "Ours": [],
        "Theirs": [],
        "After Ours": ["010"],
        "After Theirs": ["040"],
    }
