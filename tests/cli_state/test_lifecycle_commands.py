"""A project's life by commands: every type from start to end, who approves, what a refusal says."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sow.cli.confirming import author_here
from sow.clones.project_work import work_of
from sow.config.checks import hash_of
from sow.lifecycle import guards
from sow.paths import Workspace
from sow.schema.project import ProjectCheck
from sow.state.lifecycle import record_check
from sow.state.projects import change_project, read_project
from sow.state.task_log import read_entries
from sow.state.tasks import add_task, reopen
from sow.state.transitions import moment

pytestmark = pytest.mark.slow

NOON = 1_769_860_800.0


@pytest.fixture
def agents_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let callers without a terminal approve."""
    config = tmp_path.parent / f"{tmp_path.name}-config.yaml"
    config.write_text("approve: agents\n")
    monkeypatch.setenv("SOW_CONFIG", str(config))


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs git in the workspace, which is a repository with one commit."""

    def run(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    run("init", "-q", "-b", "main")
    (tmp_path / "code.py").write_text("1\n")
    run("add", "-A")
    run("commit", "-q", "-m", "begin")
    return run


def begin(sow, kind: str = "standard") -> None:
    sow("init")
    assert sow("project", "new", "Sign-in", "--type", kind).code == 0


def next_of(sow) -> list[str]:
    return [line["command"] for line in sow("next", "--json").lines]


def state_of(sow) -> str:
    return sow("project", "status", "--json").json["state"]


def complete(sow, task: str) -> None:
    for status in ("in_progress", "completed"):
        assert sow("task", "set", task, "status", status).code == 0


def test_a_standard_project_goes_from_start_to_end_with_one_correction(
    sow, git, agents_may, tmp_path
):
    begin(sow)
    assert next_of(sow) == [guards.IMPORT_TASKS, guards.ADD_TASK]
    sow("task", "add", "One", "--agent", "implementer")
    assert next_of(sow) == ["sow approve plan"]
    assert sow("approve", "plan").out == "Approved by orchestrator: plan\n"
    assert next_of(sow) == ["sow advance"]
    assert sow("advance").out == "Sign-in goes from planning to executing\n"
    assert next_of(sow) == ["sow agent spawn 010 --wait 100s"]
    complete(sow, "010")
    assert sow("advance").code == 0
    assert next_of(sow) == ["sow agent review --project --wait 100s"]
    (tmp_path.parent / "findings.md").write_text("It is too slow.\n")
    sow("review", "correct", "--project", "--file", str(tmp_path.parent / "findings.md"))
    assert next_of(sow) == ["sow advance"]
    assert sow("advance", "--json").json == {
        "event": "correct",
        "before": "reviewing",
        "state": "planning",
        "iteration": 2,
        "dry_run": False,
    }
    assert next_of(sow) == [guards.ADD_TASK]
    assert "the project review asks for corrections: `sow feedback list`" in sow("next").out
    sow("task", "add", "Two", "--agent", "implementer")
    assert next_of(sow)[-1] == "sow approve plan", "approvals must be given again"
    sow("approve", "plan")
    sow("advance")
    complete(sow, "020")
    sow("advance")
    sow("review", "accept", "--project", "--summary", "Good.")
    sow("advance")
    assert state_of(sow) == "finalizing"
    assert next_of(sow) == ["sow feedback settle 001"]
    sow("feedback", "settle", "001")
    sow("advance")
    (whole,) = sow("status", "--json").json["approvals"]
    assert (whole["what"], whole["is_approved"]) == ("whole", True)
    assert next_of(sow) == ["sow project finish"]
    finished = sow("project", "finish", "--json").json
    assert (tmp_path / finished["archive"] / "state.yaml").is_file()
    assert not (tmp_path / ".sow/project").exists()
    (again,) = sow("next", "--json").lines
    assert again["command"] == 'sow project new "<name>"'
    assert f"Sign-in is finished: commit {finished['archive']}" in again["why"]
    assert sow("project", "new", "Next").code == 0
    rows = sow("project", "list", "--json").lines
    assert [(row["name"], row["ended"]) for row in rows] == [
        ("Next", None),
        ("Sign-in", "finished"),
    ]
    logged = read_entries(tmp_path / finished["archive"] / "log.md")
    assert [entry.action for entry in logged if entry.event == "state"] == [
        "State: planning to executing (execute)",
        "State: executing to reviewing (review)",
        "State: reviewing to planning (correct), iteration 2",
        "State: planning to executing (execute)",
        "State: executing to reviewing (review)",
        "State: reviewing to finalizing (finalize)",
        "State: finalizing to completed (complete)",
        "Project finished",
    ]


def test_an_exploration_goes_from_start_to_end(sow, agents_may, tmp_path):
    begin(sow, "exploration")
    sow("task", "add", "Topic", "--agent", "researcher")
    assert next_of(sow) == ["sow agent spawn 010 --wait 100s"]
    complete(sow, "010")
    sow("advance")
    assert next_of(sow) == ['sow output add "<path>" --type "<type>"']
    summary = tmp_path / ".sow/project/context/summary.md"
    summary.write_text("# Found\n")
    sow("output", "add", str(summary), "--type", "summary")
    path = ".sow/project/context/summary.md"
    assert next_of(sow) == [f"sow approve {path}", f"sow output move {path}"]
    sow("approve", path)
    moved = sow("output", "move", path, "--json").json
    assert (moved["path"], moved["is_approved"]) == (".sow/knowledge/summaries/summary.md", True)
    assert next_of(sow) == ["sow advance"]
    sow("advance")
    assert state_of(sow) == "completed"


def test_a_design_goes_from_start_to_end(sow, agents_may, tmp_path):
    begin(sow, "design")
    (tmp_path / "design.md").write_text("# Design\n")
    sow("output", "add", "design.md", "--type", "design")
    sow("approve", "design.md")
    (tmp_path / "design.md").write_text("# Another\n")
    assert next_of(sow) == ["sow approve design.md"], "it is another document now"
    sow("approve", "design.md")
    sow("advance")
    sow("advance", "draft")
    assert state_of(sow) == "drafting"
    sow("advance")
    sow("advance")
    assert state_of(sow) == "completed"


def test_a_breakdown_goes_from_start_to_end(sow, agents_may, tmp_path):
    begin(sow, "breakdown")
    sow("task", "add", "First: the store", "--agent", "implementer")
    sow("task", "add", "Second", "--agent", "implementer", "--depends-on", "010")
    assert next_of(sow) == ["sow approve 010", "sow approve 020"]
    description = next(tmp_path.glob(".sow/project/phases/*/tasks/020/description.md"))
    assert sow("approve", "010", str(description), "--json").json["approved"] == ["010", "020"]
    sow("advance")
    assert next_of(sow) == ["sow project publish"]
    files = sow("project", "publish", "--json").json["files"]
    assert [Path(file).name for file in files] == ["010-first-the-store.md", "020-second.md"]
    assert 'depends_on: ["010"]' in (tmp_path / files[1]).read_text()
    description.write_text("# Second\n\nLarger.\n")
    refused = sow("advance")
    assert refused.code == 4
    assert "every work unit is approved in its current form" in refused.err
    sow("approve", "020")
    sow("project", "publish")
    sow("advance")
    assert state_of(sow) == "completed"


def test_a_refusal_names_each_guard_and_the_command_that_meets_it(sow, agents_may):
    begin(sow)
    sow("phase", "add", "discovery")
    refused = sow("advance", "execute")
    assert (refused.code, refused.out) == (4, "")
    for words in (
        "the project cannot go from planning to executing (execute) yet",
        "there is a task that has not ended, or, in the first iteration, one that is completed",
        "sow phase finish discovery",
        "sow approve plan",
    ):
        assert words in refused.err
    rows = sow("advance", "--list", "--json").lines
    assert [guard["guard"] for guard in rows[0]["unmet"]] == [
        "has_work",
        "phases_finished",
        "plan_approved",
    ]
    assert sow("advance", "finalize").code == 2


@pytest.mark.parametrize("state", ["reviewing", "finalizing"])
def test_what_a_verdict_names_to_begin_the_corrections_works(sow, git, agents_may, tmp_path, state):
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    complete(sow, "010")
    change_project(Workspace(tmp_path), lambda _: {"state": state}, now=NOON)
    findings = tmp_path.parent / f"{state}.md"
    findings.write_text("It is too slow.\n")
    named = sow("review", "correct", "--project", "--file", str(findings)).out.splitlines()[-1]
    for command in named.split("&&"):
        assert sow(*command.split()[1:]).code == 0, named
    assert state_of(sow) == "planning"


def test_only_what_waits_for_an_approval_is_approved(sow, agents_may):
    sow("init")
    sow("project", "new", "Caches", "--type", "exploration")
    sow("task", "add", "Redis", "--agent", "researcher")
    refused = sow("approve", "plan")
    assert (refused.code, refused.err.splitlines()[0]) == (
        4,
        "Error: nothing can be approved: a project of the type exploration has no plan",
    )
    refused = sow("approve", "010")
    assert "task 010 is not a work unit: the project is of the type exploration" in refused.err
    assert refused.err.endswith(
        """To accept its agent's work: `sow review accept 010 --summary "…"`.\n"""
    )
    assert "approved" not in sow("log").out


