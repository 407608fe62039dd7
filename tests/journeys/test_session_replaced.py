"""A session that was lost before its CLI had kept it, and one that was kept: who may give it up."""

import sys
from typing import Any

import pytest
from journeys.callers import Step, good, ledger, queue
from journeys.site import Site
from journeys.test_session_law import RESUME, SPAWN, STREAM, forget_sessions, of_type
from standins import CursorDialect, install_standins, read_refusals, read_runs

CUT_OFF: list[Step] = [
    {"keep_nothing": True},
    {"shell": "echo one >> tree"},
    {"shell": "echo two >> tree"},
    {"forget_session": True},
    {"crash": 3},
]
"""Two calls of tools, and killed before anything of the session was written."""
ANYTHING = "Bash"


def executors() -> dict[str, dict[str, Any]]:
    """Return each way to come by a session, allowed to run anything."""
    stream = [ANYTHING if word == "Bash(sow:*)" else word for word in STREAM]
    flags = [*stream, "--verbose"]
    return {
        "chosen": of_type("claude", allowed_tools=[ANYTHING]),
        "created": of_type("cursor", yolo_mode=True),
        "chosen for a command": of_type(
            "command",
            command=[*flags, "--session-id", "{session_id}"],
            resume=[*flags, "--resume", "{session_id}"],
        ),
        "learned": of_type("command", command=flags, resume=[*flags, "--resume", "{session_id}"]),
    }


def begin(site: Site, executor: dict[str, Any], *runs: list[Step], retries: int = 2) -> None:
    install_standins(site.base / "bin", sys.executable, cursor=CursorDialect.TODAY)
    site.project("010")
    site.script(runs)
    configure(site, executor, retries)


def configure(site: Site, executor: dict[str, Any], retries: int) -> None:
    agents = {
        "executors": {"mine": {**executor, "retries": retries}},
        "bindings": {"implementer": "mine"},
    }
    site.configure({"agents": agents})


@pytest.mark.one_of
@pytest.mark.parametrize("executor", executors().values(), ids=executors())
def test_a_session_lost_before_it_was_kept_is_replaced_and_told(
    site: Site, executor: dict[str, Any]
) -> None:
    """ "the job goes on by itself with a new session, told in log, outcome and prompt"."""
    begin(site, executor, CUT_OFF, good())
    record = site.sow(*SPAWN, "--json").json
    first, second = read_runs(site.root)
    assert ledger(site) == [
        ("spawn", "crashed"),
        ("resume", "session_unknown"),
        ("spawn", "reported"),
    ]
    assert first.session_id != second.session_id == site.task("010")["session_id"]
    assert record["session_id"] == second.session_id
    assert site.job(1)["retries"] == 1
    assert "An earlier run was cut off after 2 tool calls" in second.prompt
    assert "Look at the tree before you repeat anything" in second.prompt
    assert any(first.session_id in warning for warning in record["warnings"])
    assert str(first.session_id) in (site.task_folder("010") / "log.md").read_text()
    assert str(first.session_id) in site.sow("job", "explain", "1").out


def test_a_session_killed_before_the_first_word_of_its_transcript_is_replaced(site: Site) -> None:
    """Killed between making the file and writing to it: in use to begin, unknown to continue."""
    no_words: list[Step] = [{"keep_nothing": True}, {"empty_session": True}, {"crash": 3}]
    begin(site, executors()["chosen"], no_words, good())
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    assert ledger(site) == [
        ("spawn", "crashed"),
        ("spawn", "session_in_use"),
        ("resume", "session_unknown"),
        ("spawn", "reported"),
    ]
    assert first.session_id != second.session_id == site.task("010")["session_id"]


