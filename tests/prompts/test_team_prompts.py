"""A team's own texts: what takes the place of sow's own, what is added, and what is refused."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.cli.root import run
from sow.errors import ExitCode
from sow.paths import Workspace
from sow.prompts.library import (
    BadPromptFile,
    UnknownPrompt,
    all_parts,
    list_prompts,
    list_templates,
    load_prompt,
    parts_of,
)
from sow.prompts.variables import VARIABLES, UnfilledPrompt, fill, variables_of
from sow.state.projects import change_project

BASE = "guidance/implementer/base"


@pytest.fixture
def team(tmp_path, monkeypatch, capsys):
    """Return the folder of a team's texts, in a workspace with a project and a task."""
    monkeypatch.chdir(tmp_path)
    add = ("task", "add", "Add  the\tlogin", "--agent", "implementer")
    for words in (("init",), ("project", "new", "Sign-in"), add):
        assert run(words) == 0
    capsys.readouterr()
    folder = tmp_path / ".sow/prompts"
    folder.mkdir()
    return folder


def write(team: Path, name: str, text: str) -> Path:
    file = team / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_text_takes_the_place_of_sows_own_and_another_is_added(team):
    write(team, f"{BASE}.md", "Ours.\n\n")
    write(team, f"{BASE}.add.md", "And more.")
    assert load_prompt(BASE, team, {}) == "Ours.\n\nAnd more.\n"
    assert [part.is_teams for part in parts_of(BASE, team)] == [True, True]


def test_what_is_added_comes_after_sows_own(team):
    write(team, f"{BASE}.add.md", "And more.")
    assert load_prompt(BASE, team) == f"{load_prompt(BASE)}\nAnd more.\n"
    assert load_prompt("guidance/tester/base", team) == load_prompt("guidance/tester/base")