def test_a_plan_that_is_carried_out_is_not_approved_any_more(sow, agents_may):
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "plan")
    sow("advance")
    refused = sow("approve", "plan")
    assert (
        refused.code,
        "the plan was already started: the project is executing" in refused.err,
    ) == (
        4,
        True,
    )


def test_nothing_is_half_approved(sow, agents_may, tmp_path):
    sow("init")
    sow("project", "new", "Big", "--type", "breakdown")
    sow("task", "add", "Tokens", "--agent", "implementer")
    (tmp_path / "notes.md").write_text("Not listed.")
    assert sow("approve", "010", "notes.md").code == 4
    assert next_of(sow)[0] == "sow approve 010"


def test_a_breakdown_without_a_unit_publishes_nothing(sow):
    sow("init")
    sow("project", "new", "Big", "--type", "breakdown")
    refused = sow("project", "publish")
    assert (refused.code, "there is no work unit yet" in refused.err) == (4, True)
    assert not list(Path(".sow/knowledge").rglob("breakdown"))


def test_while_a_task_cannot_be_read_no_approval_is_named_that_would_be_refused(sow, agents_may):
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    sow("task", "add", "Two", "--agent", "implementer")
    state = Path(".sow/project/phases/implementation/tasks/010/state.yaml")
    state.write_text(state.read_text().replace("pending", "pendign"))
    assert sow("approve", "plan").code == 4
    assert [command.split()[-1] for command in next_of(sow)] == [str(state)]


