"""What the Tab key offers: asked for as the shells' scripts ask, in process, and by bash itself."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from in_process import Ended, run_in_process
from journeys.callers import await_runs, gate, open_gate
from journeys.site import Site

from sow.config.defaults import BUILT_IN_EXECUTORS

REPORT = {"sow": ["task", "set", "status", "needs_review"]}


def asked(site: Site, *words: str, shell: str = "bash", **env: str) -> str:
    """Complete the last of `words`, and return the shell's answer."""
    line = shlex.join(["sow", *words[:-1]]) + f" {words[-1]}"
    question = {
        "_SOW_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    done = run_in_process(env=site.environment({**question, **env}), cwd=site.root)
    assert (done.code, done.err) == (0, ""), done
    return done.out


def run(site: Site, *words: str, code: int = 0) -> Ended:
    """Run a command in this process."""
    done = run_in_process(*words, env=site.environment(), cwd=site.root)
    assert done.code == code, done
    return done


def offered(site: Site, *words: str, **env: str) -> list[str]:
    """Return what is offered for the last of `words`."""
    return [line.split(",", 1)[1] for line in asked(site, *words, **env).splitlines() if line]


def test_commands_in_the_order_of_the_help_and_options(site: Site) -> None:
    assert offered(site, "")[:3] == ["next", "status", "watch"]
    assert offered(site, "co") == ["cost", "config", "completion"]
    assert offered(site, "config", "")[:2] == ["path", "show"]
    assert offered(site, "worker", "st") == ["stop"]
    assert "--detach" in offered(site, "agent", "spawn", "--de")
    assert "--drain" in offered(site, "worker", "--")


def test_no_command_is_imported_to_offer_its_name(site: Site) -> None:
    code = (
        "import sys\n"
        "from sow.cli.tree import root\n"
        "import click\n"
        "items = root.shell_complete(click.Context(root), '')\n"
        "loaded = {name for name in sys.modules if name.startswith('sow.')}\n"
        "print(len(items) > 10, sorted(loaded))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    of_click = ("completing", "failure", "late_click", "lazy", "output", "this_call", "tree")
    modules = ["sow.cli"] + [f"sow.cli.{name}" for name in of_click]
    modules += ["sow.commands"]
    names = ("env_vars", "errors", "features", "ids", "plain_record", "terminal_text")
    modules += [f"sow.{name}" for name in names]
    assert done.stdout == f"True {modules}\n"


def test_roles(site: Site) -> None:
    assert offered(site, "agent", "spawn", "re") == ["researcher", "refactorer", "reviewer"]
    assert offered(site, "task", "add", "x", "--agent", "impl") == ["implementer"]


def test_tasks_and_none_twice(site: Site) -> None:
    site.project("010", "020", "100")
    assert offered(site, "agent", "spawn", "0") == ["010", "020"]
    assert offered(site, "agent", "spawn", "010", "") == ["020", "100"]
    assert offered(site, "task", "output", "02") == ["020"]
    assert offered(site, "task", "explain", "02") == ["020"]
    assert offered(site, "agent", "spawn", "implementer", "") == ["010", "020", "100"]
    assert offered(site, "agent", "spawn", "implementer", "010", "0") == ["020"]
    for words in (["agent", "wait"], ["agent", "cancel"], ["agent", "open"], ["task", "show"]):
        assert offered(site, *words, "1") == ["100"], words
    assert offered(site, "task", "show", "--id", "02") == ["020"]
    assert offered(site, "agent", "log", "--task", "02") == ["020"]


def test_a_resume_takes_one_task_and_then_your_own_words(site: Site) -> None:
    site.project("010")
    assert offered(site, "agent", "resume", "") == ["010"]
    assert offered(site, "agent", "resume", "010", "") == []


def test_fields_and_their_values(site: Site) -> None:
    site.project("010", "020")
    assert offered(site, "task", "set", "010", "st") == ["status"]
    assert offered(site, "task", "set", "sta") == ["status"]
    assert offered(site, "task", "set", "010", "status", "p") == ["pending", "paused"]
    assert offered(site, "task", "set", "status", "needs") == ["needs_review"]
    assert offered(site, "task", "set", "010", "assigned_agent", "te") == ["tester"]
    assert offered(site, "task", "set", "010", "depends_on", "02") == ["020"]
    assert offered(site, "task", "set", "010", "name", "") == []


def test_executors_those_of_your_own_among_them(site: Site) -> None:
    assert offered(site, "doctor", "") == list(BUILT_IN_EXECUTORS)
    site.configure({"agents": {"executors": {"claude-opus": {"type": "claude"}}}})
    assert offered(site, "doctor", "cl") == ["claude-code", "claude-opus"]


@pytest.mark.slow
def test_jobs_and_workers(site: Site) -> None:
    site.project("010", "020")
    site.script([[REPORT]], task="010")
    site.script([[gate("go"), REPORT]], task="020")
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    await_runs(site, 2)
    assert offered(site, "job", "show", "") == ["2", "1"]
    assert offered(site, "job", "cancel", "") == ["2"]
    (worker,) = site.workers()
    assert offered(site, "worker", "stop", "w") == [worker["worker"]]
    assert "spawn implementer 020: running" in asked(site, "job", "show", "", shell="zsh")
    open_gate(site, "go")
    site.sow("agent", "wait", "020")


def test_other_names(site: Site) -> None:
    assert offered(site, "schema", "conf") == ["config"]
    assert offered(site, "schema", "task", "se") == ["set"]
    assert offered(site, "schema", "log", "") == []
    assert offered(site, "completion", "") == ["bash", "zsh", "fish"]
    assert "guidance/reviewer/base" in offered(site, "prompt", "guidance/rev")
    assert offered(site, "prompt", "templates/rev") == ["templates/reviewer"]


def test_events_of_the_state_in_which_the_project_is(site: Site) -> None:
    run(site, "init")
    run(site, "project", "new", "Sign-in")
    assert offered(site, "advance", "") == ["execute"]
    assert offered(site, "approve", "") == ["plan"]


def test_documents_as_they_are_named_from_here(site: Site) -> None:
    run(site, "init")
    run(site, "project", "new", "Sign-in", "--type", "design")
    (site.root / "docs").mkdir()
    (site.root / "docs/design.md").write_text("One key.")
    run(site, "output", "add", "docs/design.md", "--type", "design")
    assert asked(site, "output", "add", "do", "--type") == "plain,--type\n"
    assert asked(site, "output", "add", "do") == "file,do\n"
    assert offered(site, "output", "remove", "") == ["docs/design.md"]
    assert offered(site, "output", "move", "") == ["docs/design.md"]
    assert offered(site, "input", "remove", "") == []
    assert offered(site, "approve", "") == ["docs/design.md"]
    assert asked(site, "output", "move", "docs/design.md", "--to", "d") == "file,d\n"


def test_units_feedback_phases_and_fields_of_a_project(site: Site) -> None:
    run(site, "init")
    run(site, "project", "new", "Big", "--type", "breakdown")
    run(site, "task", "add", "Tokens", "--agent", "implementer")
    run(site, "feedback", "add", "Too large")
    assert offered(site, "approve", "0") == ["010"]
    assert offered(site, "feedback", "settle", "") == ["001"]
    assert offered(site, "phase", "finish", "") == ["units"]
    assert offered(site, "project", "set", "d") == ["description"]
    (site.root / ".sow/knowledge/breakdown/big-1234").mkdir(parents=True)
    assert offered(site, "project", "new", "x", "--from-breakdown", "") == ["big-1234"]


def test_checks_of_the_repository(site: Site) -> None:
    site.project("010")
    (site.root / ".sow/config.yaml").write_text("checks: {unit: 'true', lint: 'true'}\n")
    assert offered(site, "task", "add", "x", "--check", "") == ["unit", "lint"]
    assert offered(site, "task", "check", "") == ["010", "unit", "lint"]
    assert offered(site, "task", "check", "010", "u") == ["unit"]
    assert offered(site, "project", "check", "unit", "") == ["lint"]
    assert offered(site, "task", "set", "010", "checks", "l") == ["lint"]


@pytest.mark.slow
def test_batches(site: Site) -> None:
    site.project("010")
    site.script([[REPORT]], task="010")
    site.sow("batch", "run", "--name", "night", "--wait", "60s", expect=None)
    for verb in ("show", "wait", "pause", "resume", "cancel", "add"):
        assert offered(site, "batch", verb, "") == ["night"], verb


def test_zsh_and_fish_get_the_descriptions_too(site: Site) -> None:
    assert asked(site, "agent", "spawn", "impl", shell="zsh") == (
        "plain\nimplementer\nWrites code, tests first\n"
    )
    assert "implementer\tWrites code, tests first" in asked(
        site, "agent", "spawn", "impl", shell="fish"
    ).replace("\n", "\t")


NOTHING = [
    ["agent", "wait", ""],
    ["job", "show", ""],
    ["worker", "stop", ""],
    ["no", "such", "command"],
    ["agent", "spawn", "implementer", ""],
    ["task", "show", "--no-such-option", ""],
]


@pytest.mark.parametrize("words", NOTHING, ids=" ".join)
def test_where_nothing_can_be_offered_nothing_is_said(site: Site, words: list[str]) -> None:
    """There is no project here; `asked` sees to exit code and stderr."""
    assert offered(site, *words) == []


def test_a_broken_configuration_or_queue_is_not_told_in_the_command_line(site: Site) -> None:
    site.project("010")
    site.config_file.parent.mkdir(parents=True)
    site.config_file.write_text("not: [valid")
    run = site.root / ".sow/run"
    run.mkdir(exist_ok=True)
    (run / "queue.db").write_text("no database" * 100)
    assert offered(site, "doctor", "") == []
    assert offered(site, "job", "show", "") == []
    assert offered(site, "agent", "wait", "") == ["010"]
    (run / "queue.db").unlink(missing_ok=True)  # it is put aside: nobody here has made it


def test_an_unknown_question_is_answered_with_silence(site: Site) -> None:
    done = site.sow(env={"_SOW_COMPLETE": "nonsense"}, expect=None)
    assert (done.out, done.err) == ("", "")
    done = site.sow(env={"_SOW_COMPLETE": "bash_complete"}, expect=None)  # no COMP_WORDS
    assert (done.out, done.err) == ("", "")


@pytest.mark.slow
def test_with_a_pythonpath_too(site: Site) -> None:
    """Then the command starts itself again, and has to pass the question on."""
    words = {"COMP_WORDS": "sow agent spawn impl", "COMP_CWORD": "3"}
    question = {"_SOW_COMPLETE": "bash_complete", **words}
    assert site.sow(env={**question, "PYTHONPATH": "/nowhere"}).out == "plain,implementer\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_the_shells_own(site: Site, shell: str) -> None:
    script = run(site, "completion", shell).out
    assert f"_SOW_COMPLETE={shell}_complete" in script
    record = json.loads(run(site, "completion", shell, "--json").out)
    assert (record["shell"], record["script"].strip()) == (shell, script.strip())


def test_a_variable_without_a_value_asks_for_nothing(site: Site) -> None:
    done = run_in_process("schema", env=site.environment({"_SOW_COMPLETE": ""}), cwd=site.root)
    assert done == run(site, "schema")


def test_another_shell_is_refused_with_the_choices(site: Site) -> None:
    refused = run(site, "completion", "tcsh", code=2)
    assert "'bash', 'zsh', 'fish'" in refused.err


FROM_SOW = 'eval "$(sow completion bash)"'
FROM_WHEEL = f". '{Path(__file__).parents[2] / 'release/completions/sow.bash'}'"
BASH = """
{source}
complete -p sow
COMP_WORDS=({words}) COMP_CWORD={index}
_sow_completion sow
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def by_bash(site: Site, words: list[str], source: str = FROM_SOW) -> list[str]:
    """Source the script in bash and let its function complete the last word."""
    bash = shutil.which("bash", path="/usr/local/bin:/usr/bin:/bin")
    if bash is None:
        skip_or_fail("needs bash")
    script = BASH.format(source=source, words=shlex.join(["sow", *words]), index=len(words))
    done = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", script],
        env=site.environment(),
        cwd=site.root,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    registered, *words = done.stdout.splitlines()
    assert registered.startswith("complete ")
    return [word for word in words if word]


@pytest.mark.slow
def test_bash_itself(site: Site) -> None:
    site.project("010", "020")
    assert by_bash(site, ["agent", "spawn", "impl"]) == ["implementer"]
    assert by_bash(site, ["agent", "spawn", "implementer", ""]) == ["010", "020"]
    assert by_bash(site, ["doctor", "w"]) == ["windsurf"]
    assert by_bash(site, ["job", "show", ""]) == []


@pytest.mark.slow
def test_bash_with_the_file_that_the_wheel_brings(site: Site) -> None:
    assert by_bash(site, ["agent", "spawn", "impl"], FROM_WHEEL) == ["implementer"]


def test_nothing_of_a_project_is_changed_by_asking(site: Site) -> None:
    site.project("010")
    before = sorted(Path(site.root).rglob("*"))
    for words in (["job", "show", ""], ["worker", "stop", ""], ["task", "show", ""]):
        offered(site, *words)
    assert sorted(Path(site.root).rglob("*")) == before
