"""A record of many tasks, as a batch of true workers would leave it: made of a seed, at once.

It is written into a true queue file and true task files, so that what reads it is what reads any.
"""

import heapq
import random
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sow.ids import ProjectId
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

BEGAN = 1_763_971_200.0  # 2025-11-24 08:00 UTC
PROJECT = ProjectId("11111111-1111-4111-8111-111111111111")
SLOTS = 6
CRASHES, LIMITS, QUESTIONS = 0.14, 0.04, 0.05


class Plan(NamedTuple):
    """A task: what it waits for, and how its attempts go."""

    id: str
    name: str
    after: tuple[str, ...]
    agent: str


def make_record(root: Path, tasks: int, *, seed: int = 1, names: tuple[str, ...] = ()) -> Workspace:
    """Make a project of so many tasks and its whole record below a folder."""
    draw = random.Random(seed)
    root.mkdir(parents=True, exist_ok=True)
    init_workspace(root)
    workspace = Workspace(root)
    new_project(workspace, name="Sign-in", project_id=PROJECT, now=BEGAN)
    plans: list[Plan] = []
    for number in range(1, tasks + 1):
        before = [plan.id for plan in plans[-12:]]
        after = tuple(sorted(draw.sample(before, min(len(before), draw.choice((0, 0, 1, 1, 2))))))
        agent = draw.choice(("implementer", "implementer", "implementer", "tester", "architect"))
        name = names[number % len(names)] if names else draw.choice(NAMES)
        plan = Plan(f"{number * 10:03d}", name, after, agent)
        plans.append(plan)
        add_task(
            workspace,
            name=plan.name,
            agent=plan.agent,
            now=BEGAN,
            task_id=plan.id,
            depends_on=list(plan.after),
        )
    with closing(open_queue(workspace)) as database, database.transaction():
        _Simulation(workspace, database, plans, draw).run()
    return workspace


NAMES = (
    "Add the login route",
    "Store sessions in the database",
    "Rename the settings of the cache",
    "Write the tests of the parser",
    "Draw the page of an order",
    "Move the mail templates to their own package",
    "Check tokens before the body is read",
)
TEXTS = (
    "Wrote the route and its tests; all of them pass.",
    "The old form is still read, and a test holds it.",
    "Two files more than planned: the fixture was shared.",
)