def test_sows_own_texts_need_no_facts_but_for_the_greetings():
    """So that each of the others can be printed anywhere."""
    for name in (*list_prompts(), *list_templates()):
        if name.startswith("greeting/"):
            texts = [part.text for part in all_parts(name)]
            assert {each for text in texts for _, each in variables_of(text)} <= set(VARIABLES)
        else:
            assert load_prompt(name)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda file: file.mkdir(parents=True), "folder"),
        (lambda file: file.write_bytes(b"caf\xe9"), "is not UTF-8 (byte 3)"),
        (lambda file: file.write_text(" \n"), "is empty"),
        (lambda file: file.write_bytes(b"x" * 300_000), "262144"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(team, make, words):
    file = team / f"{BASE}.md"
    file.parent.mkdir(parents=True)
    make(file)
    with pytest.raises(BadPromptFile) as refused:
        load_prompt(BASE, team)
    assert str(file) in str(refused.value)
    assert words in str(refused.value).replace(",", "").replace(" bytes", "") or words == "262144"


def test_no_name_leads_out_of_the_package(team):
    write(team, "secret.md", "x")
    for name in ("secret", "../secret", "guidance/../../secret"):
        with pytest.raises(UnknownPrompt):
            load_prompt(name, team)


def test_a_link_that_leads_out_of_the_repository_is_refused(team, tmp_path_factory):
    """What it leads to would go to an agent's CLI, and to whoever runs the model behind it."""
    secret = tmp_path_factory.mktemp("home") / "credentials"
    secret.write_text("the key\n")
    file = write(team, f"{BASE}.add.md", "x")
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(BadPromptFile) as refused:
        load_prompt(BASE, team)
    assert refused.value.why == "leads out of the repository"
    folder = team / "guidance/tester"
    folder.symlink_to(secret.parent)
    (secret.parent / "base.add.md").write_text("the key\n")
    with pytest.raises(BadPromptFile):
        load_prompt("guidance/tester/base", team)
    assert run(["prompt", "--check"]) == 3


def test_a_link_within_the_repository_is_followed_and_so_is_one_of_the_whole_folder(
    team, tmp_path, tmp_path_factory
):
    (tmp_path / "AGENTS.md").write_text("As everywhere.\n")
    file = write(team, f"{BASE}.md", "x")
    file.unlink()
    file.symlink_to(tmp_path / "AGENTS.md")
    assert load_prompt(BASE, team) == "As everywhere.\n"
    shared = tmp_path_factory.mktemp("shared")
    team.rename(shared / "prompts")
    team.symlink_to(shared / "prompts")
    assert load_prompt(BASE, team) == "As everywhere.\n"


@pytest.mark.parametrize(
    "text", ["{" * 200_000, "{{a " * 50_000 + "\n}}", "{{" * 9 + "\n" * 90_000]
)
def test_braces_that_are_never_closed_take_no_time(text):
    """Were each tried up to the line's end, a worker would stand still for minutes."""
    assert fill(text, {}, "x.md") == text


CHAIN = list_prompts()[:14]
"""Names of texts that include each other, the first one the next one and so on."""


def test_texts_that_include_each_other_often_are_read_once_and_end_at_a_limit(team):
    """Ten times in each of fourteen texts: some 10 to the power of 14 lines."""
    for name, inner in pairwise(CHAIN):
        write(team, f"{name}.md", f"{{{{include {inner}}}}}\n" * 10)
    write(team, f"{CHAIN[-1]}.md", "Hello.")
    with pytest.raises(UnfilledPrompt) as refused:
        load_prompt(CHAIN[0], team)
    assert "makes a prompt of more than 4 MiB" in str(refused.value)
    assert len(load_prompt(CHAIN[-4], team)) > 1000
    assert run(["prompt", "--check"]) == 3


def test_a_variable_that_is_named_often_is_asked_for_once_and_ends_at_the_limit(team):
    asked = []

    def description() -> str:
        asked.append("description")
        return "d" * 100_000

    write(team, f"{BASE}.md", "{{description}}\n" * 30)
    assert len(load_prompt(BASE, team, {"description": description})) == 30 * 100_001
    write(team, f"{BASE}.md", "{{description}}\n" * 10_000)
    with pytest.raises(UnfilledPrompt) as refused:
        load_prompt(BASE, team, {"description": description})
    assert "line 42: {{description}} makes a prompt of more than" in str(refused.value)
    assert len(asked) == 2


# variables


def test_each_variable_is_filled_in_and_two_braces_can_be_said():
    facts = {name: lambda name=name: f"<{name}>" for name in VARIABLES}
    text = " ".join(f"{{{{ {name} }}}}" for name in VARIABLES) + r" \{{task}}"
    assert fill(text, facts, "x") == " ".join(f"<{name}>" for name in VARIABLES) + " {{task}}"


def test_an_unknown_variable_is_an_error_with_its_file_its_line_and_the_nearest():
    with pytest.raises(UnfilledPrompt) as refused:
        fill("a\n{{tusk}}", {"task": lambda: "010"}, "x.md")
    assert str(refused.value) == "x.md, line 2: {{tusk}} is no variable of a prompt"
    assert refused.value.hint.startswith("Did you mean {{task}}? ")
    for name in VARIABLES:
        assert f"{{{{{name}}}}}" in refused.value.hint


@pytest.mark.parametrize("facts", [{}, {"task": lambda: None}, {"task": lambda: ""}])
def test_a_missing_variable_is_an_error_that_says_where_it_has_a_value(facts):
    """Nothing is left out silently: an empty value is a hole as well."""
    with pytest.raises(UnfilledPrompt) as refused:
        fill("{{task}}", facts, "x.md")
    assert str(refused.value) == "x.md, line 1: {{task}} has no value here"
    assert "It has one in what the agent of a task reads." in refused.value.hint


@pytest.mark.parametrize("name", VARIABLES)
def test_no_variable_has_a_default(name):
    with pytest.raises(UnfilledPrompt) as refused:
        fill(f"{{{{{name}}}}}", {}, "x.md")
    assert VARIABLES[name].given in refused.value.hint


@given(st.text())
def test_a_text_without_braces_stays_as_it_is(text):
    text = text.replace("{{", "")
    assert fill(text, {}, "x") == text


def test_what_a_variable_brings_is_not_filled_in_again():
    assert fill("{{task}}", {"task": lambda: "{{root}}"}, "x") == "{{root}}"


# includes


def test_a_text_includes_another_with_its_variables_filled_in(team):
    write(team, "shared/protocol.md", "Report {{task}}.\n")
    write(team, f"{BASE}.md", "Ours.\n\n{{include shared/protocol}}\n\nEnd.")
    text = load_prompt(BASE, team, {"task": lambda: "010"})
    assert text == "Ours.\n\nReport 010.\n\nEnd.\n"
    assert [part.name for part in all_parts(BASE, team)] == [BASE, "shared/protocol"]


def test_a_replaced_protocol_is_in_every_workers_base(team):
    write(team, "shared/protocol.md", "## Our own way")
    for role in ("tester", "planner", "documenter"):
        assert load_prompt(f"guidance/{role}/base", team).endswith("## Our own way\n")


@pytest.mark.parametrize(
    ("text", "why", "remedy"),
    [
        ("{{include shared/protokoll}}", "names no prompt", "sow prompt --list"),
        ("{{include ../secret}}", "names no prompt", "sow prompt --list"),
        (f"{{{{include {BASE}}}}}", f"circle: {BASE} includes {BASE}", f"{BASE}.add.md"),
    ],
)
def test_what_cannot_be_included_is_an_error_with_file_and_line(team, text, why, remedy, capsys):
    file = write(team, f"{BASE}.md", f"Ours.\n{text}\n")
    with pytest.raises(UnfilledPrompt) as refused:
        load_prompt(BASE, team)
    assert str(refused.value).startswith(f"{file}, line 2: {text} ")
    assert why in str(refused.value)
    assert remedy in refused.value.hint
    assert run(["prompt", "--check"]) == ExitCode.CONFIGURATION
    assert f"{file}, line 2: {text} " in capsys.readouterr().out


def test_a_circle_over_two_texts_is_an_error_and_not_a_hang(team, capsys):
    write(team, f"{BASE}.md", "{{include shared/protocol}}")
    file = write(team, "shared/protocol.add.md", f"{{{{include {BASE}}}}}")
    with pytest.raises(UnfilledPrompt, match="leads round in a circle") as refused:
        load_prompt(BASE, team)
    assert refused.value.source == str(file)
    assert run(["prompt", "--where", BASE]) == 0
    assert run(["prompt", "--check"]) == ExitCode.CONFIGURATION
    assert "leads round in a circle" in capsys.readouterr().out


def test_a_base_that_says_nothing_of_reporting_is_warned_of(team, capsys):
    file = write(team, f"{BASE}.md", "Do it well.")
    assert run(["prompt", "--check"]) == 0
    assert f"{file} does not say how its agent reports" in capsys.readouterr().out
    file.write_text("Do it well.\n\n{{include shared/protocol}}\n")
    assert run(["prompt", "--check"]) == 0
    assert "does not say" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("greeting/no-workspace", "root"),
        ("greeting/no-project", "project"),
        ("greeting/orchestrator", "task"),
        ("states/standard/planning", "iteration"),
        ("templates/tester", "next"),
    ],
)
def test_a_variable_that_no_reader_of_a_text_has_is_found_by_the_check(
    team, capsys, name, variable
):
    file = write(team, f"{name}.add.md", f"{{{{{variable}}}}}")
    assert run(["prompt", "--check"]) == ExitCode.CONFIGURATION
    assert f"{file}, line 1: {{{{{variable}}}}} has no value here" in capsys.readouterr().out


