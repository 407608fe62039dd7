"""`sow executor try`, over the stand-in of Claude Code: one that keeps its promises, others that do
not. Processes are real ones here, for a cancelled run is looked for in `/proc`."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from journeys.json_contract import hold
from journeys.own_folders import ENDING, at_work, notes_of, nothing_left, signals_as_usual
from journeys.site import Site, make_site, wait_until
from repository.markdown import blocks, read, steps
from standins import read_runs

Step = Mapping[str, Any]
BEGUN: Step = {"sow": ["agent", "log", "Trial begun"]}
FORBIDDEN: Step = {"sow": ["phase", "add", "trial-forbidden"]}
PAUSED: Step = {"sow": ["task", "set", "status", "paused"]}
DONE: Step = {"sow": ["task", "set", "status", "needs_review"]}
WORD = r"maple-[0-9a-f]*"
REMEMBER: Step = {"aside": f"grep -o '{WORD}' .standin/runs.jsonl | head -n 1 > .word"}
"""What a model keeps in its conversation, the stand-in keeps in a file."""
KNOWS: Step = {"aside": 'sow agent log "The word is $(cat .word)"'}
WAITS: Sequence[Step] = ({"sow": ["agent", "log", "Trial waits"]}, {"sow": ["changes", "--follow"]})
GOOD = ([REMEMBER, BEGUN, FORBIDDEN, PAUSED], [KNOWS, DONE])
FREE = "env -u SOW_JOB_ID -u SOW_TASK_ID -u SOW_AGENT -u SOW_ATTEMPT_ID sow"
"""As a person's own command, not as an agent's."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path, forks=False)
    try:
        with nothing_left(made):
            yield made
    finally:
        made.close()


def tried(site: Site, *words: str, expect: int = 0) -> dict[str, Any]:
    """Try an executor, and return what is printed."""
    ended = site.sow("executor", "try", *words, "--yes", "--json", expect=expect)
    hold("executor try", ended.json_lines)
    (record,) = ended.json_lines
    return dict(record)


def playing(
    site: Site,
    *first: Sequence[Step],
    second: Sequence[Step] = WAITS,
    program: str = "claude",
) -> None:
    """Have a stand-in bring these runs along, wherever it is started."""
    scripts = {"010": list(map(list, first)), "020": [list(second)]}
    path = site.base / "bin" / program
    lines = [
        "#!/bin/sh",
        "mkdir -p .standin",
        *(
            f"printf %s {shlex.quote(json.dumps(runs))} > .standin/{task}.json"
            for task, runs in scripts.items()
        ),
        path.read_text().removeprefix("#!/bin/sh\n"),
    ]
    path.write_text("\n".join(lines))


def results(record: Mapping[str, Any]) -> dict[str, str]:
    return {each["promise"]: each["result"] for each in record["promises"]}


def reason(record: Mapping[str, Any], promise: str) -> str:
    (found,) = [each["reason"] for each in record["promises"] if each["promise"] == promise]
    return str(found)


@pytest.mark.one_of("trials of a good CLI")
def test_a_cli_that_keeps_its_promises(site: Site) -> None:
    site.project()
    before = sorted(site.root.rglob("*"))
    playing(site, *GOOD)
    record = tried(site, "claude-code")
    assert set(results(record).values()) == {"held"}, record
    assert list(results(record)) == ["spawn", "pause", "resume", "deny", "cancel"]
    assert (record["ok"], record["used"]["run_count"], record["folder"]) == (True, 3, None)
    assert record["path"] == str(site.base / "bin/claude")
    assert record["version"]
    assert sorted(site.root.rglob("*")) == before  # the user's own repository


@pytest.mark.one_of("trials of a good CLI")
def test_the_page_shows_what_a_trial_prints(site: Site) -> None:
    (shown, *_) = steps(blocks(read("docs/howto/executors.md"), "console")[0])
    assert shown.command == "sow executor try claude-code"
    assert "runs 3 times with your login and uses its tokens. Go on? [y/N]:" in shown.output[0]
    playing(site, *GOOD)
    printed = site.sow("executor", "try", "claude-code", "--yes").out.splitlines()
    assert list(map(without_figures, printed)) == list(map(without_figures, shown.output[1:]))


def without_figures(line: str) -> str:
    """Return a line of a trial without its seconds, tokens and money."""
    return re.sub(r" \(\d+ s\)$|(?<=held; ).*", "", line)


@pytest.mark.one_of("trials of a CLI that breaks a promise")
def test_one_that_begins_another_conversation_and_oversteps_its_rights(site: Site) -> None:
    kept = site.base / "kept"
    steps = ({"aside": f"{FREE} phase add trial-forbidden"}, BEGUN, PAUSED)
    playing(site, steps, [BEGUN, DONE], second=[*WAITS[:1], DONE])
    ended = site.sow("executor", "try", "claude-code", "--yes", "--keep", str(kept), expect=1)
    lines = {line.split()[0]: line for line in ended.out.splitlines()}
    assert "broken     it no longer knew the word" in lines["resume"]
    assert "broken     it could run `sow phase add trial-forbidden`" in lines["deny"]
    assert "not shown  it ended by itself before" in lines["cancel"]
    assert "2 of 5 promises held; " in ended.out
    assert f"Everything is left in {kept}" in ended.err
    assert len(read_runs(kept)) == 3
    assert not site.sow("worker", "list", "--json", cwd=kept).json_lines


