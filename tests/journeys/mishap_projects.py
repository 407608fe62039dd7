"""A project in which everything goes wrong once, and what whoever leads it would fill in.

A question, a red check, a conflict, a crash, a hang and a killed worker, each once. The agents are
shell scripts that keep nothing between two runs but a mark for what has gone wrong already, and
what a session keeps: the answer that they were given.
"""

import json
import os
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml
from journeys.callers import all_jobs
from journeys.gitsite import git, make_repository
from journeys.site import Site, wait_until
from journeys.staff import shell_executor
from journeys.zero_context import Newcomer

from sow.schema.job import JobState

MISHAPS = ("mishaps", "mishaps by batches")
ANSWERS = {
    "<name>": "Sign-in",
    "<file of tasks>": "../tasks.yaml",
    "<your answer>": "Blue.",
    "<your words>": "Go on.",
    "<what to do now>": "Go on.",
    "<what the check has printed>": "broken: 030.txt",
}
TASKS: list[dict[str, Any]] = [
    {"key": key, "name": key.capitalize(), "agent": "implementer", "description": f"Do {key}."}
    for key in ("hanging", "asking", "crashing")
]
FILES = {"../tasks.yaml": json.dumps(TASKS)}
LINES = {"shared.txt": "both", "030.txt": "done"}
"""What the project leaves in its branch."""
AUTHOR = """
words=$(cat)
mark="$HOME/did-$SOW_TASK_ID"
case "$words" in *Blue.*) touch "$HOME/heard";; esac
done_with() { sow agent log "$1"; sow task set status needs_review; exit; }
if [ -n "$(git diff --name-only --diff-filter=U)" ]; then
    echo both >shared.txt
    git add -A
    git -c user.name=A -c user.email=a@example.invalid commit -qm "Solve the conflict"
    done_with "Solved the conflict"
fi
again=; [ ! -e "$mark" ] || again=yes
touch "$mark"
case "$SOW_TASK_ID" in
010) [ "$again" ] || sleep 1000
    [ "$(cat shared.txt)" = both ] || echo one >shared.txt;;
020) if [ ! -e "$HOME/heard" ]; then
        sow agent log "Which colour is it to be?"
        sow task set status paused
        exit
    fi
    [ "$(cat shared.txt)" = both ] || echo two >shared.txt;;
030) [ "$again" ] || kill -9 $$
    if [ -e 030.txt ]; then echo done >030.txt; else echo broken >030.txt; fi;;
esac
done_with "Did the work"
"""
"""The first hangs, the second asks, the third crashes and then leaves what makes the check red; the
first two change one file, each in its own way."""
REVIEWER = """
cat >/dev/null
if [ "$SOW_REVIEW" = project ]; then
    sow review accept --project --summary "It fits together."
else
    sow review accept "$SOW_TASK_ID" --summary "Good."
fi
"""
CHECK = "! grep -l broken *.txt"
BATCHES = {"clone": True, "check": True, "review": True, "merge": True}
QUIET = "5s"
"""After so long without a sign of life an agent hangs."""


def begin(site: Site, kind: str) -> Newcomer:
    """Make a repository in which such a project is to be begun, and return who leads it."""
    make_repository(site)
    executors = {}
    for name, script in (("author", AUTHOR), ("reviewer", REVIEWER)):
        executor = shell_executor(site, name, script, retries=0, stall_timeout=QUIET)
        executor["settings"]["resume"] = executor["settings"]["command"]
        executors[name] = executor
    bindings = {"implementer": "author", "reviewer": "reviewer"}
    site.configure({"approve": "agents", "agents": {"executors": executors, "bindings": bindings}})
    site.sow("init")
    settings: dict[str, Any] = {
        "checks": {"unit": CHECK, "default": ["unit"]},
        "clones": {"use": "always", "merge_check": "unit"},
    }
    if "batches" in kind:
        settings["batch"] = BATCHES
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    git(site, "add", "-A")
    git(site, "commit", "-qm", "settings")
    site.sow("trust", "--yes")
    return Newcomer(site, ANSWERS, FILES)


@dataclass
class WorkerKill:
    """Kills the worker once, while agents of the project's tasks are at work."""

    site: Site
    killed: list[int] = field(default_factory=list)

    def is_due(self, line: str) -> bool:
        begins = line.startswith(("sow agent spawn", "sow batch run"))
        return begins and not self.killed

    def strike(self, line: str, call: subprocess.Popen[str]) -> None:
        """Kill the worker as soon as one of its jobs runs; the call goes on."""

        def is_at_work() -> bool:
            return any(job.state is JobState.RUNNING for job in all_jobs(self.site))

        wait_until(is_at_work, "an agent is at work")
        for worker in self.site.workers():
            with suppress(ProcessLookupError):
                os.kill(worker["pid"], signal.SIGKILL)
                self.killed.append(worker["pid"])
        call.communicate()
        assert call.returncode in (0, 1, 75), f"{line}: {call.returncode}"


def what_happened(site: Site) -> Counter[str]:
    """Return how often jobs of the project have ended by each cause."""
    return Counter(job.cause.value for job in all_jobs(site) if job.cause is not None)
