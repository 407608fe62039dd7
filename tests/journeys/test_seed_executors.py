"""Executors other than Claude Code, and sessions that outlive their binding.

Seed 000: "2-3 executors expected"; seed 001: "Works universally across all
agent CLIs", and "any subprocess (Claude, Cursor, Windsurf, shell scripts)".
"""

import sys
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import besides_news
from journeys.site import Site
from standins import CursorDialect, install_standins, read_runs

STATUS = {"sow": ["task", "set", "status", "needs_review"]}
REPORT = [STATUS]
CRASH = [{"say": "working"}, {"crash": 3}]
IMPLEMENTER_BY_CURSOR = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
CURSOR = {
    "agents": {
        "executors": {
            "cursor": {
                "settings": {"yolo_mode": True, "model": "gpt-5"},
                "custom_args": ["--header", "X: 1"],
            }
        }
    }
}
OPTIONS = ("--force", "--model", "gpt-5")


def install(site: Site, dialect: CursorDialect) -> None:
    install_standins(site.base / "bin", sys.executable, cursor=dialect)


def test_cursor_of_today_on_spawn_retry_and_resume(site: Site) -> None:
    """DESIGN §7: `cursor-agent -p --trust --output-format stream-json [--force] … --resume ID`."""
    site.project("010")
    site.script([CRASH, REPORT])
    site.configure(CURSOR)
    site.sow("agent", "spawn", "implementer", "010", env=IMPLEMENTER_BY_CURSOR)
    site.sow("agent", "resume", "010", "go on", env=IMPLEMENTER_BY_CURSOR)
    stream = ("-p", "--trust", "--output-format", "stream-json")
    session = ("--resume", site.task("010")["session_id"])
    runs = read_runs(site.root)
    assert [run.verb for run in runs] == ["spawn", "resume", "resume"]
    assert {run.argv for run in runs} == {(*stream, *OPTIONS, *session, "--header", "X: 1")}


def test_the_seeds_cursor_on_spawn_retry_and_resume(site: Site) -> None:
    """DESIGN §7: `cursor-agent agent --chat-id U`, then `cursor-agent agent --resume U`."""
    install(site, CursorDialect.SEEDS)
    site.project("010")
    site.script([CRASH, REPORT])
    settings = {"yolo_mode": True, "model": "gpt-5"}
    site.configure({"agents": {"executors": {"cursor": {"settings": settings}}}})
    site.sow("agent", "spawn", "implementer", "010", env=IMPLEMENTER_BY_CURSOR)
    site.sow("agent", "resume", "010", "go on", env=IMPLEMENTER_BY_CURSOR)
    session = site.task("010")["session_id"]
    assert [run.argv for run in read_runs(site.root)] == [
        ("agent", *OPTIONS, "--chat-id", session),
        ("agent", *OPTIONS, "--resume", session),
        ("agent", *OPTIONS, "--resume", session),
    ]


def test_a_session_keeps_its_dialect_when_the_cli_changes(site: Site) -> None:
    """DESIGN §7: the dialect is "kept in `session.dialect`"."""
    install(site, CursorDialect.SEEDS)
    site.project("010")
    site.script([REPORT])
    site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    site.sow("agent", "spawn", "implementer", "010", env=IMPLEMENTER_BY_CURSOR)
    install(site, CursorDialect.TODAY)
    site.sow("agent", "resume", "010", "go on", env=IMPLEMENTER_BY_CURSOR)
    session = site.task("010")["session_id"]
    assert read_runs(site.root)[1].argv == ("agent", "--force", "--resume", session)


def test_windsurf_gets_its_custom_args_on_spawn_and_on_the_spawn_that_follows_a_crash(
    site: Site,
) -> None:
    """Seed 000: `custom_args: ["--cascade"]`; §7: a second spawn "whose prompt says so"."""
    site.project("010")
    site.script([CRASH, REPORT])
    windsurf = {"custom_args": ["--cascade"], "settings": {"yolo_mode": True}}
    site.configure(
        {"agents": {"executors": {"windsurf": windsurf}, "bindings": {"implementer": "windsurf"}}}
    )
    ended = site.sow("agent", "spawn", "implementer", "010")
    first, second = read_runs(site.root)
    assert [(run.verb, run.argv) for run in (first, second)] == [("spawn", ("--cascade",))] * 2
    assert "was run before" not in first.prompt
    assert "was run before" in second.prompt
    assert "yolo_mode has no effect" in ended.err