def test_marks_of_a_conflict_are_called_so_and_what_can_solve_them_is_named(sow):
    begin(sow)
    state = Path(".sow/project/state.yaml")
    ours = state.read_text()
    state.write_text(f"<<<<<<< HEAD\n{ours}=======\n{ours}>>>>>>> two\n")
    (first,) = sow("next", "--json").lines
    assert first["why"].startswith("git has left the marks of a conflict in it: `sow validate`")
    state.write_text("project: [")
    (first,) = sow("next", "--json").lines
    assert "state.yaml, line 2: " in first["why"]


def test_without_a_task_nobody_is_waited_for_to_approve_the_plan(sow):
    sow("init")
    sow("project", "new", "Sign-in")
    assert sow("status", "--json").json["waits"] == []
    sow("task", "add", "Tokens", "--agent", "implementer")
    assert [wait["what"] for wait in sow("status", "--json").json["waits"]] == ["plan"]


def test_a_plan_that_gains_a_task_is_approved_anew(sow, agents_may):
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "plan")
    sow("task", "add", "Two", "--agent", "implementer")
    assert sow("advance").code == 4
    assert state_of(sow) == "planning"


@pytest.mark.parametrize(
    "deed",
    [
        lambda workspace: add_task(workspace, name="Two", agent="implementer", now=NOON),
        lambda workspace: reopen(workspace, "010", now=NOON),
    ],
    ids=["added", "reopened"],
)
def test_an_event_that_a_task_comes_in_the_way_of_is_refused(
    sow, agents_may, tmp_path, monkeypatch, deed
):
    """Between the look at the guards and the change: no guard is skipped by whoever is quick."""
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "plan")
    sow("advance")
    complete(sow, "010")

    def author_in_between():
        deed(Workspace(tmp_path))
        return author_here()

    monkeypatch.setattr("sow.cli.advance.author_here", author_in_between)
    refused = sow("advance")
    assert (refused.code, state_of(sow)) == (4, "executing")
    assert "another command changed the project" in refused.err


