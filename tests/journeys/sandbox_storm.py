"""A storm of SIGKILLs over agents in sandboxes: they report through sockets, some have secrets.

Half of them work in clones, half in the main checkout; some leave a child behind. Callers, workers,
supervisors, both processes of bubblewrap, agents, relays, fork servers, and who takes reports or
carries one out die at random, and now and then all of them at once. When the agents have reported,
their work is checked in sandboxes too.
"""

import json
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import yaml
from journeys.callers import exists, queue
from journeys.gitsite import commit, make_repository
from journeys.report_site import entries_of
from journeys.site import Site, wait_until
from journeys.staff import WorkerRun, drain, kill, launch_worker, shell_executor
from journeys.storm import outcomes_in
from journeys.storm_staff import PROGRAM
from journeys.storm_strikes import kill_all
from journeys.storm_verdict import PROMISES, of_the_rest, processes_with, was_given_up
from journeys.storm_worker import Fate

from sow.jobs import jobs, leases
from sow.jobs.attempt_evidence import is_locked
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.processes import procfs
from sow.processes.stat import Stat, below
from sow.schema.job import FINAL_STATES, Attempt, Cause, JobState, Verb
from worker.supervisor.sandboxed import is_first_of_namespace

AGENT = r"""
cat >/dev/null
mkdir -p .storm
mine=.storm/$SOW_TASK_ID
say() { read -r up _ </proc/uptime; echo "$1 $SOW_ATTEMPT_ID $up" >>$mine.lives; }
exec 9>>$mine.lock
flock -n 9 || say met
say begin
[ -z "$API_KEY" ] || { echo "key $API_KEY"; echo "token $TOKEN" >&2; }
case $SOW_TASK_ID in *[13579]0) (trap '' TERM; exec setsid sleep 60) & ;; esac
report() {
    say sent:$1
    shift
    "$@" >/dev/null 2>&1
    code=$?
}
n=0
while [ $n -lt 4 ]; do
    n=$((n+1))
    report $n sow agent log "note $SOW_ATTEMPT_ID $n" --body "$API_KEY$TOKEN"
    [ $code = 0 ] && say taken:$n || say refused:$n
    sleep 0.2
done
tries=0
while report status sow task set status needs_review; [ $code != 0 ] && [ $tries -lt 50 ]; do
    say refused:status
    tries=$((tries+1))
    sleep 0.2
done
say end
"""
SECRETS = {"API_KEY": "sk-of-a-file-4711", "TOKEN": "sk-of-a-command-4712"}
BLANKED = "[API_KEY][TOKEN]"
CHECK = 'test -w . && mkdir -p .storm && sleep 0.2 && ! cat "{keys}/API_KEY"'
GROUPS = (
    ("implementer", "--clone"),
    ("implementer", "--no-clone"),
    ("tester", "--clone"),
    ("tester", "--no-clone"),
)
"""The calls: testers have secrets."""
VICTIMS = (
    *("caller", "worker", "supervisor", "outer bwrap", "inner bwrap", "agent", "relay", "step"),
    *("fork server", "report server", "report"),
)
WITH_AGENTS = frozenset({"supervisor", "step", "agent"})
"""Who is there while agents or checks are at work."""
AT_ONCE = "all at once"
WINDOWS = ("starting", "running", "reporting", "tree ending", "checking", AT_ONCE)
NOTE = re.compile(r"note (\S+) (\d+)\Z")
STORM_RETRIES = 100
LEAVING = 0.3
"""How often a worker is told to leave instead of being killed."""
RATE, OFTEN = 0.1, 0.2
"""How likely the storm strikes at each of its steps; and where it is time for all to die."""
BEHIND = 0.5
"""How likely it strikes where more of the jobs have ended than of its kills are done: on a busy
machine a step takes long, and the jobs would be over before the storm is."""
QUIET_SECONDS = 300.0
"""After how long without any change the rest is taken for lost."""


Words = tuple[str, ...]


@dataclass
class Call:
    """A caller: the words of its command before the tasks and behind them, and what it got."""

    before: Words
    after: Words
    tasks: list[str]
    process: subprocess.Popen[str] | None = None
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    last: str = ""
    """How the last process of it ended."""

    @property
    def untold(self) -> list[str]:
        return [task for task in self.tasks if task not in self.outcomes]

    @property
    def pid(self) -> int | None:
        """The pid of the process that waits, if one does."""
        return self.process.pid if self.process and self.process.poll() is None else None


