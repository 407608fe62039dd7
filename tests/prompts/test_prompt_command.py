import json
import os
import subprocess
import sys

import pytest

from sow.agents.roles import AGENTS
from sow.cli.agent_list import list_agents
from sow.cli.prompt import prompt
from sow.cli.root import run
from sow.prompts.library import list_prompts, load_prompt

HEAVY = ("huey", "rich", "yaml", "ruamel", "msgspec", "platformdirs", "subprocess")


def loaded_after(arguments, cwd):
    """Run the true command and return its exit code and the modules that it imported."""
    code = (
        "import sys\n"
        "from sow.cli.root import run\n"
        "code = run(sys.argv[1:])\n"
        "print('MODULES', code, *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    last = done.stdout.splitlines()[-1].split()
    return int(last[1]), set(last[2:])


def test_a_prompt_is_printed_as_it_lies(capsys):
    assert run(["prompt", "guidance/implementer/tdd"]) == 0
    assert capsys.readouterr().out == load_prompt("guidance/implementer/tdd")


def test_a_prompt_as_json(capsys):
    assert run(["prompt", "guidance/implementer/tdd", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == {
        "name": "guidance/implementer/tdd",
        "text": load_prompt("guidance/implementer/tdd"),
    }


def test_the_list_of_prompts(capsys):
    assert run(["prompt", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  # ")[0] for line in lines] == list_prompts()


def test_the_list_names_what_exits_with_3_here(capsys, monkeypatch, tmp_path):
    """In a folder without `.sow`, exactly those that the list marks."""
    monkeypatch.chdir(tmp_path)
    run(["prompt", "--list"])
    lines = capsys.readouterr().out.splitlines()
    marked = {line.split("  # ")[0] for line in lines if "elsewhere exit 3" in line}
    assert "greeting/agent" in marked
    refused = {name for name in list_prompts() if run(["prompt", name]) == 3}
    assert refused == marked


def test_the_list_names_what_a_team_has_made_unusable(capsys, monkeypatch, tmp_path):
    team = tmp_path / ".sow/prompts"
    broken = {
        "guidance/tester/base": "{{nonesuch}}",
        "guidance/tester/cases": "{{include guidance/none}}",
        "guidance/tester/faults": "",
    }
    texts = {**broken, "guidance/implementer/base": "{{task}}", "greeting/reviewer": "Judge it."}
    for name, text in texts.items():
        (team / name).parent.mkdir(parents=True, exist_ok=True)
        (team / f"{name}.md").write_text(text)
    monkeypatch.chdir(tmp_path)
    run(["prompt", "--list"])
    lines = dict(line.partition("  # ")[::2] for line in capsys.readouterr().out.splitlines())
    fault = "cannot be used: exit 3; `sow prompt --check` says why"
    assert {name for name, words in lines.items() if words == fault} == set(broken)
    assert lines["guidance/implementer/base"].endswith("; elsewhere exit 3")
    assert lines["greeting/reviewer"] == ""
    assert all(run(["prompt", name]) == 3 for name in broken)


def test_the_list_of_prompts_as_json(capsys):
    assert run(["prompt", "--list", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records == [{"name": name} for name in list_prompts()]


@pytest.mark.parametrize("option", ["--list", "--check"])
def test_a_call_that_asks_for_two_things_is_a_usage_error(option, capsys):
    assert run(["prompt", option, "guidance/implementer/base"]) == 2
    assert capsys.readouterr().err.startswith(
        "Error: give the name of one prompt, --list, --where or --check, or nothing\n\n"
    )


def test_an_unknown_prompt_on_the_command_line(capsys):
    assert run(["prompt", "guidance/implementor/base"]) == 2
    assert capsys.readouterr().err == (
        "Error: unknown prompt: guidance/implementor/base\n\n"
        "The nearest are:\n"
        "  - guidance/implementer/base\n"
        "  - guidance/implementer/bug\n"
        "  - guidance/implementer/tdd\n\n"
        "Run `sow prompt --list` to see them all.\n"
    )


def test_prompt_works_anywhere_and_imports_nothing_heavy(tmp_path):
    code, modules = loaded_after(["prompt", "guidance/implementer/base"], tmp_path)
    assert code == 0
    assert modules.isdisjoint(HEAVY)
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_reaches_an_agent_whose_shell_knows_no_unicode():
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sow", "prompt", "guidance/implementer/base"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == load_prompt("guidance/implementer/base")
    assert not done.stdout.isascii()


def test_agents_are_listed_in_aligned_columns(capsys):
    list_agents.for_click.main([], standalone_mode=False)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "DESCRIPTION", "CAPABILITIES"]
    assert [row.split()[0] for row in rows] == [agent.name for agent in AGENTS]
    for row, agent in zip(rows, AGENTS, strict=True):
        assert row[head.index("DESCRIPTION") :].startswith(agent.description)
        assert row[head.index("CAPABILITIES") :] == agent.capabilities


def test_agents_as_json(capsys):
    list_agents.for_click.main(["--json"], standalone_mode=False)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["agent"] for record in records] == [agent.name for agent in AGENTS]
    assert all(
        set(record) == {"agent", "description", "capabilities", "executors"} for record in records
    )


def test_a_list_of_executors_is_shown(capsys, tmp_path, monkeypatch):
    path = tmp_path / "config.yaml"
    path.write_text("agents: {bindings: {tester: [codex, cursor]}}")
    monkeypatch.setenv("SOW_CONFIG", str(path))
    list_agents.for_click.main([], standalone_mode=False)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "EXECUTORS", "DESCRIPTION", "CAPABILITIES"]
    (row,) = [row for row in rows if row.startswith("tester ")]
    assert row[head.index("EXECUTORS") :].startswith("codex, cursor  ")
    list_agents.for_click.main(["--json"], standalone_mode=False)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    named = {record["agent"]: record["executors"] for record in records}
    assert (named["tester"], named["planner"]) == (["codex", "cursor"], ["claude-code"])
    path.write_text("agents: [")
    list_agents.for_click.main(["--json"], standalone_mode=False)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["executors"] for record in records} == {None}


@pytest.mark.slow
def test_agent_list_imports_neither_queue_nor_yaml_nor_tables(tmp_path):
    code = (
        "import sys\n"
        "from sow.cli.agent_list import list_agents\n"
        "list_agents.for_click.main([], standalone_mode=False)\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    modules = set(done.stdout.splitlines()[-1].split())
    assert modules.isdisjoint({"huey", "rich", "yaml", "ruamel", "platformdirs", "subprocess"})


def test_both_commands_have_help():
    for command in (prompt, list_agents):
        assert command.for_click.help
