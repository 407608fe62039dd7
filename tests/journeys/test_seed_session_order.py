"""Seed 000: "Session ID must be persisted before spawning" (both seeds call it critical).

Programs put first on PATH copy the task's state as it lies on disk at their own
first moment, before they become the stand-in.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from journeys.site import Site, wait_until
from standins import CursorDialect, install_standins, read_runs

REPORT = [{"sow": ["task", "set", "status", "needs_review"]}]
PAUSE = [{"sow": ["task", "set", "status", "paused"]}]

WITNESS = """\
#!/bin/sh
number=1
while ! mkdir "{seen}/$number" 2>/dev/null; do number=$((number + 1)); done
cp "{state}" "{seen}/$number/state.yaml"
printf '%s\\n' "$@" > "{seen}/$number/argv"
exec {program} "$@"
"""


class Witness:
    """A program that notes what is on disk when it starts, each time it starts."""

    def __init__(self, site: Site, name: str, program: Path | None = None) -> None:
        self.seen = site.base / f"seen-{name}"
        self.seen.mkdir()
        moved = program or shutil.move(site.base / f"bin/{name}", site.base / f"bin/true-{name}")
        text = WITNESS.format(
            seen=self.seen, state=site.task_folder("010") / "state.yaml", program=moved
        )
        path = site.base / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def starts(self) -> list[tuple[list[str], dict[str, Any]]]:
        """Each start: its arguments, and the task as it lay on disk then."""
        folders = sorted(self.seen.iterdir(), key=lambda path: int(path.name))
        return [
            (
                (folder / "argv").read_text().splitlines(),
                yaml.safe_load((folder / "state.yaml").read_text())["task"],
            )
            for folder in folders
        ]


def test_claudes_chosen_id_is_on_disk_before_claude_exists(site: Site) -> None:
    """Seed 000, lifecycle 2: "Persist to task state.yaml immediately (before subprocess …)"."""
    site.project("010")
    site.script([REPORT])
    witness = Witness(site, "claude")
    site.sow("agent", "spawn", "implementer", "010")
    ((argv, task),) = witness.starts()
    assert task["session_id"] == argv[argv.index("--session-id") + 1]
    assert task["status"] == "in_progress"
    assert task["session"] == {"executor": "claude-code", "cwd": ".", "started": False}


def test_cursors_created_id_is_on_disk_before_the_agent_exists(site: Site) -> None:
    """Today's dialect: `create-chat` sees no session yet, the agent's process sees its own."""
    site.project("010")
    site.script([REPORT])
    site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    witness = Witness(site, "cursor-agent")
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_AGENTS_IMPLEMENTER": "cursor"})
    *before, (argv, task) = witness.starts()
    assert [words for words, _ in before] == [["agent", "--help"], ["create-chat"]]
    assert all("session_id" not in seen for _, seen in before)
    assert all(seen["status"] == "pending" for _, seen in before)
    assert task["session_id"] == argv[argv.index("--resume") + 1]
    assert (task["status"], task["session"]["dialect"]) == ("in_progress", "print")


def test_the_id_of_the_seeds_cursor_is_on_disk_before_the_agent_exists(site: Site) -> None:
    """The seeds' dialect: the id is chosen, `--chat-id` begins it."""
    install_standins(site.base / "bin", sys.executable, cursor=CursorDialect.SEEDS)
    site.project("010")
    site.script([REPORT])
    site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    witness = Witness(site, "cursor-agent")
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_AGENTS_IMPLEMENTER": "cursor"})
    *_, (argv, task) = witness.starts()
    assert task["session_id"] == argv[argv.index("--chat-id") + 1]
    assert (task["status"], task["session"]["dialect"]) == ("in_progress", "chat-id")


def test_the_id_for_a_program_of_the_users_is_on_disk_before_it_exists(site: Site) -> None:
    """`settings.command` with `{session_id}` in it."""
    site.project("010")
    script = site.base / "agent.sh"
    script.write_text("#!/bin/sh\nsow task set status needs_review\n")
    script.chmod(0o755)
    witness = Witness(site, "witnessed", script)
    command = {"type": "command", "settings": {"command": ["witnessed", "{session_id}"]}}
    site.configure({"agents": {"executors": {"mine": command}}})
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_AGENTS_IMPLEMENTER": "mine"})
    ((argv, task),) = witness.starts()
    assert [task["session_id"]] == argv
    assert task["status"] == "in_progress"


def test_a_resume_finds_in_progress_and_its_session_on_disk(site: Site) -> None:
    """The same order for a resume: iteration and status are written before the process exists."""
    site.project("010")
    site.script([REPORT])
    witness = Witness(site, "claude")
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "resume", "010", "Use RS256")
    (_, first), (argv, second) = witness.starts()
    assert argv[argv.index("--resume") + 1] == second["session_id"] == first["session_id"]
    assert (second["status"], second["iteration"]) == ("in_progress", 2)
    assert second["session"]["started"] is True


def test_a_fresh_spawn_puts_its_new_id_on_disk_first_and_the_old_one_into_the_log(
    site: Site,
) -> None:
    """DESIGN §5: "`--fresh` (the old id goes to the log)"."""
    site.project("010")
    site.script([REPORT])
    witness = Witness(site, "claude")
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "spawn", "implementer", "010", "--fresh")
    (_, first), (argv, second) = witness.starts()
    assert second["session_id"] == argv[argv.index("--session-id") + 1] != first["session_id"]
    assert first["session_id"] in (site.task_folder("010") / "log.md").read_text()


def test_the_id_that_the_output_tells_is_persisted_while_the_agent_runs(site: Site) -> None:
    """DESIGN §7: "The id seen in the output wins and is persisted at once"."""
    site.project("010")
    other = "0b5e3f0c-1111-4222-8333-444455556667"
    line = json.dumps({"type": "system", "subtype": "init", "session_id": other})
    go = site.base / "go"
    site.script([[{"noise": f"{line}\n"}, {"say": "On it"}, {"wait_for": str(go)}, *PAUSE]])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: site.task("010").get("session_id") == other, "the session of the output")
    assert read_runs(site.root)[0].session_id != other
    go.touch()
    site.sow("agent", "wait", "010")


@pytest.mark.parametrize("fault", ["exit 1", "echo '?'", "exec sleep 0"])
def test_where_no_chat_can_be_created_nothing_is_started(site: Site, fault: str) -> None:
    """The session comes first, so without one there is no agent, and the task is as it was."""
    site.project("010")
    before = site.task("010")
    cursor = site.base / "bin/cursor-agent"
    cursor.write_text(
        f'#!/bin/sh\necho "$@" >> {site.base}/calls\n[ "$1" = create-chat ] && {fault}\n'
    )
    refused = site.sow(
        *("agent", "spawn", "implementer", "010"),
        env={"SOW_AGENTS_IMPLEMENTER": "cursor"},
        expect=5,
    )
    assert "cursor-agent create-chat" in refused.err
    assert site.task("010") == before
    assert (site.base / "calls").read_text().splitlines() == ["agent --help", "create-chat"]
    assert site.workers() == []
