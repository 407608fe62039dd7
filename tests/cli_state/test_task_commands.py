"""`sow task …`: what each prints, writes and refuses."""

import io
import re
import sys

import pytest


def test_add_prints_where_the_task_lies(begun, tmp_path):
    done = begun("task", "add", "Third", "--agent", "architect")
    assert done == (0, "Task 030 added: .sow/project/phases/implementation/tasks/030\n", "")


def test_add_takes_every_option(begun, tmp_path):
    (tmp_path / "about.md").write_text("# About\n")
    done = begun(
        "task", "add", "Third", "--agent", "architect", "--id", "025", "--phase", "design",
        "--new-phase",
        "--description-file", "about.md", "--depends-on", "010,020",
        "--depends-on", "010", "--json",
    )  # fmt: skip
    assert done.json["task"] == "025"
    assert done.json["phase"] == "design"
    assert done.json["depends_on"] == ["010", "020"]
    assert done.json["folder"] == ".sow/project/phases/design/tasks/025"
    folder = tmp_path / done.json["folder"]
    assert (folder / "description.md").read_text() == "# About\n"


def test_add_takes_a_description_in_words_or_from_stdin(begun, tmp_path, monkeypatch):
    folder = tmp_path / ".sow/project/phases/implementation/tasks"
    assert begun("task", "add", "x", "--agent", "implementer", "--description", "Do it").code == 0
    assert (folder / "030/description.md").read_text() == "Do it\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9 and more")))
    assert begun("task", "add", "x", "--agent", "implementer", "--description-file", "-").code == 0
    assert (folder / "040/description.md").read_text() == "caf\ufffd and more"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("x", "--agent", "implementr"), 2, "unknown agent: implementr"),
        (("x",), 2, "missing option '--agent'"),
        (("x", "--agent", "implementer", "--id", "010"), 4, "a task 010 exists already"),
        (("x", "--agent", "implementer", "--id", "../x"), 4, "not a task id: '../x'"),
        (("x", "--agent", "implementer", "--phase", "A/B"), 2, "not a phase name: 'A/B'"),
        (
            ("x", "--agent", "implementer", "--phase", "implementatoin"),
            4,
            "the project has no phase implementatoin\n\nDid you mean implementation?",
        ),
        (("x", "--agent", "implementer", "--depends-on", "070"), 4, "there is no task 070"),
        (("", "--agent", "implementer"), 4, "task.name: must not be empty"),
        (("x", "--agent", "implementer", "--description-file", "no"), 2, "no cannot be read"),
        (
            ("x", "--agent", "implementer", "--description", "a", "--description-file", "b"),
            *(2, "--description and --description-file are both given"),
        ),
    ],
)
def test_add_refuses(begun, words, code, message):
    done = begun("task", "add", *words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"Error: {message}")
    assert len(begun("task", "list", "--json").lines) == 2


def test_list(begun):
    listed = begun("task", "list").out
    shown = re.sub(
        r"UPDATED +", "UPDATED  ", re.sub(r"just now +|\d+ (s|min) ago +", "T  ", listed)
    )
    assert shown == (
        "ID   STATUS   AGENT        PHASE           ITERATION  UPDATED  WAITS FOR  NAME\n"
        "010  pending  implementer  implementation  1          T  -          Add JWT auth\n"
        "020  pending  reviewer     implementation  1          T  010        Review it\n"
    )


def test_list_filters(begun):
    begun("task", "set", "010", "status", "in_progress")
    assert [
        task["task"] for task in begun("task", "list", "--json", "--status", "pending").lines
    ] == ["020"]
    assert begun("task", "list", "--json", "--phase", "design").lines == []
    assert begun("task", "list", "--status", "done").code == 4


def test_list_shows_what_can_be_read_and_tells_the_rest(begun, state):
    state("010").write_text("task: [")
    done = begun("task", "list", "--json")
    assert (done.code, [task["task"] for task in done.lines]) == (4, ["020", None])
    assert str(state("010")) in done.err


def test_show(begun):
    out = begun("task", "show", "020").out
    assert out.startswith("020  Review it\n  status       pending\n")
    assert "  depends on   010\n" in out
    assert out.endswith("  folder       .sow/project/phases/implementation/tasks/020\n")


def test_show_json_has_every_key(begun):
    task = begun("task", "show", "010", "--json").json
    assert list(task) == [
        "task", "key", "name", "phase", "status", "agent", "iteration", "depends_on", "priority",
        "session_id", "session", "created_at", "updated_at", "started_at", "completed_at", "clone",
        "review", "references", "feedback", "files_modified", "checks", "requires", "check",
        "merged", "metadata", "folder", "used",
    ]  # fmt: skip
    assert task["session_id"] is None
    assert task["used"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", task["created_at"])


def test_show_tells_of_the_session(begun, state):
    state().write_text(state().read_text() + "  session_id: abc\n")
    assert "  session      abc (unknown executor, started)\n" in begun("task", "show", "010").out


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (("010", "status", "in_progress"), None),
        (("--id", "010", "status", "in_progress"), None),
        (("status", "in_progress", "--id", "010"), None),
        (("status", "in_progress"), "010"),
        (("010", "status", "in_progress"), "020"),
    ],
)
def test_set_in_every_form(begun, monkeypatch, words, variable):
    if variable:
        monkeypatch.setenv("SOW_TASK_ID", variable)
    done = begun("task", "set", *words)
    assert done == (0, "Task 010: status is in_progress\n", "")
    assert begun("task", "show", "--id", "010", "--json").json["status"] == "in_progress"
    assert begun("task", "show", "020", "--json").json["status"] == "pending"