def test_windsurf_under_another_name(site: Site) -> None:
    """DESIGN §7: "binary `windsurf`, or what `settings.command` names"."""
    site.project("010")
    site.script([REPORT])
    (site.base / "bin/windsurf").rename(site.base / "bin/devin")
    windsurf = {"settings": {"command": ["devin", "-p"]}, "custom_args": ["--cascade"]}
    site.configure({"agents": {"executors": {"windsurf": windsurf}}})
    site.sow(*("agent", "spawn", "implementer", "010"), env={"SOW_AGENTS_IMPLEMENTER": "windsurf"})
    assert read_runs(site.root)[0].argv == ("-p", "--cascade")


SCRIPT = """\
#!/bin/sh
number=1
while ! mkdir "$SOW_ROOT/.calls/$number" 2>/dev/null; do number=$((number + 1)); done
here="$SOW_ROOT/.calls/$number"
for word in "$@"; do printf '%s\\n' "$word" >> "$here/argv"; done
cat > "$here/stdin"
echo "The prompt is read"
[ -e "$SOW_ROOT/.crash" ] && rm "$SOW_ROOT/.crash" && exit 3
exec sow task set status needs_review
"""


class Script:
    """A shell script as an executor, that notes how it was called."""

    def __init__(self, site: Site, **settings: Any) -> None:
        self.site = site
        self.folder = site.root / ".calls"
        self.folder.mkdir()
        program = site.base / "bin/my-agent"
        program.write_text(SCRIPT)
        program.chmod(0o755)
        site.configure(
            {
                "agents": {
                    "executors": {"mine": {"type": "command", **settings}},
                    "bindings": {"implementer": "mine"},
                }
            }
        )

    def calls(self) -> list[tuple[list[str], str]]:
        """Each call: its arguments and its standard input."""
        folders = sorted(self.folder.iterdir(), key=lambda path: int(path.name))
        return [
            ((path / "argv").read_text().splitlines(), (path / "stdin").read_text())
            for path in folders
        ]


def test_a_shell_script_is_an_executor(site: Site) -> None:
    """DESIGN §7: `settings.command` with its three placeholders, the prompt on stdin."""
    site.project("010")
    words = ["my-agent", "{session_id}", "--in={task_dir}", "{prompt_file}", "{other}", "a b"]
    script = Script(site, settings={"command": words, "resume": ["my-agent", "on", "{session_id}"]})
    (site.root / ".crash").touch()
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "resume", "010", "Use RS256")
    session = site.task("010")["session_id"]
    (first, prompt), (second, _), (third, message) = script.calls()
    folder, prompt_file = site.task_folder("010"), site.root / ".sow/run/jobs/1/1/prompt.md"
    assert first == [session, f"--in={folder}", str(prompt_file), "{other}", "a b"]
    assert prompt == prompt_file.read_text()
    assert "sow prompt guidance/implementer/base" in prompt
    assert second == third == ["on", session]
    assert "Use RS256" in message


def test_a_shell_script_without_resume_is_spawned_again(site: Site) -> None:
    """DESIGN §7: no `settings.resume`, no resumption: the seeds' error, and a second spawn."""
    site.project("010")
    script = Script(site, settings={"command": ["my-agent", "go"]}, custom_args=["--fast", "x y"])
    (site.root / ".crash").touch()
    site.sow("agent", "spawn", "implementer", "010")
    (first, _), (second, prompt) = script.calls()
    assert first == second == ["go", "--fast", "x y"]
    assert "was run before" in prompt
    assert "session_id" not in site.task("010")
    refused = site.sow("agent", "resume", "010", "Use RS256", expect=5)
    assert refused.err.startswith('Error: executor "mine" does not support session resumption\n')


