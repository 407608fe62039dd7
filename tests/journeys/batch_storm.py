"""A storm of SIGKILLs over a batch: its callers, workers and supervisors die, and all their gits.

Layers of diamonds, each task in a clone, checked, reviewed and merged. Some authors
leave a red check first, some are corrected, some write to a file that others change too.
"""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import yaml
from journeys.batch_site import add
from journeys.callers import queue
from journeys.git_hunt import ALL_WINDOWS, GitHunt
from journeys.gitsite import git, make_repository
from journeys.site import Site, wait_until
from journeys.staff import shell_executor
from journeys.storm_verdict import PROMISES, carriers

from sow.errors import ExitCode
from sow.jobs import jobs, leases, workers
from sow.paths import Workspace
from sow.schema.batch import ItemState

AUTHOR = """
cat >/dev/null
clone=$PWD
if [ -e .git/MERGE_HEAD ]; then
    for file in $(git diff --name-only --diff-filter=U); do
        git show ":2:$file" >.ours; git show ":3:$file" >.theirs
        sort -u .ours .theirs >"$file"; rm .ours .theirs; git add "$file"
    done
    git commit -q --no-edit
else
    case $(cat "$SOW_ROOT/.kinds/$SOW_TASK_ID") in
    red) [ -e "$SOW_TASK_ID" ] && echo good >"$SOW_TASK_ID" || echo bad >"$SOW_TASK_ID";;
    corrected) [ -e "$SOW_TASK_ID" ] && echo better >"$SOW_TASK_ID" || echo good >"$SOW_TASK_ID";;
    sharing) echo "$SOW_TASK_ID" >>shared; sort -u -o shared shared; echo good >"$SOW_TASK_ID";;
    *) echo good >"$SOW_TASK_ID";;
    esac
fi
sow task set status needs_review
"""
REVIEWER = """
cat >/dev/null
if [ "$(cat "$SOW_ROOT/.kinds/$SOW_TASK_ID")" = corrected ] && grep -q good "$SOW_TASK_ID"; then
    echo "Make it better." >findings.md
    sow review correct "$SOW_TASK_ID" --file findings.md
else
    sow review accept "$SOW_TASK_ID" --summary "Good."
fi
"""
CHECK = "! grep -rqx bad --include='[0-9]*' ."
KINDS = ("plain", "plain", "plain", "red", "corrected")
CALL = ("batch", "run", "--check", "--review", "--merge", "--max-iterations", "20", "--json")
VICTIMS = ("worker", "supervisor", "caller")
PERSON = ItemState.NEEDS_PERSON.value
WHOLE = "a whole process"
"""The window in which one of these dies; those of a git are `git_hunt`'s."""
KILLED = "was ended by signal"
"""What a call says whose own git was killed once too often."""


def layers(count: int) -> dict[str, list[str]]:
    """Return tasks in diamonds: of each four, two after the first, and the last after both."""
    tasks = [f"{10 * number:03d}" for number in range(1, count + 1)]
    before: dict[str, list[str]] = {}
    for number, task in enumerate(tasks):
        first = number - number % 4
        match number % 4:
            case 0:
                before[task] = [tasks[number - 4]] if number >= 8 else []
            case 3:
                before[task] = [tasks[first + 1], tasks[first + 2]]
            case _:
                before[task] = [tasks[first]]
    return before