class SandboxStorm:
    """A storm over one empty site."""

    def __init__(self, site: Site, seed: int, *, tasks: int, kills: int, moments: int) -> None:
        self.site, self.chance = site, random.Random(seed)
        self.left, self.moments_left, self.moments = kills, moments, 0
        self.planned, self.ended = kills, 0
        self.fewest_between = kills // (moments + 1)
        self.begun = time.monotonic()
        self.workspace = Workspace(site.root)
        self.mounts = mounts_of(site)
        self.keys = Path(site.env["HOME"], "keys")
        self.tasks = [f"{10 * number:03}" for number in range(1, tasks + 1)]
        self.kills: Counter[tuple[str, str]] = Counter()
        self.staff: list[WorkerRun] = []
        self.to_check = list(self.tasks)
        self.taken = 0
        """How many reports the agents were told of that they are taken."""
        self._prepare()
        self.calls = [self._first_call(number) for number in range(len(GROUPS))]
        wait_until(self.workspace.queue_db.exists, "the first call makes the queue")
        self.database: Database = queue(site)
        self.seen, self.changed_at = "", time.monotonic()

    def _prepare(self) -> None:
        site = self.site
        make_repository(site)
        (site.root / ".git/info/exclude").write_text(".storm\n.sow/run\n")
        self.keys.mkdir()
        for name, value in SECRETS.items():
            (self.keys / name).write_text(f"{value}\n")
            (self.keys / name).chmod(0o600)
        plain = shell_executor(site, "plain", AGENT, sandbox="bwrap", retries=STORM_RETRIES)
        secret = {
            **shell_executor(site, "secret", AGENT, sandbox="bwrap", retries=STORM_RETRIES),
            "env_files": {"API_KEY": str(self.keys / "API_KEY")},
            "env_commands": {"TOKEN": f"cat '{self.keys / 'TOKEN'}'"},
        }
        executors = {"plain": plain, "secret": secret}
        for executor in executors.values():
            executor["settings"]["command"].pop()  # no folder of its task: that is not its own
        site.configure(
            {
                "worker": {"concurrency": 6, "autostart": False},
                "retry": {"worker_deaths": STORM_RETRIES},
                "agents": {
                    "executors": executors,
                    "bindings": {"implementer": "plain", "tester": "secret"},
                },
            }
        )
        site.project()
        for number, (role, _) in enumerate(GROUPS):
            site.add_tasks(*self.tasks[number :: len(GROUPS)], agent=role)
        check = {"run": CHECK.format(keys=self.keys), "sandbox": "bwrap", "network": "loopback"}
        settings = {"checks": {"unit": check}, "clones": {"use": "never"}}
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
        commit(site, "a project")
        site.sow("trust", "--yes")

    def _first_call(self, number: int) -> Call:
        role, place = GROUPS[number]
        return self._call(("agent", "spawn", role), self.tasks[number :: len(GROUPS)], (place,))

    def _call(self, before: Words, tasks: list[str], after: Words) -> Call:
        call = Call(before, after, tasks)
        self._ask(call)
        return call

    def _ask(self, call: Call) -> None:
        """Have a caller wait for what is not told yet."""
        call.process = self.site.start(*call.before, *call.untold, *call.after, "--json")

    def run(self, seconds: float) -> None:
        """Let the storm pass."""
        wait_until(self._step, "the storm is over", seconds=seconds)

    def _step(self) -> bool:
        """Go on; return whether all is done, or nothing has moved for too long."""
        self.staff = [run for run in self.staff if run.process.poll() is None]
        while len(self.staff) < 2:
            fate = Fate(str(self.site.base / "fates"), hurried=True)
            self.staff.append(launch_worker(self.site, json.dumps(asdict(fate)), program=PROGRAM))
        self._hear()
        if self.left and self.chance.random() < (BEHIND if self._is_behind() else RATE):
            self._strike()
        if self._is_time_for_all() and self.chance.random() < OFTEN:
            self._strike_all()
        if not any(call.untold for call in self.calls) and not self.to_check:
            self.to_check = self._unchecked()
            if not self.to_check:
                return True
        rows = self.database.rows("select id, state, settled, worker_deaths, retries from job")
        self.ended = sum(row["state"] in FINAL_STATES for row in rows)
        seen = repr([tuple(row) for row in rows])
        if seen != self.seen:
            self.seen, self.changed_at = seen, time.monotonic()
        return time.monotonic() - self.changed_at > QUIET_SECONDS

    def _hear(self) -> None:
        """Take down what callers have printed; they ask again for the rest, and for checks."""
        for call in self.calls:
            if not call.untold or call.process is None or call.process.poll() is None:
                continue
            out, err = call.process.communicate()
            call.outcomes |= outcomes_in(out)
            call.last = f"exit code {call.process.returncode}: {out}{err}"
            if call.untold:
                self._ask(call)
        known = {task for call in self.calls[: len(GROUPS)] for task in call.outcomes}
        for task in [task for task in self.to_check if task in known]:
            self.to_check.remove(task)
            self.calls.append(self._call(("task", "check"), [task], ("unit",)))

    def _unchecked(self) -> list[str]:
        """Return the tasks whose check was killed too often: who wants to know asks once more."""
        found = jobs.recent_jobs(self.database, limit=10_000)
        last = {
            job.task_id: job
            for job in sorted(found, key=lambda job: job.id)
            if job.verb is Verb.CHECK and not was_given_up(job)
        }
        return [task for task, job in last.items() if job.cause is Cause.PREVENTED]

    # Whom it kills, and when.

    def _is_behind(self) -> bool:
        """Whether the storm would be over late: each task has two jobs, its agent and its check."""
        done = self.planned - self.left
        return done * 2 * len(self.tasks) < self.ended * self.planned

    def _is_time_for_all(self) -> bool:
        """Whether everybody is to die now: moments come as the other kills go on."""
        done = self.kills.total() - sum(self.kills[AT_ONCE, victim] for victim in VICTIMS)
        return self.moments_left > 0 and done >= self.fewest_between * (self.moments + 1)

    def _strike(self) -> None:
        found = self._victims()
        if not WITH_AGENTS.intersection(found):
            return  # nobody has begun yet
        victim = self.chance.choice([each for each in VICTIMS if each in found])
        window, pid = self.chance.choice(found[victim])
        if not exists(pid):
            return
        if victim == "worker" and self.chance.random() < LEAVING:
            self.staff[[run.pid for run in self.staff].index(pid)].signal(signal.SIGTERM)
            return
        kill(pid)
        self.kills[window, victim] += 1
        self.left -= 1

    def _strike_all(self) -> None:
        """Kill everybody at once."""
        found = self._victims()
        if not found.get("agent"):
            return
        alive = {(victim, pid) for victim, each in found.items() for _, pid in each if exists(pid)}
        kill(*(pid for _, pid in alive))
        marker = f"HOME={self.site.env['HOME']}"
        wait_until(lambda: not kill_all(marker), "nothing of the storm is left alive")
        self.kills.update((AT_ONCE, victim) for victim, _ in alive)
        self.moments_left -= 1
        self.moments += 1

    def _victims(self) -> dict[str, list[tuple[str, int]]]:
        """Return who lives, by what they are, with the window that they are in."""
        table = procfs.processes()  # once: a busy machine has many
        found: dict[str, list[tuple[str, int]]] = {}

        def add(victim: str, window: str, pid: int | None) -> None:
            if pid is not None:
                found.setdefault(victim, []).append((window, pid))

        windows = set()
        for attempt in self._attempts():
            window = self._window_of(attempt)
            if window is None:
                continue
            windows.add(window)
            for victim, pid in self._processes_of(attempt, table).items():
                add(victim, window, pid)
        known = {pid for each in found.values() for _, pid in each}
        now = min(windows, key=WINDOWS.index, default="starting")
        for run in self.staff:
            add("worker", now, run.pid)
            for pid in below_of(table, run.pid):
                if b"worker.reports" in command_of(pid):
                    add("report server", now, pid)
                    for child in below_of(table, pid):
                        add("report", "reporting", child)
                    continue
                add("fork server", now, pid)
                for child in below_of(table, pid):
                    if child not in known:  # it waits for its orders
                        add("fork server", now, child)
        for call in self.calls:
            add("caller", now, call.pid)
        return found

    def _attempts(self) -> list[Attempt]:
        last = [jobs.last_attempt(self.database, job) for job in leases.leased_jobs(self.database)]
        return [attempt for attempt in last if attempt is not None]

    def _processes_of(self, attempt: Attempt, table: dict[int, Stat]) -> dict[str, int]:
        """Return the processes of an attempt that live, by what they are."""
        found: dict[str, int] = {}
        supervisor = attempt.supervisor.pid if attempt.supervisor is not None else 0
        if supervisor and exists(supervisor):
            found["supervisor"] = supervisor
        started: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            path = self.workspace.attempt(attempt.job_id, attempt.number).started
            started = json.loads(path.read_bytes())
        if started.get("attempt") != attempt.id:
            return found
        relay = started.get("relay_pid")
        if relay in table and table[relay].parent in (supervisor, 1):
            found["relay"] = relay
        top = int(started["agent_pid"])
        if top not in table:
            return found
        family = below(table, [top]) | {top: table[top]} if carries(top, attempt.id) else {}
        if attempt.verb is Verb.CHECK:
            return found | ({"step": top} if family else {})
        inner = next((pid for pid in family if is_first_of_namespace(pid)), 0)
        if inner:
            found |= {"outer bwrap": family[inner].parent, "inner bwrap": inner}
            agents = [pid for pid, process in family.items() if process.parent == inner]
            found |= {"agent": agents[0]} if agents else {}
        elif family:
            found["step"] = top  # it makes the clone
        return found

    def _window_of(self, attempt: Attempt) -> str | None:
        """Return what an attempt's agent does; None once its end is on record."""
        paths = self.workspace.attempt(attempt.job_id, attempt.number)
        if paths.exit.exists():
            return None
        if attempt.verb is Verb.CHECK:
            return "checking"
        task = jobs.get_job(self.database, attempt.job_id).task_id
        signs = [line for line in self._lives(task) if line.split()[1] == attempt.id]
        if not signs:
            return "starting"
        last = signs[-1].split()[0]
        if last == "end":
            return "tree ending"
        return "reporting" if last.startswith("sent") else "running"

    def _lives(self, task: str) -> list[str]:
        """Return what the agents of a task say of themselves, a line a moment."""
        folders = [self.site.root, *clones_of(self.site, task)]
        lines: list[str] = []
        for folder in folders:
            with suppress(OSError):
                text = (folder / f".storm/{task}.lives").read_text()
                lines += text[: text.rfind("\n") + 1].splitlines()
        return [line for line in lines if len(line.split()) == 3]

    # What it has come to.

    def end(self) -> list[str]:
        """Send the workers home; return the promises that were broken, a sentence each."""
        broken = [
            f"lost: job {job.id} of {job.task_id} never ended: {job.state}"
            for job in jobs.active_jobs(self.database)
        ]
        for run in self.staff:
            run.signal(signal.SIGTERM)
        for run in self.staff:
            run.process.wait(120)
        if not broken:
            drain(self.site)  # it sweeps what killed ones have left
        with closing(self.database):
            broken += self._of_records()
            for task in self.tasks:
                broken += of_lives(task, self._lives(task))
                broken += self._of_reports(task)
            broken += of_the_rest(self.site, self.database)
            broken += self._left()
        return broken

    def _of_records(self) -> Iterator[str]:
        found = [
            job for job in jobs.recent_jobs(self.database, limit=10_000) if not was_given_up(job)
        ]
        for task in self.tasks:
            mine = [job for job in found if job.task_id == task and job.verb is not Verb.CHECK]
            if len(mine) != 1:
                yield f"{'doubled' if mine else 'lost'}: {task} has {len(mine)} jobs"
            for job in mine:
                if (job.state, job.cause) != (JobState.DONE, Cause.REPORTED):
                    yield f"failed: {task} is {job.state} by {job.cause}, {job.reason!r}"
            if (status := self.site.task(task)["status"]) != "needs_review":
                yield f"failed: {task} is {status}"
            checks = [job for job in found if job.task_id == task and job.verb is Verb.CHECK]
            if not any(job.cause is Cause.PASSED for job in checks):
                yield f"lost: no check of {task} has passed"
            for job in checks:
                if job.state is not JobState.DONE and job.cause is not Cause.PREVENTED:
                    yield f"failed: the check of {task} is {job.state} by {job.cause}"
        for call in self.calls:
            for task in call.untold:
                words = " ".join((*call.before, task, *call.after))
                yield f"lost: {words} told nobody of it; {call.last}"

    def _of_reports(self, task: str) -> Iterator[str]:
        """Each report that was taken is in the log once, as its attempt's, in its order."""
        lines = [line.split() for line in self._lives(task)]
        taken = [(id, sign[6:]) for sign, id, _ in lines if sign.startswith("taken:")]
        entries = [entry for entry in entries_of(self.site, task) if not entry.event]
        logged: list[tuple[str, str]] = []
        for entry in entries:
            note = NOTE.match(entry.action)
            if note is None:
                if entry.action.startswith("Refused a report"):
                    yield f"lost: {task}: {entry.action}: {entry.text!r}"
                continue
            logged.append((note[1], note[2]))
            if entry.text.strip() not in ("", BLANKED):
                yield f"failed: {task}: a report says {entry.text!r}"
            if note[1].rpartition(".")[0] != f"{entry.job}.{entry.attempt}":
                yield f"doubled: {task}: a report of {note[1]} is logged as {entry.job}"
        for report, count in Counter(logged).items():
            if count > 1:
                yield f"doubled: {task} has {count} times {report}"
        for report in taken:
            if report not in logged:
                yield f"lost: {task}: {report} was taken"
        by_attempt = [[int(n) for _, n in group] for _, group in groupby(logged, lambda it: it[0])]
        for numbers in by_attempt:
            if any(second <= first for first, second in pairwise(numbers)):
                yield f"doubled: {task}: the order of its reports: {numbers}"
        attempts = [id for id, _ in groupby(id for id, _ in logged)]
        if len(set(attempts)) != len(attempts):
            yield f"doubled: {task}: reports of one attempt after another one's: {attempts}"
        self.taken += len(taken)

    def _left(self) -> Iterator[str]:
        site = self.site
        marker = f"HOME={site.env['HOME']}"
        with suppress(AssertionError):
            wait_until(lambda: not processes_with(marker), "no process is left", seconds=30)
        if left := [command_of(pid) for pid in processes_with(marker)]:
            yield f"left: running: {left}"
        if left := mounts_of(site) - self.mounts:
            yield f"left: mounted: {left}"
        for folder in sorted(self.workspace.jobs.glob("*/*")):
            job, number = int(folder.parent.name), int(folder.name)
            paths = self.workspace.attempt(job, number)  # type: ignore[arg-type]
            if paths.reports.exists():
                yield f"left: {paths.reports}"
            if is_locked(paths):
                yield f"left: the lock of {folder}"
        if homes := [*Path(site.env["HOME"], ".local/state/sow/homes").glob("*/*")]:
            yield f"left: homes {homes}"
        for path in holding(site.base, besides=self.keys):
            yield f"left: a secret in {path}"

    def facts(self, broken: Sequence[str]) -> dict[str, Any]:
        """Return what the storm has come to, as a proof's page has it."""
        with closing(queue(self.site)) as database:
            count = database.rows("select count(*) as jobs from job")[0]["jobs"]
            agents = database.rows("select count(*) as runs from attempt")[0]["runs"]
        return {
            "jobs": count,
            "agents": agents,
            "kills": [
                [window, victim, self.kills[window, victim]]
                for window in WINDOWS
                for victim in VICTIMS
            ],
            "moments": self.moments,
            "stops": 0,
            "broken": {
                word: sum(each.startswith(f"{word}:") for each in broken) for word in PROMISES
            },
            "seconds": round(time.monotonic() - self.begun),
        }


