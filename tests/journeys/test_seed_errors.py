"""The seeds' section "Error Handling", word for word, through the true CLI.

Exit codes are DESIGN §5's: 5 for the executor, 2 for usage, 4 for project and state.
"""

from pathlib import Path

import pytest
from built_in import BUILT_IN, RESUMABLE_IN_WORDS
from journeys.site import Site
from standins import read_runs

REPORT = [{"sow": ["task", "set", "status", "needs_review"]}]

UNKNOWN_EXECUTOR = """\
Error: unknown executor: aider

Available executors:
{executors}

{where}Check your configuration at ~/.config/sow/config.yaml
Run 'sow config path' to see the full path.
Run 'sow config init' to create a default configuration.
"""
EXECUTORS = "\n".join(f"  - {name}" for name in BUILT_IN)

NO_CURSOR = """\
Error: executor binary not found: cursor-agent

Executor "cursor" requires the cursor-agent CLI to be installed and available on PATH.

Install cursor-agent: see https://cursor.com/cli
"""

NO_RESUMPTION = f"""\
Error: executor "windsurf" does not support session resumption

Cannot resume task 010. Consider:
  - Spawning a new worker instance
  - Switching to an executor with session support \
({RESUMABLE_IN_WORDS})
"""

NO_SESSION = """\
Error: no session found for task 010

Task has not been started or session has expired.
Use `sow agent spawn implementer 010` to start a new session.
"""


def bind(site: Site, executor: str) -> None:
    site.configure({"agents": {"bindings": {"implementer": executor}}})


def nothing_happened(site: Site) -> bool:
    untouched = site.task("010")["status"] == "pending" and "session_id" not in site.task("010")
    return untouched and not read_runs(site.root)


def test_unknown_executor_bound_in_the_file(site: Site) -> None:
    """Seed 000: "When user configures unknown executor"."""
    site.project("010")
    bind(site, "aider")
    refused = site.sow("agent", "spawn", "implementer", "010", expect=5)
    assert (refused.out, refused.err) == (
        "",
        UNKNOWN_EXECUTOR.format(executors=EXECUTORS, where=""),
    )
    assert nothing_happened(site)


def test_unknown_executor_bound_by_a_variable(site: Site) -> None:
    """DESIGN §5: exit 5 for an executor "unknown (however it was bound)"; the variable is named."""
    site.project("010")
    where = "The environment variable SOW_AGENTS_IMPLEMENTER names it.\n"
    refused = site.sow(
        *("agent", "spawn", "implementer", "010"),
        env={"SOW_AGENTS_IMPLEMENTER": "aider"},
        expect=5,
    )
    assert (refused.out, refused.err) == (
        "",
        UNKNOWN_EXECUTOR.format(executors=EXECUTORS, where=where),
    )
    assert nothing_happened(site)


def test_unknown_executor_names_the_platforms_own_path(site: Site, tmp_path: Path) -> None:
    """Seed 000: "All error messages and help text show platform-appropriate paths"."""
    site.project("010")
    elsewhere = tmp_path / "xdg"
    refused = site.sow(
        *("agent", "spawn", "implementer", "010"),
        env={"SOW_AGENTS_IMPLEMENTER": "aider", "XDG_CONFIG_HOME": str(elsewhere)},
        expect=5,
    )
    assert f"Check your configuration at {elsewhere}/sow/config.yaml\n" in refused.err


def test_unknown_executor_on_a_resume(site: Site) -> None:
    """A task whose session says nothing of its executor is resumed by the bound one."""
    site.project("010")
    bind(site, "aider")
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert (refused.out, refused.err) == (
        "",
        UNKNOWN_EXECUTOR.format(executors=EXECUTORS, where=""),
    )


def test_binary_not_found(site: Site) -> None:
    """Seed 000: "When configured executor binary doesn't exist on PATH"."""
    site.project("010")
    bind(site, "cursor")
    (site.base / "bin/cursor-agent").unlink()
    refused = site.sow("agent", "spawn", "implementer", "010", expect=5)
    assert (refused.out, refused.err) == ("", NO_CURSOR)
    assert nothing_happened(site)