def test_a_program_is_found_on_the_callers_path(site: Site) -> None:
    """DESIGN §6: "plus the caller's PATH": the worker need not know of the program."""
    site.project("010")
    script = Script(site, settings={"command": ["my-agent", "go"]})
    only_sow = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    worker = site.start("worker", env={"PATH": only_sow})
    site.sow("agent", "spawn", "implementer", "010")
    assert len(script.calls()) == 1
    assert worker.poll() is None


@pytest.mark.parametrize("how", ["in the file", "by a variable"])
def test_a_resume_uses_the_executor_that_made_the_session_and_says_so(site: Site, how: str) -> None:
    """DESIGN §5: "A session belongs to the executor that made it"."""
    site.project("010")
    site.script([REPORT])
    opus = {"executors": {"opus": {"type": "claude", "settings": {"model": "opus"}}}}
    site.configure({"agents": {**opus, "bindings": {"implementer": "opus"}}})
    site.sow("agent", "spawn", "implementer", "010")
    environ = {"SOW_AGENTS_IMPLEMENTER": "cursor"} if how == "by a variable" else {}
    bound = {"bindings": {"implementer": "cursor"}}
    site.configure({"agents": opus if environ else {**opus, **bound}})
    ended = site.sow("agent", "resume", "010", "go on", env=environ)
    spawned, resumed = read_runs(site.root)
    assert (resumed.cli, resumed.session_id) == ("claude", spawned.session_id)
    assert "opus" in resumed.argv
    assert besides_news(ended.err) == (
        "Note: implementer now uses the executor cursor, but opus made this session and resumes"
        " it\n"
    )
    assert "(resume implementer by opus, job 2" in ended.out


def test_a_session_whose_executor_is_no_longer_defined_is_not_given_to_another(
    site: Site,
) -> None:
    """The same law: an unknown executor, not somebody else's conversation."""
    site.project("010")
    site.script([REPORT])
    site.configure(
        {"agents": {"executors": {"opus": {"type": "claude"}}, "bindings": {"implementer": "opus"}}}
    )
    site.sow("agent", "spawn", "implementer", "010")
    site.configure({})
    refused = site.sow("agent", "resume", "010", "go on", expect=5)
    assert refused.err.startswith(
        "Error: unknown executor: opus, which made the session of task 010\n"
    )
    assert len(read_runs(site.root)) == 1


def test_a_session_of_another_tool_is_resumed_by_the_bound_executor(site: Site) -> None:
    """DESIGN §4: a `session_id` without a `session` block "counts as started"."""
    site.project("010")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    state = site.task_folder("010") / "state.yaml"
    lines = state.read_text().splitlines(keepends=True)
    (place,) = [number for number, line in enumerate(lines) if line.startswith("  session:")]
    after = place + 1
    while lines[after : after + 1] and lines[after].startswith("    "):
        after += 1
    state.write_text("".join([*lines[:place], *lines[after:]]))
    assert "session" not in site.task("010")
    site.sow("agent", "resume", "010", "go on")
    spawned, resumed = read_runs(site.root)
    assert (resumed.verb, resumed.session_id) == ("resume", spawned.session_id)


def test_a_tool_that_cursor_denied_is_allowed_by_cursors_own_means(site: Site) -> None:
    """DESIGN §7: "done, with a warning and `denied_tools`"; the advice is one that can be followed.

    `allowed_tools` does not fit cursor: the configuration would be refused.
    """
    site.project("010")
    site.script([[{"shell": "make check"}, STATUS]])
    (site.root / ".cursor").mkdir()
    (site.root / ".cursor/cli.json").write_text('{"permissions": {"allow": ["Shell(sow)"]}}')
    record = site.sow(
        *("agent", "spawn", "implementer", "010", "--json"), env=IMPLEMENTER_BY_CURSOR
    ).json
    (warning,) = record["warnings"]
    assert record["exit_code"] == 0
    assert record["denied_tools"] != []
    assert ".cursor/cli.json" in warning
    assert "allowed_tools" not in warning