def of_lives(task: str, lines: Sequence[str]) -> Iterator[str]:
    """No agent is run while another one of its task lives, and none after it has ended."""
    signs = [line.split() for line in lines]
    if not signs:
        yield f"lost: {task} was never run"
    for sign, attempt, _ in signs:
        if sign == "met":
            yield f"doubled: {task} was run while its earlier agent lived: {attempt}"
    runs = [attempt for attempt, _ in groupby(attempt for _, attempt, _ in signs)]
    if len(set(runs)) != len(runs):
        yield f"doubled: {task} was run twice at the same time: {runs}"
    ended = [attempt for sign, attempt, _ in signs if sign == "end"]
    if len(ended) > 1:
        yield f"doubled: {task} was run again after its end: {ended}"


def below_of(table: dict[int, Stat], parent: int) -> list[int]:
    """Return the children of a process."""
    return [pid for pid, process in table.items() if process.parent == parent]


def clones_of(site: Site, task: str) -> list[Path]:
    clones = Path(site.env["HOME"], ".local/state/sow/clones")
    return [path for path in clones.glob(f"*/*/{task}") if path.is_dir()]


def mounts_of(site: Site) -> set[str]:
    """Return what is mounted at or below a site, for this process."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if str(site.base) in line}


def holding(base: Path, *, besides: Path) -> Iterator[Path]:
    """Yield the files that hold a secret, but for those that it comes from."""
    values = [value.encode() for value in SECRETS.values()]
    for path in base.rglob("*"):
        if path.is_file() and not path.is_symlink() and not path.is_relative_to(besides):
            data = path.read_bytes()
            if any(value in data for value in values):
                yield path


def children_of(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return b""


def carries(pid: int, attempt: str) -> bool:
    """Whether a process is of an attempt: its pid may be another one's by now."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"SOW_ATTEMPT_ID={attempt}".encode() in variables and exists(pid)