@pytest.mark.parametrize(
    ("executor", "binary"), [("claude-code", "claude"), ("cursor", "cursor-agent")]
)
def test_binary_not_found_on_a_resume(site: Site, executor: str, binary: str) -> None:
    """The same check, before a resume is queued: the task stays as it was."""
    site.project("010")
    site.configure(
        {
            "agents": {
                "executors": {executor: {"settings": {"yolo_mode": True}}},
                "bindings": {"implementer": executor},
            }
        }
    )
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    before = site.task("010")
    (site.base / "bin" / binary).unlink()
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert refused.err.startswith(f"Error: executor binary not found: {binary}\n")
    assert site.task("010") == before
    assert "Use RS256" not in (site.task_folder("010") / "log.md").read_text()


def test_session_resumption_not_supported(site: Site) -> None:
    """Seed 000: "task assigned to Windsurf (no session support)"."""
    site.project("010")
    bind(site, "windsurf")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    assert "session_id" not in site.task("010")
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert (refused.out, refused.err) == ("", NO_RESUMPTION)


def test_resumption_not_supported_is_told_before_a_missing_session(site: Site) -> None:
    """DESIGN §5, exit 5: "cannot resume (told before a missing session)"."""
    site.project("010")
    bind(site, "windsurf")
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert (refused.out, refused.err) == ("", NO_RESUMPTION)


def test_spawning_a_new_worker_instance_is_possible_as_that_error_says(site: Site) -> None:
    """DESIGN §5: "an executor without sessions always respawns"."""
    site.project("010")
    bind(site, "windsurf")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "spawn", "implementer", "010", "--prompt", "Use RS256")
    first, second = read_runs(site.root)
    assert (first.verb, second.verb) == ("spawn", "spawn")
    assert "Use RS256" in second.prompt


def test_switching_to_an_executor_with_sessions_is_possible_too(site: Site) -> None:
    """The second remedy of the same error: nothing of the windsurf run is in the way."""
    site.project("010")
    bind(site, "windsurf")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    bind(site, "claude-code")
    site.sow("agent", "spawn", "implementer", "010")
    assert [run.cli for run in read_runs(site.root)] == ["windsurf", "claude"]
    assert site.task("010")["session"]["executor"] == "claude-code"


def test_session_id_missing(site: Site) -> None:
    """Seed 000: "When attempting to resume but no session exists"."""
    site.project("010")
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert (refused.out, refused.err) == ("", NO_SESSION)
    assert nothing_happened(site)


def test_the_error_names_the_tasks_own_agent(site: Site) -> None:
    """The command that it recommends is one that works."""
    site.project("010", agent="architect")
    site.script([REPORT])
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    (command,) = [line.split("`")[1] for line in refused.err.splitlines() if "`" in line]
    assert command == "sow agent spawn architect 010"
    site.sow(*command.split()[1:])


def test_unknown_agent(site: Site) -> None:
    """Seed 000, agent registry: "unknown agent: %s"; DESIGN §5: exit 2."""
    site.project("010")
    refused = site.sow("agent", "spawn", "implementor", "010", expect=2)
    assert refused.err.startswith("Error: unknown agent: implementor\n\n")
    assert nothing_happened(site)


def test_unknown_executor_type(site: Site) -> None:
    """Seed 000, `LoadExecutors`: "unknown executor type"; DESIGN §10: file, key and reason."""
    site.project("010")
    site.configure({"agents": {"executors": {"mine": {"type": "aider"}}}})
    refused = site.sow("agent", "spawn", "implementer", "010", expect=3)
    for part in ("~/.config/sow/config.yaml", "agents.executors.mine.type", "aider"):
        assert part in refused.err
    assert nothing_happened(site)


def test_unknown_task(site: Site) -> None:
    """DESIGN §5: exit 4 for an unknown task, for spawn and resume alike."""
    site.project("010")
    for words in (("spawn", "implementer", "020"), ("resume", "020", "Use RS256")):
        refused = site.sow("agent", *words, expect=4)
        assert refused.err.startswith("Error: there is no task 020\n\n")


def test_no_folder_of_sows(site: Site) -> None:
    """DESIGN §5: exit 4 where no project is found; `config` works there all the same."""
    refused = site.sow("agent", "spawn", "implementer", "010", expect=4)
    assert "sow init" in refused.err
    assert site.sow("config", "path").out == f"{site.config_file}\n"