def test_the_seeds_own_forms(begun, monkeypatch):
    begun("task", "set", "010", "status", "in_progress")
    assert begun("task", "set", "--id", "010", "status", "needs_review").code == 0
    assert begun("task", "set", "--id", "010", "status", "completed").code == 0
    assert begun("task", "show", "010", "--json").json["completed_at"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("010", "status", "done"), 4, "status: 'done' is not a status"),
        (("010", "status", "completed"), 4, "task 010 cannot go from pending to completed"),
        (("010", "iteration", "3"), 4, "iteration: sow counts iterations"),
        (("010", "nonsense", "3"), 4, "nonsense: a task has no such field"),
        (("010", "assigned_agent", "nobody"), 2, "unknown agent: nobody"),
        (
            ("010", "depends_on", "010"),
            4,
            "task 010 cannot have these dependencies: a task cannot wait for itself",
        ),
        (
            ("010", "depends_on", "020"),
            4,
            "task 010 cannot have these dependencies: it would wait for itself",
        ),
        (("010", "depends_on", "x"), 4, "not a task id: 'x'"),
        (("010", "name", ""), 4, "task.name: must not be empty"),
        (("030", "name", "x"), 4, "there is no task 030"),
        (("../010", "name", "x"), 4, "not a task id: '../010'"),
        (("name", "x"), 2, "no task is named"),
        (("010", "name"), 2, "`sow task set` takes [TASK]... FIELD VALUE, not 2 words"),
        (("010", "name", "x", "y"), 2, "`sow task set` takes [TASK]... FIELD VALUE, not 4 words"),
        (("10", "name", "x"), 4, "not a task id: '10'\n\nDid you mean 010? "),
    ],
)
def test_set_refuses_and_writes_nothing(begun, state, words, code, message):
    before = {path: path.read_bytes() for path in (state("010"), state("020"))}
    done = begun("task", "set", *words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"Error: {message}"), done.err
    assert "\n\n" in done.err
    assert {path: path.read_bytes() for path in before} == before


def test_set_other_fields(begun):
    for field, value in (
        ("name", "Other"),
        ("assigned_agent", "architect"),
        ("files_modified", "a.py,b c.py"),
        ("metadata.estimate", "3 days"),
    ):
        assert begun("task", "set", "010", field, value).code == 0
    task = begun("task", "show", "010", "--json").json
    assert (task["name"], task["agent"]) == ("Other", "architect")
    assert task["files_modified"] == ["a.py", "b c.py"]
    assert task["metadata"] == {"estimate": "3 days"}


def test_a_value_that_was_no_utf8(begun):
    assert begun("task", "set", "010", "name", "caf\udce9").code == 0
    assert begun("task", "show", "010", "--json").json["name"] == "caf\ufffd"


def test_the_agent_itself_ends_its_task_and_keeps_its_session(begun, state, as_agent):
    state().write_text(state().read_text() + "  session_id: abc\n")
    begun("task", "set", "010", "status", "in_progress")
    as_agent("010")
    assert begun("task", "set", "status", "completed").code == 0
    task = begun("task", "show", "--json").json
    assert (task["status"], task["session_id"]) == ("completed", "abc")


def test_an_orchestrator_ends_anothers_task_from_outside(begun, state, as_agent):
    state().write_text(state().read_text() + "  session_id: abc\n")
    begun("task", "set", "010", "status", "in_progress")
    as_agent("020", role="orchestrator")
    assert begun("task", "set", "010", "status", "completed").code == 0
    assert begun("task", "show", "010", "--json").json["session_id"] is None


def test_an_agent_of_another_checkout_is_not_this_tasks_own(begun, state, as_agent, monkeypatch):
    """Its SOW_TASK_ID names a task of its own checkout, which happens to have the same id."""
    state().write_text(state().read_text() + "  session_id: abc\n")
    begun("task", "set", "010", "status", "in_progress")
    as_agent("010")
    monkeypatch.delenv("SOW_ROOT")
    assert begun("task", "set", "010", "status", "completed").code == 0
    assert begun("task", "show", "010", "--json").json["session_id"] is None


def test_abandon_and_reopen(begun, monkeypatch):
    assert begun("task", "abandon", "010").out == "Task 010: status is abandoned\n"
    assert begun("task", "set", "010", "status", "pending").code == 4
    assert begun("task", "reopen", "010", "--json").json["status"] == "pending"
    monkeypatch.setenv("SOW_TASK_ID", "010")
    assert begun("task", "abandon", "--json").json["status"] == "abandoned"
    assert begun("task", "reopen").out == "Task 010 is pending\n"