class BatchStorm:
    """A storm over one site."""

    def __init__(self, site: Site, seed: int, *, tasks: int, kills: int, gits: int) -> None:
        self.site, self.kills_left, self.gits = site, kills, gits
        self.begun = time.monotonic()
        self.temporary = site.base / "temporary"
        self.temporary.mkdir()
        site.env["TMPDIR"] = str(self.temporary)
        self.chance = random.Random(seed)
        self.before = layers(tasks)
        self.kills: Counter[str] = Counter()
        self._prepare()
        self.hunt = GitHunt(site, random.Random(seed), kills=gits)
        self._call()
        self.result: dict[str, Any] = {}
        self.called: set[tuple[str, str]] = set()
        """The tasks for which a person was called meanwhile, and why."""

    def _call(self) -> None:
        self.caller = self.site.start(*CALL)
        self.hunt.caller = self.caller.pid

    def _prepare(self) -> None:
        site = self.site
        make_repository(site)
        (site.root / ".git/info/exclude").write_text(".kinds\n.sow/run\n.sow/project\n")
        executors = {}
        for name, script in (("author", AUTHOR), ("reviewer", REVIEWER)):
            executor = shell_executor(site, name, script, retries=50)
            executor["settings"]["command"].append("{session_id}")
            executor["settings"]["resume"] = executor["settings"]["command"]
            executors[name] = executor
        site.configure(
            {
                "worker": {"concurrency": 8, "idle_exit": "2s"},
                "retry": {"worker_deaths": 50},
                "agents": {
                    "executors": executors,
                    "bindings": {"implementer": "author", "reviewer": "reviewer"},
                },
            }
        )
        site.project()
        add(site, self.before)
        (site.root / ".kinds").mkdir()
        for number, task in enumerate(self.before):
            # Two that conflict: more might conflict twice, which is for a person.
            kind = "sharing" if number in (1, 2) else self.chance.choice(KINDS)
            (site.root / ".kinds" / task).write_text(kind)
        settings = {
            "batch": {"clone": True},
            "checks": {"unit": CHECK, "default": ["unit"]},
        }
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
        (site.root / "shared").write_text("")
        git(site, "add", "-A")
        git(site, "commit", "-qm", "settings")
        site.sow("trust", "--yes")

    def run(self, seconds: float) -> None:
        """Let the storm pass: strike, and call again, until the batch is over."""
        self.hunt.start()
        try:
            wait_until(self._step, "the batch is over", seconds=seconds)
        finally:
            self.hunt.stop()

    def _step(self) -> bool:
        if self.caller.poll() is not None:
            out, err = self.caller.communicate()
            if self.caller.returncode == 0:
                self.result = json.loads(out)
                return True
            if self.caller.returncode == ExitCode.FAILED:
                left = [item for item in json.loads(out)["items"] if item["state"] != "done"]
                raise AssertionError(f"{left}\n{self.site.worker_logs()}")
            # It was killed, or three workers that it had started, or its git, again and again: it
            # says so, and is called again.
            is_told = self.caller.returncode == ExitCode.STATE and KILLED in err
            known = self.caller.returncode in (-signal.SIGKILL, ExitCode.QUEUE)
            assert known or is_told, (self.caller.returncode, out, err)
            self._call()
        self._look()
        if self.kills_left and self.chance.random() < 0.02:
            self._strike(self.chance.choice(VICTIMS))
        return False

    def _look(self) -> None:
        """Tell the hunt which workers there are, and see whether a person is called."""
        if not Workspace(self.site.root).queue_db.exists():
            return
        with closing(queue(self.site)) as database:
            found = workers.registered(database)
            rows = database.rows(f"select task_id, reason from batch_item where state = '{PERSON}'")
            done = database.value("select count(*) from batch_item where state = 'done'")
        self.hunt.workers = frozenset(record.process.pid for record in found)
        # On a busy machine the batch would be over before the storm is.
        self.hunt.is_behind = (self.gits - self.hunt.left) * len(self.before) < done * self.gits
        self.called |= {(str(row["task_id"]), str(row["reason"])) for row in rows}

    def _strike(self, victim: str) -> None:
        pids = self._victims(victim)
        if not pids:
            return
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(pids), signal.SIGKILL)
            self.kills[victim] += 1
            self.kills_left -= 1

    def _victims(self, victim: str) -> list[int]:
        if victim == "caller":
            return [self.caller.pid]
        if not Workspace(self.site.root).queue_db.exists():
            return []
        with closing(queue(self.site)) as database:
            if victim == "worker":
                return [record.process.pid for record in workers.registered(database)]
            last = [jobs.last_attempt(database, job) for job in leases.leased_jobs(database)]
        return [each.supervisor.pid for each in last if each is not None and each.supervisor]

    def facts(self, broken: Sequence[str]) -> dict[str, Any]:
        """Return what the storm has come to, as a proof's page has it."""
        with closing(queue(self.site)) as database:
            counts = database.rows("select count(*) as jobs from job")[0]["jobs"]
            agents = database.rows("select count(*) as runs from attempt")[0]["runs"]
        gits = [[window, "git", self.hunt.kills[window]] for window in ALL_WINDOWS]
        whole = [[WHOLE, victim, self.kills[victim]] for victim in VICTIMS]
        return {
            "jobs": counts,
            "agents": agents,
            "kills": [*gits, *whole],
            "moments": 0,
            "stops": 0,
            "broken": {word: _count(word, broken) for word in PROMISES},
            "seconds": round(time.monotonic() - self.begun),
        }

    def broken(self) -> Iterator[str]:
        """Yield the promises that were broken, a sentence each."""
        site, tasks = self.site, list(self.before)
        if self.result.get("counts") != {"done": len(tasks)}:
            yield f"failed: {self.result.get('counts')}"
        marks = git(
            site,
            "log",
            "--first-parent",
            "--reverse",
            "--format=%(trailers:key=Sow-Task,valueonly)",
            "main",
        )
        order = [mark.rpartition("/")[2] for mark in marks.split()]
        if sorted(order) != sorted(tasks):
            more, less = Counter(order) - Counter(tasks), set(tasks) - set(order)
            yield f"doubled: merged {more}, not {less}"
        for task, before in self.before.items():
            if any(order.index(task) < order.index(other) for other in before):
                yield f"failed: {task} was merged before {before}"
            if site.task(task)["status"] != "completed":
                yield f"failed: {task} is {site.task(task)['status']}"
        for task, reason in sorted(self.called):
            yield f"failed: {task} wanted a person: {reason}"
        yield from self._left()
        yield from self._branches()

    def _branches(self) -> Iterator[str]:
        """End the project, and yield what its tasks' branches leave that are all merged."""
        for words in (("project", "abandon"), ("clone", "prune", "--all-projects")):
            ended = self.site.sow(*words, expect=None)
            if ended.code:
                yield f"failed: {' '.join(words)}: {ended.out}{ended.err}"
        if left := git(self.site, "for-each-ref", "--format=%(refname)", "refs/heads/sow").split():
            yield f"left: branches: {left}"

    def _left(self) -> Iterator[str]:
        site = self.site
        fsck = subprocess.run(
            ["git", "fsck", "--full", "--strict", "--no-dangling"],
            cwd=site.root,
            capture_output=True,
            text=True,
            check=False,
        )
        if fsck.returncode or fsck.stdout.strip():
            yield f"failed: git fsck: {fsck.stdout}{fsck.stderr}"
        if changed := git(site, "status", "--porcelain", "--", ".", ":!.sow").strip():
            yield f"failed: git status: {changed}"
        clones = Path(site.env["HOME"], ".local/state/sow/clones")
        if left := [path for path in clones.glob("*/*/*") if path.is_dir()]:
            yield f"left: clones {left}"
        with suppress(AssertionError):
            wait_until(lambda: not carriers(site.root), "no process is left", seconds=30)
        if pids := carriers(site.root):
            yield f"left: running: {pids}"
        if names := sorted(path.name for path in self.temporary.glob("sow-*")):
            yield f"left: temporary folders: {names}"
        if notes := list((site.root / ".git/sow/locks").glob("*")):
            yield f"left: notes of locks: {notes}"
        if locks := list((site.root / ".git").rglob("*.lock")):
            yield f"left: locks of git: {locks}"
        with closing(queue(site)) as database:
            for table in ("lease", "task", "aside", "merge_turn"):
                if rows := database.rows(f"select * from {table}"):
                    yield f"left: {len(rows)} rows in {table}"
            ended = database.rows("select state from batch")
            if [row["state"] for row in ended] != ["over"]:
                yield f"failed: batches {[tuple(row) for row in ended]}"


def _count(promise: str, broken: Sequence[str]) -> int:
    return sum(sentence.startswith(f"{promise}:") for sentence in broken)