# the command


def test_the_prompt_of_an_agent_names_its_task(team, capsys, monkeypatch):
    write(team, f"{BASE}.md", "{{role}} of {{project}}: {{task}} {{task_name}} in {{task_folder}}")
    monkeypatch.setenv("SOW_TASK_ID", "010")
    monkeypatch.setenv("SOW_AGENT", "implementer")
    monkeypatch.setenv("SOW_ROOT", str(team.parents[1]))
    assert run(["prompt", BASE]) == 0
    folder = team.parent / "project/phases/implementation/tasks/010"
    assert capsys.readouterr().out == f"implementer of Sign-in: 010 Add the login in {folder}\n"


def test_a_variable_without_a_value_is_refused(team, capsys):
    file = write(team, f"{BASE}.md", "Do {{task}}.")
    assert run(["prompt", BASE]) == ExitCode.CONFIGURATION
    assert f"{file}, line 1: {{{{task}}}} has no value here" in capsys.readouterr().err


def test_where_names_every_file(team, capsys):
    file = write(team, f"{BASE}.add.md", "More.")
    assert run(["prompt", "--where", BASE]) == 0
    own, teams, included = capsys.readouterr().out.splitlines()
    assert own.endswith("implementer/base.md (sow's own)")
    assert teams == f"{BASE}  {file} (the team's)"
    assert included.startswith("shared/protocol  ")
    assert run(["prompt", "--where", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["name"] for record in records} == {*list_prompts(), *list_templates()}
    here = {record["name"] for record in records if record["is_in_yours"]}
    assert here == {"greeting/orchestrator", "states/standard/planning"}


def test_check_tells_all_that_is_wrong(team, capsys):
    write(team, f"{BASE}.md", "Run `sow task set status needs_review`.")
    write(team, "templates/tester.add.md", "{{tusk}}\n\n```bash\nsow task sett status done\n```\n")
    write(team, "guidance/nobody/base.md", "x")
    assert run(["prompt", "--check"]) == ExitCode.CONFIGURATION
    out = capsys.readouterr().out
    assert "takes the place of guidance/implementer/base" in out
    assert "templates/tester.add.md, line 1: {{tusk}} is no variable of a prompt" in out
    assert "templates/tester.add.md, line 4: `sow task` has no command 'sett'" in out
    assert "guidance/nobody/base.md belongs to no prompt" in out
    assert run(["prompt", "--check", "--json"]) == ExitCode.CONFIGURATION
    assert json.loads(capsys.readouterr().out)["valid"] is False


def test_nothing_is_wrong_without_any(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["prompt", "--check"]) == 0
    assert "There are no prompts of the team's own" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--list", "--where"], ["--check", BASE], ["--list", BASE]])
def test_what_is_not_one_question_is_refused(words, capsys):
    assert run(["prompt", *words]) == 2


# a call


def test_a_dry_run_shows_the_teams_template_and_a_broken_one_is_refused(team, capsys, monkeypatch):
    program = team.parents[1] / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    file = write(team, "templates/implementer.md", "We build {{project}}.")
    change_project(Workspace(team.parents[1]), lambda _: {"state": "executing"}, now=0.0)
    assert run(["agent", "spawn", "implementer", "010", "--dry-run"]) == 0
    assert "We build Sign-in.\n" in capsys.readouterr().out
    file.write_text("We build {{this}}.")
    assert run(["agent", "spawn", "implementer", "010"]) == ExitCode.CONFIGURATION
    assert f"{file}, line 1: {{{{this}}}} is no variable of a prompt" in capsys.readouterr().err