def test_a_broken_state_is_shown_with_its_line(begun, state):
    state().write_text(state().read_text().replace("pending", "pendign"))
    done = begun("task", "show", "010")
    assert done.code == 4
    assert done.err.startswith(f"Error: {state()}, line 6, task.status: 'pendign' is not one of")
    assert "\n\n  status: pendign\n          ^\n" in done.err


@pytest.mark.parametrize(
    "command", [("list",), ("show", "010"), ("abandon", "010"), ("reopen", "010")]
)
def test_without_a_workspace_or_project(sow, command):
    assert sow("task", *command).err.startswith("Error: no .sow folder in ")
    assert sow("init").code == 0
    done = sow("task", *command)
    assert (done.code, done.err.splitlines()[-1]) == (4, "Start one: sow project new NAME")


def test_a_newer_folder(begun, tmp_path):
    (tmp_path / ".sow/.version").write_text("3\n")
    for words in (("list",), ("show", "010"), ("set", "010", "name", "x")):
        done = begun("task", *words)
        assert done.code == 4
        assert "this sow reads only version 2 and older" in done.err


def test_show_and_set_take_several_tasks(begun, state):
    done = begun("task", "set", "010", "020", "metadata.owner", "me")
    assert (done.code, done.out) == (
        0,
        "Task 010: metadata.owner is me\nTask 020: metadata.owner is me\n",
    )
    shown = begun("task", "show", "020", "--id", "010", "--json").lines
    assert [(task["task"], task["metadata"]) for task in shown] == [
        ("020", {"owner": "me"}),
        ("010", {"owner": "me"}),
    ]


def test_of_several_tasks_one_that_is_refused_does_not_stop_the_others(begun):
    done = begun("task", "show", "030", "010", "--json")
    refused, shown = done.lines
    assert (done.code, refused["task"], shown["task"]) == (4, "030", "010")
    assert refused["error"]["message"] == "there is no task 030"
    assert done.err.startswith("Error: 030: there is no task 030\n\n")


def test_a_filter_that_leaves_nothing_is_no_sign_that_there_are_no_tasks(begun):
    done = begun("task", "list", "--status", "failed", "--phase", "implementation")
    assert done.err == (
        "No task of phase implementation is failed. `sow task list` shows them all.\n"
    )


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ("taks", "list"),
            "sow taks",
            "Did you mean `sow task` or `sow stats`? See `sow --help`.",
        ),
        (("task", "lits"), "sow task lits", "Did you mean `sow task list`? See `sow task --help`."),
        (("xyz",), "sow xyz", "See `sow --help`."),
        (("spawn",), "sow spawn", "Did you mean `sow agent spawn`? See `sow --help`."),
        (
            ("task", "resume"),
            "sow task resume",
            "Did you mean `sow agent resume` or `sow batch resume` or `sow queue resume`? See `sow"
            " task --help`.",
        ),
        (("add",), "sow add", "See `sow --help`."),
    ],
)
def test_a_command_that_is_none_is_told_with_the_nearest(sow, words, message, hint):
    done = sow(*words)
    assert (done.code, done.err) == (2, f"Error: no such command: {message}\n\n{hint}\n")


@pytest.mark.parametrize("words", [("task", "show"), ("job", "show")])
@pytest.mark.parametrize("name", ["999", "x1"])
def test_a_wrong_id_has_one_exit_code(begun, words, name):
    assert begun(*words, name).code == 4


def test_the_list_tells_what_each_task_waits_for(begun):
    def waits_for(*options):
        header, *rows = begun("task", "list", *options).out.splitlines()
        return [row[header.index("WAITS FOR") :].split("  ")[0] for row in rows]

    begun("task", "add", "Ship it", "--agent", "integrator", "--depends-on", "010,020")
    assert waits_for() == ["-", "010", "010, 020"]
    for status in ("in_progress", "needs_review", "completed"):
        begun("task", "set", "010", "status", status)
    assert waits_for("--status", "pending") == ["-", "020"]


def test_a_folder_is_named_as_it_is_reached_from_here(begun, tmp_path, monkeypatch) -> None:
    """Whoever is told to write into it may stand in a folder below the root."""
    below = tmp_path / "src/web"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    added = begun("task", "add", "Third", "--agent", "tester").out.split(": ", 1)[1].strip()
    assert (below / added / "description.md").is_file()
    shown = begun("task", "show", "030").out
    assert added in shown
    record = begun("task", "show", "030", "--json").json["folder"]
    assert (tmp_path / record / "description.md").is_file()


def test_a_list_that_is_emptied_is_told_as_none(begun):
    begun("task", "add", "x", "--agent", "implementer")
    begun("task", "add", "y", "--agent", "implementer", "--depends-on", "010")
    done = begun("task", "set", "020", "depends_on", "")
    assert done.out == "Task 020: depends_on is none\n"
