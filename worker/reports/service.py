"""The worker's side of the reports of agents in sandboxes.

Owns the process that takes them: started with the first such attempt, and anew where it has died,
and what it is told of each attempt. For the monitor's thread alone, which it wakes when there is
news: the process ends with the thread that has started it.
"""

import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from sow import env_vars
from sow.agents.rights import CallingAgent
from sow.environment import agent_environment, own_environment, own_process
from sow.schema.kinds import kind_of
from worker.context import WorkerContext, logger, tell
from worker.fork_servers import BIND_NOW
from worker.reports.server_messages import Action, Answer, Order, ServedAttempt
from worker.running import Running
from worker.supervisor.foreign_processes import NO_ATTEMPT

SERVER = "worker.reports.server"
PATIENCE_SECONDS = 1.0
"""How long the process may take to take in an order."""
RESTART_SECONDS = 1.0
"""How long after a start the process is not started again."""
MOST_SECONDS = 420.0
"""How long an attempt that has ended waits for its last reports; then it is settled without."""


class ReportService:
    """The process that takes reports, and the attempts that it takes them of."""

    def __init__(self, context: WorkerContext, wake: Callable[[], None]) -> None:
        self._context = context
        self._wake = wake
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None
        self._started_at = -RESTART_SECONDS
        self._served: dict[str, tuple[Running, ServedAttempt]] = {}
        self._finishing: dict[str, float] = {}
        self._finished: set[str] = set()

    def serve(self, running: Running) -> None:
        """Take the reports of an attempt, those first that were kept while nobody did."""
        served = served_attempt(self._context, running)
        self._served[served.id] = running, served
        if not self.look():
            self._order(Order(action=Action.SERVE, attempt=served.id, served=served))

    def is_finished(self, running: Running) -> bool:
        """Whether all reports of an attempt that has ended are carried out; they are, soon."""
        attempt, now = running.attempt.id, time.monotonic()
        if attempt not in self._served or attempt in self._finished:
            return True
        if attempt not in self._finishing:
            self._finishing[attempt] = now
            self._order(Order(action=Action.FINISH, attempt=attempt))
        if now - self._finishing[attempt] > MOST_SECONDS:
            tell(running.job, "its last reports could not be carried out; it ends without them")
            self.forget(running)
            return True
        self.look()
        return False

    def forget(self, running: Running) -> None:
        """Take no more reports of an attempt."""
        attempt = running.attempt.id
        if self._served.pop(attempt, None) is None:
            return
        self._finishing.pop(attempt, None)
        if attempt not in self._finished:
            self._order(Order(action=Action.FORGET, attempt=attempt))
        self._finished.discard(attempt)

    def look(self) -> bool:
        """Start the process where none runs, and tell it all; return whether one was started."""
        if self._process is not None and self._process.poll() is None:
            return False
        now = time.monotonic()
        if not self._served or now - self._started_at < RESTART_SECONDS:
            return False
        self._started_at = now
        try:
            self._start()
        except OSError as error:
            logger.warning("no reports can be taken now: %s", error.strerror)
            return False
        for attempt, (_, served) in self._served.items():
            if attempt in self._finished:
                continue
            self._order(Order(action=Action.SERVE, attempt=attempt, served=served))
            if attempt in self._finishing:
                self._order(Order(action=Action.FINISH, attempt=attempt))
        return True

    def _start(self) -> None:
        self._close()
        ours, theirs = socket.socketpair()
        variables = own_environment(agent_environment(self._context.environ))
        with theirs:
            self._process = subprocess.Popen(
                own_process(SERVER),
                env={**variables, **BIND_NOW, env_vars.ATTEMPT_ID: NO_ATTEMPT},
                cwd="/",
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.settimeout(PATIENCE_SECONDS)
        self._orders = ours
        arguments = (ours.dup(),)
        threading.Thread(target=self._listen, args=arguments, name="reports", daemon=True).start()

    def _close(self) -> None:
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _order(self, order: Order) -> None:
        """Tell the process something. One that does not listen is ended, and started anew."""
        if self._orders is None:
            return
        try:
            self._orders.sendall(msgspec.json.encode(order) + b"\n")
        except OSError:
            self._close()

    def _listen(self, answers: socket.socket) -> None:
        """Hear what the process says, on a thread of its own, until it has gone."""
        answers.settimeout(None)
        with answers, suppress(OSError), answers.makefile("rb") as lines:
            for line in lines:
                self._hear(msgspec.json.decode(line, type=Answer))
        self._wake()

    def _hear(self, answer: Answer) -> None:
        known = self._served.get(answer.attempt)
        if known is not None and answer.words:
            tell(known[0].job, answer.words)
        if known is not None and answer.is_finished:
            self._finished.add(answer.attempt)
            self._wake()


def served_attempt(context: WorkerContext, running: Running) -> ServedAttempt:
    """Return an attempt as it is served: all of it is on record."""
    job, attempt = running.job, running.attempt
    agent = calling_agent_of(running)
    environ = own_environment(agent_environment(context.environ))
    review = env_vars.REVIEWS_WHOLE if agent.of_whole else "1"
    environ |= {
        env_vars.ROOT: str(context.workspace.root),
        env_vars.TASK_ID: agent.task_id,
        env_vars.JOB_ID: str(job.id),
        env_vars.ATTEMPT_ID: attempt.id,
        env_vars.AGENT: agent.role,
        env_vars.EXECUTOR: job.agents_executor.name,
        **({env_vars.REVIEW: review} if agent.reviews else {}),
    }
    return ServedAttempt(
        id=attempt.id,
        folder=str(running.paths.folder),
        root=str(context.workspace.root),
        project=job.project_id,
        task=agent.task_id,
        role=agent.role,
        reviews=agent.reviews,
        environ=environ,
        secrets=job.executor.secret_names if job.executor is not None else (),
    )


def calling_agent_of(running: Running) -> CallingAgent:
    """Return the agent of an attempt, as its commands are asked for their right."""
    job, task = running.job, running.task
    of_whole = task is not None and task.judges_whole
    reviews = kind_of(job).judges or of_whole
    return CallingAgent(job.task_id, job.agent, reviews=reviews, of_whole=of_whole)