class _Simulation:
    """What happens, in the order of time: tasks become ready, slots free, attempts end."""

    def __init__(
        self, workspace: Workspace, database: Database, plans: list[Plan], draw: random.Random
    ) -> None:
        self.workspace, self.database, self.draw = workspace, database, draw
        self.plans = {plan.id: plan for plan in plans}
        self.left = {plan.id: set(plan.after) for plan in plans}
        self.waiting: list[tuple[float, str]] = []
        self.free = list(range(SLOTS))
        self.events: list[tuple[float, int, Any]] = []
        self.job = self.count = 0
        self.changes: list[tuple[float, str, int | None, str, dict[str, Any]]] = []

    def run(self) -> None:
        self.database.run(
            "insert into batch (id, project_id, name, selection, policy, state, reason,"
            " path_variable, seen, forgiven, made_at, ended_at)"
            " values (1, ?, 'nightly', '{}', '{}', 'over', '', '', 0, 0, ?, ?)",
            (PROJECT, BEGAN, BEGAN + 1),
        )
        for plan in self.plans.values():
            self.database.run(
                "insert into batch_item (batch_id, project_id, task_id, state, reason, refusal,"
                " forgiven, is_open) values (1, ?, ?, 'done', '', '', 0, 0)",
                (PROJECT, plan.id),
            )
            if not plan.after:
                self.ready(plan.id, BEGAN)
        self.start(BEGAN)
        while self.events:
            at, _, deed = heapq.heappop(self.events)
            deed(at)
            self.start(at)
        self.database.run("delete from change")
        for at, task, job, kind, data in sorted(self.changes, key=lambda change: change[0]):
            self.database.run(
                "insert into change (at, project, task, job, batch, kind, data)"
                " values (?, ?, ?, ?, 1, ?, ?)",
                (at, PROJECT, task, job, kind, msgspec.json.encode(data).decode()),
            )

    def later(self, at: float, deed: Any) -> None:
        self.count += 1
        heapq.heappush(self.events, (at, self.count, deed))

    def ready(self, task: str, at: float, verb: str = "spawn") -> None:
        """Place a job."""
        self.job += 1
        job, plan = self.job, self.plans[task]
        executor = self.draw.choice(("claude-code", "claude-code", "cursor"))
        self.database.run(
            "insert into job (id, project_id, task_id, phase, verb, agent, executor_name, executor,"
            " prompt, cwd, path_variable, config_file, fresh, priority, state, reason, retry_at,"
            " retries, worker_deaths, settled, corrections, warnings, denied_tools, created_at,"
            " queued_at, batch, batch_step)"
            " values (?, ?, ?, 'implementation', ?, ?, ?, ?, '', '.', '', '', 0, 0, 'done', '', 0,"
            " 0, 0, 1, '[]', '[]', ?, ?, ?, 1, ?)",
            (
                *(job, PROJECT, task, verb, plan.agent, executor),
                f'{{"name": "{executor}", "type": "claude"}}',
                '["Bash(git push:*)"]' if self.draw.random() < 0.06 else "[]",
                *(at, at + 0.1, job),
            ),
        )
        self.tell(at, task, job, "placed", verb=verb, agent=plan.agent)
        self.tell(at + 0.1, task, job, "queued", before="preparing")
        heapq.heappush(self.waiting, (at, f"{job}:{task}:1:{verb}"))

    def tell(self, at: float, task: str, job: int | None, kind: str, **data: Any) -> None:
        self.changes.append((at, task, job, kind, data))

    def start(self, at: float) -> None:
        while self.free and self.waiting:
            _, what = heapq.heappop(self.waiting)
            slot = heapq.heappop(self.free)
            job, task, number, verb = what.split(":")
            self.attempt(at + 0.2, int(job), task, int(number), verb, slot)

    def attempt(self, at: float, job: int, task: str, number: int, verb: str, slot: int) -> None:
        fate = self.draw.random()
        length = min(self.draw.lognormvariate(4.6, 0.8), 1500.0)
        cause, exit_code = "reported", 0
        if number < 4 and fate < CRASHES:
            cause, exit_code, length = "crashed", 3, length * 0.4
        elif number < 4 and fate < CRASHES + LIMITS:
            cause, exit_code, length = "rate_limited", 1, length * 0.3
        end = at + length
        self.tell(at, task, job, "running", before="queued")
        worker = f"w{1 + slot // 3}-{'abcdef'[slot // 3] * 6}"
        self.database.run(
            "insert into attempt (job_id, number, id, verb, worker_id, argv, session_id, cause,"
            " reason, exit_code, created_at, started_at, ended_at)"
            " values (?, ?, ?, ?, ?, '[]', 's', ?, ?, ?, ?, ?, ?)",
            (
                *(job, number, uuid.uuid4().hex, verb if number == 1 else "resume", worker, cause),
                "" if cause == "reported" else f"the program ended with exit code {exit_code}",
                *(exit_code, at, at + 0.3, end),
            ),
        )
        tokens = int(length * 3000)
        self.database.run(
            "insert into spending (job_id, number, project_id, task_id, batch, agent, executor,"
            " began_at, ended_at, input, output, cache_read, cache_write, usd, models)"
            " select id, ?, project_id, task_id, 1, agent, executor_name, ?, ?, ?, ?, ?, 0, ?, '{}'"
            " from job where id = ?",
            (number, at, end, tokens, tokens // 20, tokens * 5, length / 400, job),
        )
        self.later(end, lambda now: self.ended(now, job, task, number, verb, slot, cause))

    def ended(
        self, at: float, job: int, task: str, number: int, verb: str, slot: int, cause: str
    ) -> None:
        heapq.heappush(self.free, slot)
        self.tell(at, task, job, "attempt_ended", attempt=number, cause=cause)
        if cause == "reported":
            self.reported(at + 0.2, job, task)
            return
        pause = 2.0**number * 4 if cause == "crashed" else 420.0
        state = "backoff" if cause == "crashed" else "parked"
        reason = "the usage limit resets at 09:30" if state == "parked" else "it crashed"
        self.tell(at + 0.1, task, job, state, before="running", cause=cause, reason=reason)

        def again(now: float) -> None:
            self.tell(now, task, job, "queued", before=state)
            heapq.heappush(self.waiting, (now, f"{job}:{task}:{number + 1}:{verb}"))

        self.later(at + pause, again)

    def reported(self, at: float, job: int, task: str) -> None:
        asks = self.draw.random() < QUESTIONS
        status = "paused" if asks else "completed"
        self.database.run(
            "update job set state = 'done', cause = 'reported', outcome_status = ?, started_at ="
            " queued_at, ended_at = ? where id = ?",
            (status, at, job),
        )
        self.tell(at, task, job, "done", before="running", cause="reported", status=status)
        self.tell(at, task, job, "status", before="in_progress", status=status, iteration=1)
        folder = next(self.workspace.phases.glob(f"*/tasks/{task}"))
        with (folder / "log.md").open("a") as log:
            log.write(_entry(at, self.draw))
        if asks:
            self.later(at + 900, lambda now: self.ready(task, now, "resume"))
            return
        state = folder / "state.yaml"
        state.write_text(state.read_text().replace("status: pending", "status: completed"))
        for other, left in self.left.items():
            if task in left:
                left.discard(task)
                if not left:
                    self.later(at + 1, lambda now, ready=other: self.ready(ready, now))


def _entry(at: float, draw: random.Random) -> str:
    from sow.clock import format_time

    text = draw.choice(TEXTS)
    return (
        f"---\ntimestamp: {format_time(at)}\nagent: implementer\naction: Did what was asked\n"
        f"result: success\nfiles: [src/a.py]\n---\n\n{text}\n\n"
    )