def test_a_call_finds_that_the_session_of_an_earlier_job_was_never_kept(site: Site) -> None:
    """The tool calls of the earlier job are counted in, and the caller's words are said again."""
    begin(site, executors()["chosen"], CUT_OFF, good(), retries=0)
    site.sow(*SPAWN, expect=1)
    lost = site.task("010")["session_id"]
    record = site.sow(*RESUME, "--json").json
    _, second = read_runs(site.root)
    assert ledger(site, 2) == [("resume", "session_unknown"), ("spawn", "reported")]
    assert "cut off after 2 tool calls" in second.prompt
    assert "Use RS256" in second.prompt
    assert any(lost in warning for warning in record["warnings"])


def test_a_cli_that_never_keeps_anything_does_not_go_on_for_ever(site: Site) -> None:
    begin(site, executors()["chosen"], CUT_OFF, retries=2)
    site.sow(*SPAWN, expect=1)
    assert [cause for _, cause in ledger(site)].count("crashed") == 3
    assert len({run.session_id for run in read_runs(site.root)}) == 3


def test_a_session_of_which_a_transcript_was_seen_is_asked_about(site: Site) -> None:
    begin(site, executors()["chosen"], [{"say": "Reading"}, {"crash": 3}], retries=0)
    site.sow(*SPAWN, expect=1)
    session = site.task("010")["session_id"]
    forget_sessions(site)
    lost = site.sow(*RESUME, expect=5)
    assert f"no longer knows session {session}" in lost.out
    assert site.task("010")["session_id"] == session


def test_a_session_whose_beginning_is_not_on_record_is_asked_about(site: Site) -> None:
    """Pruned, or `.sow/run` was deleted: nothing is proved of what it held."""
    begin(site, executors()["chosen"], CUT_OFF, good(), retries=0)
    site.sow(*SPAWN, expect=1)
    database = queue(site)
    database.run("delete from attempt where job_id = 1")
    database.close()
    assert "no longer knows session" in site.sow(*RESUME, expect=5).out


def test_a_session_that_held_a_turn_is_asked_about_though_no_transcript_was_seen(
    site: Site,
) -> None:
    """An executor whose files sow does not know: the result that it printed is enough."""
    turn: list[Step] = [{"say": "Reading"}, {"exit": 0}]
    begin(site, executors()["chosen for a command"], turn, [{"crash": 3}], retries=0)
    site.sow(*SPAWN, expect=1)
    forget_sessions(site)
    assert "no longer knows session" in site.sow(*RESUME, expect=5).out


def test_an_id_that_is_called_taken_and_then_unknown_is_given_up(site: Site) -> None:
    """The two refusals contradict each other: neither a spawn nor a resume gets in by this id."""
    begin(site, executors()["chosen for a command"], [{"crash": 3}], good(), retries=1)
    shim(site)
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    assert ledger(site) == [
        ("spawn", "crashed"),
        ("spawn", "session_in_use"),
        ("resume", "session_unknown"),
        ("spawn", "reported"),
    ]
    assert first.session_id != second.session_id


def test_an_id_that_is_unknown_and_then_called_taken_is_given_up(site: Site) -> None:
    begin(site, executors()["chosen for a command"], [{"crash": 3}], good(), retries=0)
    site.sow(*SPAWN, expect=1)
    configure(site, executors()["chosen for a command"], retries=1)
    shim(site)
    site.sow(*RESUME)
    assert ledger(site, 2) == [
        ("resume", "session_unknown"),
        ("spawn", "session_in_use"),
        ("resume", "session_unknown"),
        ("spawn", "reported"),
    ]
    assert len(read_refusals(site.root)) == 1
    assert len(read_runs(site.root)) == 2


def shim(site: Site) -> None:
    """Have `claude` keep the id of a session of which it knows no conversation."""
    claude = site.base / "bin/claude"
    real = claude.with_name("claude-itself")
    claude.rename(real)
    claude.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--resume*)\n'
        '  for id; do :; done; echo "No conversation found with session ID: $id" >&2; exit 1;;\n'
        "esac\n"
        f'exec "{real}" "$@"\n'
    )
    claude.chmod(0o755)
