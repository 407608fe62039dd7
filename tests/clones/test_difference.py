"""Exactly the task's change: not its base's, its dependencies' or the project's."""

from dataclasses import replace

import pytest
from clones.clone_site import add_clone, make_hostile, make_site, plain, traces
from msgspec import structs

from sow.clones.bring_back import bring_back
from sow.clones.clone_facts import CloneFacts
from sow.clones.difference import difference, patch_of, stat_of, working_tree_files
from sow.clones.steering import steering_files
from sow.git.private_view import private_view
from sow.git.view import view_of

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def found(site, facts=None):
    bring_back(site.facts, site.repository)
    view = view_of(site.main)
    commit, project = map(view.commit_of, (site.facts.branch, "main"))
    assert commit is not None
    return difference(view, facts or site.facts, commit, project)


def test_the_change_is_from_the_base_to_the_last_commit(site):
    site.commit("file", "one\n2\nthree\n")
    plain(site.clone, "mv", "src/code.py", "src/moved.py")
    plain(site.clone, "commit", "-q", "-m", "Moved")
    done = found(site)
    assert done.files == ("file", "src/code.py", "src/moved.py")
    view = view_of(site.main)
    patch = patch_of(view, site.facts, done).decode()
    assert "-two\n+2\n" in patch
    assert "rename to src/moved.py" in patch
    assert "2 files changed" in stat_of(view, site.facts, done).decode()


def test_it_is_seen_in_the_clone_before_it_is_brought_back(site, tmp_path):
    commit = site.commit("a.txt", "x\n")
    folder = make_hostile(site, tmp_path / "traps")
    with private_view(site.clone, site.repository) as view:
        done = difference(view, site.facts, commit, site.facts.base)
        assert b"+x\n" in patch_of(view, site.facts, done)
    assert done.files == ("a.txt",)
    assert traces(folder) == []


def test_what_the_project_brought_since_is_not_the_tasks(site):
    site.commit("mine", "x\n")
    site.commit("theirs", "x\n", where=site.main)
    plain(site.clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    site.commit("theirs", "x\nand mine\n")
    site.commit("later", "x\n", where=site.main)
    done = found(site)
    assert done.files == ("mine", "theirs")
    assert b"+and mine" in patch_of(view_of(site.main), site.facts, done)


def test_another_task_that_was_merged_since_does_not_hide_what_was_brought(site, tmp_path):
    other = add_clone(site.main, tmp_path / "other", "sow/sign-in-1f2e3d4c/020")
    other.commit("other", "x\n")
    bring_back(other.facts, other.repository)
    site.commit("theirs", "x\n", where=site.main)
    site.commit("mine", "x\n")
    plain(site.clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    plain(site.main, "merge", "-q", "--no-edit", other.facts.branch)
    assert found(site).files == ("mine",)


def test_it_stays_the_same_when_the_task_was_merged(site):
    site.commit("mine", "x\n")
    done = found(site)
    site.commit("theirs", "x\n", where=site.main)
    plain(site.main, "merge", "-q", "--no-edit", site.facts.branch)
    assert found(site).files == done.files == ("mine",)
    site.commit("more", "x\n", where=site.main)
    assert found(site).files == ("mine",)


def test_it_stays_the_same_when_the_branch_was_moved_to_it(site):
    site.commit("mine", "x\n")
    bring_back(site.facts, site.repository)
    plain(site.main, "merge", "-q", "--ff-only", site.facts.branch)
    assert found(site).files == ("mine",)


def test_what_its_dependencies_did_is_not_the_tasks(site, tmp_path):
    site.commit("dependency", "x\n")
    bring_back(site.facts, site.repository)
    site.commit("theirs", "x\n", where=site.main)
    other = add_clone(site.main, tmp_path / "other", "sow/sign-in-1f2e3d4c/020")
    plain(other.clone, "fetch", "-q", str(site.main), site.facts.branch)
    plain(other.clone, "merge", "-q", "--no-edit", "FETCH_HEAD")
    base = plain(other.clone, "rev-parse", "HEAD")
    other = replace(other, facts=structs.replace(other.facts, base=base))
    other.commit("mine", "x\n")
    assert found(other).files == ("mine",)
    # and not when the project's branch, further on, is brought in
    site.commit("later", "x\n", where=site.main)
    plain(other.clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert found(other).files == ("mine",)
    # nor when that has the dependency as well
    plain(site.main, "merge", "-q", "--no-edit", site.facts.branch)
    plain(other.clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert found(other).files == ("mine",)


def test_the_projects_state_is_left_out_and_told(site):
    site.commit(".sow/project/state.yaml", "project: {mine: true}\n")
    site.commit(".sow/projector", "x\n")
    done = found(site)
    assert done.files == (".sow/projector",)
    assert done.state_files == (".sow/project/state.yaml",)
    view = view_of(site.main)
    assert b"state.yaml" not in patch_of(view, site.facts, done)
    assert b"state.yaml" not in stat_of(view, site.facts, done)
    deeper = found(site, structs.replace(site.facts, inside="src"))
    assert deeper.files == (".sow/project/state.yaml", ".sow/projector")


@pytest.mark.parametrize("name", [".sow/run/queue.db", ".sow/run"])
def test_a_machines_records_are_left_out_and_named_as_steering(site, name):
    (site.clone / ".sow").mkdir(exist_ok=True)
    site.commit(name, "a foreign queue\n")
    done = found(site)
    assert (done.files, done.state_files, done.steers) == ((), (name,), (name,))
    assert b"foreign" not in patch_of(view_of(site.main), site.facts, done)


def test_files_that_steer_are_named():
    steering = [
        ".claude/settings.json",
        ".claude",
        "deep/.claude/agents/x.md",
        ".mcp.json",
        "CLAUDE.md",
        "deep/agents.md",
        ".cursor/rules/x.mdc",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        ".sow/config.yaml",
        "inside/.sow/config.yaml",
        ".sow/run/queue.db",
        ".gitattributes",
        ".gitmodules",
        ".github",
    ]
    others = [
        "src/claude.py",
        "docs/agents.md.txt",
        ".github/FUNDING.yml",
        "config.yaml",
        "x/.sowx",
    ]
    assert steering_files([*steering, *others]) == tuple(steering)


def test_a_task_that_changed_such_a_file_says_so(site):
    site.commit(".github/workflows/ci.yml", "x\n")
    site.commit("file", "x\n")
    assert found(site).steers == (".github/workflows/ci.yml",)


def test_without_a_clone_all_that_lies_in_the_working_tree_is_told(site):
    (site.main / "file").write_text("x\n")
    (site.main / "new").write_text("x\n")
    (site.main / "x.log").write_text("x\n")
    (site.main / ".sow/project/state.yaml").write_text("x\n")
    facts = CloneFacts(site.main, "", "")
    assert working_tree_files(view_of(site.main), facts) == ("file", "new")