def test_by_default_a_person_at_a_terminal_approves(sow, tmp_path, monkeypatch, as_agent):
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    refused = sow("approve", "plan")
    assert refused.code == 4
    assert (
        "only a person at a terminal can approve; this call comes from a program without a terminal"
        in refused.err
    )
    assert "a person has to, in a terminal" in sow("next").out
    monkeypatch.setattr("sow.cli.approve.is_at_terminal", lambda: True)
    as_agent("010", "orchestrator")
    assert "the agent of a job (orchestrator)" in sow("approve", "plan").err
    for name in ("SOW_JOB_ID", "SOW_AGENT", "SOW_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    assert sow("approve", "plan", "--json").json == {"approved": ["plan"], "by": "person"}


def test_a_repository_cannot_let_agents_approve(sow, tmp_path):
    begin(sow)
    (tmp_path / ".sow/config.yaml").write_text("approve: agents\n")
    refused = sow("advance")
    assert refused.code == 3
    assert "a repository cannot set this" in refused.err, refused.err
    first, *rest = sow("next", "--json").lines
    assert (first["by"], first["command"]) == ("person", '"${EDITOR:-vi}" .sow/config.yaml')
    assert "a repository cannot set this" in first["why"]
    assert rest, "the rest is named all the same"


def reach_review(sow) -> None:
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "plan")
    sow("advance")
    complete(sow, "010")
    assert sow("advance").code == 0


def test_the_verdict_holds_while_the_work_is_the_same(sow, git, agents_may, tmp_path):
    reach_review(sow)
    (tmp_path / "code.py").write_text("2\n")
    sow("review", "accept", "--project", "--summary", "Good.")
    git("add", "-A")
    git("commit", "-q", "-m", "The work, and the verdict with it")
    assert next_of(sow) == ["sow advance"], "to commit it changes nothing"
    (tmp_path / "code.py").write_text("3\n")
    refused = sow("advance", "finalize")
    assert refused.code == 4
    assert "the work has changed since the project review" in refused.err
    (tmp_path / "code.py").write_text("2\n")
    assert sow("advance", "finalize").code == 0


