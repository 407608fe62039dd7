"""The real Claude Code leads projects from a goal to their end, repeating what sow tells it."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from sandbox import Json, Sandbox, wait_until

pytestmark = pytest.mark.real

WORK = """
asked=$(cat "$SOW_ROOT"/.sow/project/phases/*/tasks/"$SOW_TASK_ID"/description.md)
case "$SOW_AGENT:$SOW_REVIEW" in
implementer:*)
    if [ "$asked" = "Do two." ] && [ ! -e "$HOME/asked" ]; then
        touch "$HOME/asked"
        sow agent log "Which colour is it to be?"
        sow task set status paused
        exit
    fi
    echo line >>"$SOW_TASK_ID.txt"
    sow agent log "Did the work"
    sow task set status needs_review;;
reviewer:project)
    if [ "$(ls [0-9]*.txt | wc -l)" -lt 4 ]; then
        echo "A fourth is missing." >"$HOME/findings.md"
        sow review correct --project --file "$HOME/findings.md"
    else
        sow review accept --project --summary "It fits together."
    fi;;
reviewer:*)
    if [ "$asked" = "Do one." ] && [ "$(wc -l <"$SOW_TASK_ID.txt")" = 1 ]; then
        echo "Say it twice." >findings.md
        sow review correct "$SOW_TASK_ID" --file findings.md
    else
        sow review accept "$SOW_TASK_ID" --summary "Good."
    fi;;
esac
"""
"""What the other agents do: the second task asks, the first is corrected, a fourth is missing."""
TASKS = [
    {"key": key, "name": key.capitalize(), "agent": "implementer", "description": f"Do {key}."}
    for key in ("one", "two", "three")
]
ANSWERS = {
    "<name>": "Sign-in",
    "<role>": "implementer",
    "<what is to be done>": "Write the fourth line.",
    "<type>": "design",
    "<your answer>": "Blue.",
}
SETTINGS = {
    "checks": {"unit": "! grep -L line [0-9]*.txt | grep .", "default": ["unit"]},
    "clones": {"use": "always"},
    "batch": {"clone": True, "check": True, "review": True, "merge": True},
}
GOAL = "Sign-in is to be written down, in four files."
WAIT = "1s"
"""How long each call of the leader waits at most: its agents take longer."""
SHELL_SECONDS = 110.0
"""A shell of two minutes lets no call take longer."""


@pytest.fixture
def place(sandbox: Sandbox) -> Sandbox:
    """A repository with sow's folder and a commit; its user lets agents approve."""
    executors = {
        "claude-code": {"type": "claude", "settings": {"allowed_tools": ["Bash"]}},
        "leader": {"type": "claude", "env": {"SOW_WAIT": WAIT}},
    }
    agents = {"executors": executors, "bindings": {"orchestrator": "leader"}}
    config = {"approve": "agents", "agents": agents}
    file = sandbox.home / ".config/sow/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(config))
    (sandbox.home / "work.sh").write_text(WORK)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.org"),
    ):
        assert sandbox.run("git", *words).returncode == 0
    assert sandbox.sow("init").returncode == 0
    (sandbox.repository / ".sow/config.yaml").write_text(json.dumps(SETTINGS))
    for words in (("add", "-A"), ("commit", "-q", "-m", "Begin")):
        assert sandbox.run("git", *words).returncode == 0
    assert sandbox.sow("trust", "--yes").returncode == 0
    return sandbox


def behave(
    sandbox: Sandbox, leader: str, answers: Mapping[str, str], files: Mapping[str, str]
) -> None:
    """Have who is told `leader` repeat what sow prints, and the others do their work."""
    sandbox.behave(
        commands=['sh "$HOME/work.sh"'],
        leader=leader,
        answers=[*ANSWERS.items(), *answers.items()],
        files=[*files.items()],
    )


def lead(sandbox: Sandbox, answers: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Have Claude Code lead a project to its end: it has a goal, and what `sow prompt` prints."""
    behave(sandbox, GOAL, answers, files)
    words = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(sow:*)")
    prompt = f"{GOAL}\n\n{sandbox.sow('prompt').stdout}"
    process = sandbox.start("claude", "-p", *words, stdin=prompt, environ={"SOW_WAIT": WAIT})
    wait_until(lambda: process.poll() is not None, "the project's end", seconds=900)
    output, errors = process.communicate()
    assert (process.returncode, "The project has ended." in output) == (0, True), output + errors


def ended_project(sandbox: Sandbox) -> Json:
    """Return the only project as `sow project list` shows it, which has to be one that ended."""
    (line,) = sandbox.sow("project", "list", "--json").stdout.splitlines()
    found: Json = json.loads(line)
    assert (found["state"], found["ended"]) == ("completed", "finished")
    return found


def nothing_was_refused(sandbox: Sandbox) -> list[Json]:
    """Return the leader's calls; fail where a call was refused or unknown, or took too long."""
    calls = sandbox.witnessed()
    assert [call for call in calls if call["exit"] not in fine_of(call)] == []
    assert max(call["seconds"] for call in calls) < SHELL_SECONDS
    assert sandbox.failures() == []
    heard = json.dumps([request["messages"] for request in sandbox.requests()])
    assert not re.findall("haven't granted|requires approval|was blocked", heard)
    return [call for call in calls if call["role"] in ("", "orchestrator")]


def fine_of(call: Json) -> set[int]:
    """Return the exit codes of a call that does what it should."""
    wants_somebody = {1} if call["argv"][0] == "batch" else set()
    return {0, 75} | wants_somebody


def how_often(calls: list[Json]) -> Counter[str]:
    """Count calls by their first words, without numbers of tasks."""
    return Counter(" ".join(word for word in call["argv"][:2] if word.isalpha()) for call in calls)


def file_in(sandbox: Sandbox, name: str) -> str:
    """Return a file of the project's context, by its whole path."""
    return str(Path(sandbox.repository, ".sow/project/context", name))


def standard_was_led_well(sandbox: Sandbox) -> None:
    """Fail where a standard project was not led through all that it holds."""
    calls = nothing_was_refused(sandbox)
    assert ended_project(sandbox)["type"] == "standard"
    done = how_often(calls)
    assert any(call["exit"] == 75 for call in calls), "agents took longer than a call"
    assert (done["batch run"], done["agent answer"], done["approve plan"]) == (1, 1, 2)
    assert (done["task import"], done["task add"], done["advance"]) == (1, 1, 7)
    assert (done["project check"], done["feedback settle"], done["project finish"]) == (1, 1, 1)
    files = sandbox.run("git", "ls-files", "[0-9]*.txt").stdout.split()
    lines = [sandbox.run("git", "show", f"HEAD:{file}").stdout for file in files]
    assert lines == ["line\nline\n", "line\n", "line\n", "line\n"]
    heard = json.dumps([request["messages"] for request in sandbox.requests()])
    assert all(words in heard for words in ("Say it twice.", "Blue."))
    assert sandbox.run("git", "fsck", "--strict").returncode == 0


@pytest.mark.one_of("real projects and nights")
def test_a_standard_project(place: Sandbox) -> None:
    tasks = file_in(place, "tasks.yaml")
    lead(place, {"<file of tasks>": tasks}, {tasks: json.dumps(TASKS)})
    standard_was_led_well(place)


@pytest.mark.one_of("real projects and nights")
def test_a_standard_project_by_an_orchestrator_that_is_a_job(place: Sandbox) -> None:
    assert place.sow("project", "new", "Sign-in").returncode == 0
    tasks = file_in(place, "tasks.yaml")
    leader = "You are an orchestrator: "
    behave(place, leader, {"<file of tasks>": tasks}, {tasks: json.dumps(TASKS)})
    call = ("start", "--headless", GOAL, "--wait", "100s")
    done = place.sow(*call)
    while done.returncode == 75:
        done = place.sow(*call)
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until(lambda: not (place.repository / ".sow/project").exists(), "the project's end")
    standard_was_led_well(place)


@pytest.mark.one_of("real projects and nights")
def test_a_design_project(place: Sandbox) -> None:
    assert place.run("git", "switch", "-q", "-c", "design/sign-in").returncode == 0
    document = file_in(place, "sign-in.md")
    lead(place, {"<path>": document}, {document: "# Sign-in\n"})
    calls = nothing_was_refused(place)
    assert ended_project(place)["type"] == "design"
    done = how_often(calls)
    assert (done["output add"], done["approve"], done["output move"]) == (1, 1, 1)
    kept = place.repository / ".sow/knowledge/designs/sign-in.md"
    assert kept.read_text() == "# Sign-in\n"
