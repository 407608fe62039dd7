"""`sow init`, `sow project …` and `sow schema`."""

import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import msgspec
import pytest

from sow.schema.catalogue import FILES, descriptions


def test_init_says_what_it_made_and_what_stood(sow, tmp_path):
    first = sow("init")
    assert first.code == 0
    assert "  made   .sow/config.yaml\n" in first.out
    assert first.out.endswith("Next: sow project new NAME\n")
    second = sow("init")
    assert "  stood  .sow/config.yaml\n" in second.out
    assert "  made " not in second.out
    assert sow("init", "--json").json["made"] == []


def test_init_in_a_fresh_clone_leads_on_with_its_project(sow, begun, tmp_path):
    shutil.rmtree(tmp_path / ".sow/refs")  # git keeps no empty folder
    assert sow("init").out.endswith("Next: sow next\n")


def test_init_in_a_subfolder_completes_the_workspace_above(sow, tmp_path, monkeypatch):
    sow("init")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert sow("init", "--json").json["root"] == str(tmp_path)
    assert not (tmp_path / "src/.sow").exists()


def test_init_in_a_repository_below_a_workspace_makes_its_own(sow, tmp_path, monkeypatch):
    sow("init")
    (tmp_path / "inner/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inner")
    assert sow("init", "--json").json["root"] == str(tmp_path / "inner")


def test_init_goes_where_sow_root_says(sow, tmp_path, monkeypatch):
    monkeypatch.setenv("SOW_ROOT", "elsewhere")
    assert sow("init", "--json").json["root"] == str(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere/.sow/.version").read_text() == "1\n"


def test_new_project(sow, tmp_path):
    sow("init")
    done = sow("project", "new", "Sign-in", "--description", "For all")
    assert done.out == (
        "Project Sign-in begun in .sow/project\nNext: sow task add NAME --agent implementer;"
        " when all tasks are added: sow approve plan && sow advance\n"
    )
    record = sow("project", "status", "--json").json
    assert uuid.UUID(record["project"])
    assert (record["name"], record["description"], record["branch"]) == ("Sign-in", "For all", None)
    assert (record["phases"], record["task_count"]) == (["implementation"], 0)


def test_new_project_knows_its_branch(sow, tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "feat/x", tmp_path], check=True)
    sow("init")
    assert sow("project", "new", "P", "--json").json["branch"] == "feat/x"


def test_new_project_in_a_worktree_knows_its_branch(sow, tmp_path, monkeypatch):
    main = tmp_path / "main"
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    git = ["git", "-C", str(main), *who]
    subprocess.run(["git", "init", "-q", "-b", "trunk", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "-b", "side", "../side"], check=True)
    monkeypatch.chdir(tmp_path / "side")
    sow("init")
    assert sow("project", "new", "P", "--json").json["branch"] == "side"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("project", "new", ""), 4, "project.name: must not be empty"),
        (("project", "new", "x", "--phase", "A B"), 2, "not a phase name: 'A B'"),
        (("project", "new"), 2, "missing argument 'NAME'"),
        (("project", "status"), 4, "there is no project in"),
    ],
)
def test_project_refuses(sow, words, code, message):
    sow("init")
    done = sow(*words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"Error: {message}")


def test_a_refused_field_names_the_schema_of_its_own_file(begun):
    assert "`sow schema task`" in begun("task", "add", "", "--agent", "implementer").err
    assert "`sow schema task`" in begun("task", "set", "010", "name", "").err
    assert "`sow schema project`" in begun("project", "set", "name", "").err


def test_a_second_project_is_refused(begun):
    assert begun("project", "new", "x").err.startswith("Error: a project exists already")


def test_status_counts_by_phase(begun, state):
    begun("task", "add", "x", "--agent", "architect", "--phase", "design", "--new-phase")
    begun("task", "set", "010", "status", "in_progress")
    assert begun("project", "status").out == (
        "Sign-in\n"
        "standard project, planning\n"
        "\n"
        "PHASE           TASKS  PENDING  IN_PROGRESS\n"
        "implementation  2      1        1\n"
        "design          1      1        -\n"
    )
    assert begun("project", "status", "--json").json["tasks_by_phase"] == {
        "implementation": {"pending": 1, "in_progress": 1},
        "design": {"pending": 1},
    }


def test_status_tells_of_states_it_cannot_read(begun, state):
    state().write_text("task: [")
    done = begun("project", "status", "--json")
    assert done.code == 4
    assert str(state()) in done.lines[0]["invalid"][0]
    assert str(state()) in done.err


def test_schema_lists_and_prints(sow):
    assert [row["name"] for row in sow("schema", "--json").lines] == list(descriptions())
    assert "a task's state.yaml" in sow("schema").out
    for name, (type, _) in FILES.items():
        schema = sow("schema", name).json
        assert schema["$schema"].startswith("https://json-schema.org/")
        assert schema["$ref"] == f"#/$defs/{type.__name__}"


def test_the_task_schema_says_what_the_types_say(sow):
    schema = sow("schema", "task").json
    task = schema["$defs"]["Task"]
    assert task["properties"]["id"]["pattern"] == "^[0-9]{3,}$"
    assert task["additionalProperties"] is False
    assert "pending" in schema["$defs"]["TaskStatus"]["enum"]
    fields = msgspec.structs.fields(FILES["task"][0])[0].type
    assert list(task["properties"]) == [field.name for field in msgspec.structs.fields(fields)]


def test_an_unknown_schema_names_what_there_is(sow):
    done = sow("schema", "tsk")
    assert (done.code, done.err) == (
        2,
        "Error: there is no schema called 'tsk'\n\n"
        "Of files there are: task, project, references, knowledge, log, config, notification,"
        " repository. What a command prints with --json has the command's words for its name,"
        " such as"
        " `sow schema task show`;"
        " `sow schema` lists them all.\n",
    )


def test_a_working_folder_that_is_gone_is_told(sow, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    Path.rmdir(tmp_path / "gone")
    done = sow("task", "list")
    os.chdir(tmp_path)
    assert done.code == 4
    assert done.err.startswith("Error: the working folder no longer exists\n")


def test_json_is_readable_by_any_program(begun):
    begun("task", "set", "010", "name", "naïve 日本 \u2028 x")
    assert json.loads(begun("task", "show", "010", "--json").out)["name"] == "naïve 日本 \u2028 x"


def test_without_a_project_it_is_not_said_that_nobody_has_used_anything(sow):
    sow("init")
    assert sow("cost").err.startswith("There is no project here")


def test_a_project_that_was_begun_on_no_branch_ends_on_the_one_that_is_there(begun, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/work\n")
    assert begun("project", "abandon").code == 0
    assert "Sign-in is abandoned: commit .sow/knowledge/projects/" in begun("next").out
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/other\n")
    assert "Sign-in is abandoned: commit .sow/knowledge/projects/" in begun("next").out, (
        "nobody has committed it, whatever branch is checked out"
    )