@pytest.mark.one_of("trials of a CLI that breaks a promise")
def test_one_that_is_not_logged_in(site: Site) -> None:
    playing(site, [{"not_logged_in": True}], second=[{"not_logged_in": True}])
    record = tried(site, "claude-code", expect=1)
    assert results(record)["spawn"] == results(record)["pause"] == "broken"
    assert "(auth)" in reason(record, "spawn")
    assert "/login" in reason(record, "spawn")
    assert results(record)["cancel"] == "not shown"
    assert record["ok"] is False


@pytest.mark.one_of("trials of a CLI that breaks a promise")
def test_one_whose_sessions_end_with_a_run(site: Site) -> None:
    """Its output tells of no tool either, so that nothing shows what it has tried."""
    playing(site, GOOD[0], program="windsurf")
    record = tried(site, "windsurf")
    kinds = ("held", "held", "not made", "not shown", "held")
    assert tuple(results(record).values()) == kinds
    assert (record["ok"], record["version"]) == (True, None)


def test_without_a_terminal_and_without_yes_nothing_runs(site: Site) -> None:
    refused = site.sow("executor", "try", "claude-code", expect=2)
    assert "runs 3 times with your login and uses its tokens" in refused.err
    assert "Add --yes" in refused.err
    for option, words in (("--timeout", "not a duration"), ("--wait", "not a length of time")):
        assert words in site.sow("executor", "try", "cursor", option, "x", expect=2).err
    (site.base / "bin/claude").unlink()
    site.sow("executor", "try", "claude-code", "--yes", expect=5)


def test_a_repository_is_left_where_a_command_has_failed(site: Site) -> None:
    """The error says how to look at it."""
    shim = site.base / "bin/git"
    in_the_way = 'case "$*" in *commit*) rmdir .sow; : >.sow ;; esac'
    shim.write_text(f'#!/bin/sh\n{in_the_way}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(0o755)
    ended = site.sow("executor", "try", "claude-code", "--yes", expect=None)
    assert ended.code != 0
    assert "`sow init` failed: " in ended.err
    found = re.search(r"`cd (\S+) && sow worker logs`", ended.err)
    assert found is not None, ended.err
    assert Path(found[1], ".git").is_dir()
    shutil.rmtree(found[1])


@pytest.mark.one_of
@pytest.mark.parametrize("signum", ENDING)
def test_an_interrupted_trial_leaves_nothing(site: Site, signum: int) -> None:
    playing(site, [BEGUN, {"hang": True}])
    process, run = hanging(site, "executor", "try", "claude-code", "--yes")
    for _ in range(2):  # a terminal sends several, to all that belong to it
        os.killpg(process.pid, signum)
    printed, complaint = process.communicate()
    assert (process.returncode, printed) == (130, "")
    assert "Ending the agents" in complaint
    assert not Path(f"/proc/{run}").exists()
    assert not notes_of(site)


def test_what_a_killed_trial_has_left_is_named_and_ended_by_the_next(site: Site) -> None:
    playing(site, [BEGUN, {"hang": True}])
    process, run = hanging(site, "executor", "try", "claude-code", "--yes")
    (folder,) = (site.base / "tmp").iterdir()
    process.kill()
    process.communicate()
    assert at_work(site)
    doctor = site.sow("doctor", expect=None)
    assert f"A killed command left {folder}, where agents may still run" in doctor.out
    refused = site.sow("executor", "try", "claude-code", expect=2)  # there is nobody to ask
    assert f"what it left running was ended, and {folder} was removed" in refused.err
    assert not Path(f"/proc/{run}").exists()
    assert not notes_of(site)


def test_when_the_time_is_up_it_says_what_has_held_until_then(site: Site) -> None:
    """Some four seconds: nothing shorter is sure to come to the run that is cut."""
    playing(site, [BEGUN, {"hang": True}])
    ended = site.sow(
        *("executor", "try", "claude-code", "--yes", "--json"), env={"SOW_WAIT": "4s"}, expect=75
    )
    (record,) = ended.json_lines
    hold("executor try", ended.json_lines)
    assert "The time of --wait is up" in ended.err
    assert (record["ok"], record["timed_out"]) == (True, True)
    for promise in ("pause", "resume", "cancel"):
        assert reason(record, promise) == "the time was up"
    assert set(results(record).values()) <= {"held", "not shown"}


def hanging(site: Site, *words: str) -> tuple["subprocess.Popen[str]", int]:
    """Start a command, and return it with the pid of its agent, which does not end by itself."""
    process = site.start(*words, preexec_fn=signals_as_usual, start_new_session=True)
    places = site.base / "tmp"
    wait_until(lambda: any(places.glob("sow-*/**/.standin/runs.jsonl")), "it runs")
    (runs,) = places.glob("sow-*/**/.standin")
    (run,) = read_runs(runs.parent)
    return process, run.pid