def test_work_is_told_apart_by_contents_alone(git, tmp_path):
    before = work_of(tmp_path)
    (tmp_path / ".sow").mkdir()
    (tmp_path / ".sow/x").write_text("x")
    assert work_of(tmp_path) == before
    (tmp_path / "new file é.txt").write_text("x")
    changed = work_of(tmp_path)
    assert changed != before
    git("add", "-A")
    assert work_of(tmp_path) == changed
    git("commit", "-q", "-m", "x")
    assert work_of(tmp_path) == changed
    (tmp_path / "code.py").chmod(0o755)
    assert work_of(tmp_path) != changed
    (tmp_path / "code.py").unlink()
    (tmp_path / "code.py").symlink_to("elsewhere")
    linked = work_of(tmp_path)
    git("add", "-A")
    git("commit", "-q", "-m", "y")
    assert work_of(tmp_path) == linked


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_work_that_git_was_told_not_to_look_at_is_other_work(git, tmp_path, flag):
    """Else whoever works in the checkout could change what was judged, and keep the verdict."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("first\n")
    git("add", "a.txt", "b.txt")
    git("commit", "-q", "-m", "Two files")
    before = work_of(tmp_path)
    git("update-index", f"--{flag}", "a.txt", "b.txt")
    assert work_of(tmp_path) == before
    (tmp_path / "b.txt").unlink()
    is_sparse = flag == "skip-worktree"  # as a sparse checkout leaves it
    assert (work_of(tmp_path) == before) is is_sparse
    (tmp_path / "b.txt").write_text("first\n")
    (tmp_path / "a.txt").write_text("other\n")
    assert work_of(tmp_path) != before


def test_a_file_that_is_larger_than_the_memory_is_told_apart(git, tmp_path):
    (tmp_path / "core").touch()
    os.truncate(tmp_path / "core", 300 << 20)
    program = "import sys; from pathlib import Path; from sow.clones.project_work import work_of"
    program = f"{program}; print(work_of(Path(sys.argv[1])))"
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v 250000 && exec "$@"', "-", sys.executable, "-c", program, tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == work_of(tmp_path)


def test_checks_count_for_the_work_that_they_were_run_on(sow, git, agents_may, tmp_path):
    sow("init")
    (tmp_path / ".sow/config.yaml").write_text("checks: {unit: make, default: [unit]}\n")
    reach_review(sow)
    sow("review", "accept", "--project", "--summary", "Good.")
    sow("advance")
    assert next_of(sow) == ["sow project check --wait 100s"]
    workspace = Workspace(tmp_path)

    def record(work: str, passed: bool) -> None:
        fields = {"work": work, "names": ["unit"], "commands": {"unit": hash_of("make")}}
        check = ProjectCheck(passed=passed, at=moment(NOON), **fields)
        record_check(workspace, check, now=NOON)

    record(work_of(tmp_path), False)
    assert next_of(sow) == [
        'sow review correct --project --file "<file>"',
        'sow task add "<name>" --agent "<role>" --description "<what fixes the check>"',
        "sow project check --wait 100s",
    ]
    record("0" * 64, True)
    assert next_of(sow) == ["sow project check --wait 100s"]
    record(work_of(tmp_path), True)
    assert next_of(sow) == ["sow advance"]


def test_the_whole_is_judged_when_it_is_there_to_be_judged(sow, agents_may):
    begin(sow)
    refused = sow("review", "accept", "--project", "--summary", "Good.")
    assert refused.code == 4
    assert "the project is planning, so there is nothing to review now" in refused.err
    assert sow("agent", "review", "--project").code == 4
    assert sow("review", "accept", "010", "--project", "--summary", "x").code == 2


def test_only_a_completed_project_is_finished_and_any_is_abandoned(begun, tmp_path):
    refused = begun("project", "finish")
    assert refused.code == 4
    assert "the project is not completed: it is planning" in refused.err
    assert begun("project", "abandon", "--json").json["how"] == "abandoned"
    (row,) = begun("project", "list", "--json").lines
    assert (row["ended"], row["state"]) == ("abandoned", "planning")
    begun("project", "new", "Again")
    assert begun("project", "abandon", "--remove", "--json").json["archive"] is None
    assert len(begun("project", "list", "--json").lines) == 1


def test_a_completed_project_is_not_finished_with_a_task_that_was_added_since(sow, tmp_path):
    sow("init")
    sow("project", "new", "Sign-in", "--type", "quick")
    change_project(Workspace(tmp_path), lambda _: {"state": "completed"}, now=NOON)
    assert next_of(sow) == ["sow project finish"]
    sow("task", "add", "Late", "--agent", "implementer")
    refused = sow("project", "finish")
    assert refused.code == 4
    assert "the project was completed, but work was added to it since" in refused.err
    assert "every task is completed or abandoned: ready: 010" in refused.err
    assert next_of(sow) == ["sow agent spawn 010 --wait 100s"]
    sow("task", "abandon", "010")
    assert next_of(sow) == ["sow project finish"]
    assert sow("project", "finish").code == 0


def test_asked_for_by_an_agent_the_end_is_recorded(begun, as_agent, monkeypatch, tmp_path):
    as_agent("010", "orchestrator")
    assert begun("project", "abandon", "--json").json["is_recorded_only"] is True
    assert (tmp_path / ".sow/project").exists()
    assert read_project(Workspace(tmp_path)).ending.by == "orchestrator"
    for name in ("SOW_JOB_ID", "SOW_AGENT", "SOW_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".sow/config.yaml").write_text("checks: {unit: make}\n")
    for words in (("project", "check", "unit"), ("task", "check", "010", "unit")):
        refused = begun(*words, "--detach")
        assert refused.code == 4
        assert "the project has ended or is ending" in refused.err
    assert begun("job", "list", "--json").lines == []


def test_phases_that_people_lead_are_finished_by_them(begun):
    begun("phase", "add", "design")
    begun("task", "add", "Sketch", "--agent", "designer", "--phase", "design")
    refused = begun("phase", "finish", "design")
    assert refused.code == 4
    assert "the phase design has tasks that have not ended: 030" in refused.err
    begun("task", "abandon", "030")
    assert begun("phase", "finish", "design", "--json").json["is_finished"] is True
    assert begun("phase", "reopen", "design", "--json").json["is_finished"] is False
    assert begun("phase", "finish", "nothing").code == 4
    rows = begun("phase", "list", "--json").lines
    assert [(row["phase"], row["led_by"]) for row in rows] == [
        ("implementation", "agents"),
        ("design", "people"),
    ]


def test_a_project_of_old_is_a_standard_one_in_execution(begun, tmp_path):
    state = tmp_path / ".sow/project/state.yaml"
    lines = state.read_text().splitlines(keepends=True)
    state.write_text(
        "".join(line for line in lines if not line.startswith(("  type:", "  state:")))
    )
    shown = begun("project", "status", "--json").json
    assert (shown["type"], shown["state"], shown["iteration"]) == ("standard", "executing", 1)
    assert next_of(begun) == ["sow agent spawn 010 --wait 100s"]


def test_a_state_that_the_type_does_not_have_is_refused(begun, tmp_path):
    state = tmp_path / ".sow/project/state.yaml"
    state.write_text(state.read_text().replace("state: planning", "state: drafting"))
    refused = begun("project", "status")
    assert refused.code == 4
    assert "a project of the type standard has no state 'drafting'" in refused.err


def test_fields_of_a_project_are_set(begun):
    begun("project", "set", "description", "For all")
    begun("project", "set", "metadata.issue", "12")
    shown = begun("project", "status", "--json").json
    assert (shown["description"], shown["metadata"]) == ("For all", {"issue": "12"})
    assert begun("project", "set", "state", "completed").code == 4


def test_without_a_folder_the_first_step_is_to_make_it(sow):
    assert next_of(sow) == ["sow init"]


def test_an_output_is_moved_to_where_the_settings_say(begun, tmp_path):
    (tmp_path / ".sow/config.yaml").write_text("artifacts: {designs: docs/designs}\n")
    (tmp_path / "d.md").write_text("x")
    begun("output", "add", "d.md", "--type", "design")
    assert begun("output", "move", "d.md", "--json").json["path"] == "docs/designs/d.md"
    (tmp_path / "d.md").write_text("y")
    begun("output", "add", "d.md", "--type", "design")
    assert begun("output", "move", "d.md", "--to", "../..").code == 4
    assert os.path.lexists(tmp_path / "d.md")
    assert begun("output", "move", "d.md", "--json").json["path"] == "docs/designs/d-2.md"
    assert (tmp_path / "docs/designs/d.md").read_text() == "x", "another project's, perhaps"
    assert not os.path.lexists(tmp_path / "d.md")
    again = begun("output", "move", "docs/designs/d.md", "--json").json
    assert again["path"] == "docs/designs/d.md", "it lies there"


def test_an_output_whose_move_was_killed_is_moved_by_the_same_command(begun, tmp_path):
    (tmp_path / "d.md").write_text("x")
    begun("output", "add", "d.md", "--type", "design")
    (tmp_path / ".sow/knowledge/designs").mkdir(parents=True)
    (tmp_path / ".sow/knowledge/designs/d.md").write_text("x")
    moved = begun("output", "move", "d.md", "--json").json
    assert moved["path"] == ".sow/knowledge/designs/d.md"
    assert not os.path.lexists(tmp_path / "d.md")


def test_an_output_whose_file_is_gone_is_to_be_taken_off_the_list(sow, tmp_path):
    begin(sow, "design")
    (tmp_path / ".sow/project/context/d.md").write_text("x")
    sow("output", "add", ".sow/project/context/d.md", "--type", "design")
    (tmp_path / ".sow/project/context/d.md").unlink()
    assert next_of(sow) == ["sow output remove .sow/project/context/d.md"]
    assert sow("output", "remove", ".sow/project/context/d.md").code == 0


@pytest.mark.parametrize(
    ("how", "remove", "command"),
    [
        ("finished", False, "sow project finish"),
        ("abandoned", True, "sow project abandon --remove"),
    ],
)
def test_an_end_that_nobody_lives_to_carry_out_is_named_as_a_command(
    begun, tmp_path, how, remove, command
):
    ending = {"how": how, "by": "orchestrator", "at": moment(NOON), "remove": remove}
    change_project(Workspace(tmp_path), lambda _: {"ending": ending}, now=NOON)
    assert next_of(begun) == [command]


def test_where_a_team_works_by_batches_several_tasks_are_one(begun, tmp_path):
    for name in ("One", "Two"):
        begun("task", "add", name, "--agent", "implementer")
    change_project(Workspace(tmp_path), lambda _: {"state": "executing"}, now=NOON)
    assert "sow batch run" not in next_of(begun)
    (tmp_path / ".sow/config.yaml").write_text("batch: {review: true}\n")
    assert [command.partition(" --wait")[0] for command in next_of(begun)][:2] == [
        "sow batch run",
        "sow agent spawn 010",
    ]
    complete(begun, "010")
    assert "sow batch run" not in next_of(begun), "a single one needs none"


def test_what_was_done_before_anybody_planned_is_part_of_the_plan(sow, git, agents_may):
    """As whoever follows the README: a task is done and completed, then `sow next` is asked."""
    begin(sow)
    sow("task", "add", "One", "--agent", "implementer")
    complete(sow, "010")
    assert next_of(sow) == ["sow approve plan"]
    sow("approve", "plan")
    assert sow("advance").out == "Sign-in goes from planning to executing\n"
    assert sow("advance").out == "Sign-in goes from executing to reviewing\n"


def test_a_refusal_names_each_command_once_and_those_that_come_later(sow, tmp_path):
    begin(sow, "quick")
    (tmp_path / ".sow/config.yaml").write_text('checks: {unit: "true"}\n')
    sow("task", "add", "One", "--agent", "implementer")
    refused, listed = sow("advance"), sow("advance", "--list")
    assert (refused.code, listed.code) == (4, 0)
    for text in (refused.err, listed.out):
        lines = [line.strip() for line in text.splitlines()]
        assert lines.count("sow agent spawn 010") == 1
        assert lines[lines.index("sow project check") - 1].endswith(": after what is named above")
    unmet = sow("advance", "--list", "--json").json["unmet"]
    assert {each["command"] for guard in unmet for each in guard["remedies"]} == {
        "sow agent spawn 010"
    }
