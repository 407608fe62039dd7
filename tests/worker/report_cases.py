"""What the tests of the process that takes reports share: it runs by itself, without a worker."""

import os
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import msgspec
from attempt_cases import wait_until

from sow import env_vars
from sow.environment import own_environment, own_process
from sow.paths import AttemptPaths, Workspace
from sow.report_message import Report, length_of, pack_report, unpack_answer
from sow.state.kept.store import project_id_at
from worker.reports.server_messages import Action, Answer, Order, ServedAttempt


class Answered(NamedTuple):
    code: int
    out: str
    err: str


class Taker:
    """The process, and the attempts that it takes reports of."""

    def __init__(self, workspace: Workspace, environ: dict[str, str]) -> None:
        self.workspace = workspace
        self.environ = environ
        self.orders, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                own_process("worker.reports.server"),
                env=own_environment(environ),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.answers = self.orders.makefile("rb")

    def close(self) -> None:
        self.answers.close()
        self.orders.close()
        self.process.wait(60)

    def served(
        self,
        task: str,
        job: int,
        role: str,
        *,
        reviews: bool = False,
        secrets: tuple[str, ...] = (),
    ) -> ServedAttempt:
        paths = AttemptPaths(self.workspace.jobs / str(job) / "1")
        paths.report_folder.mkdir(parents=True, exist_ok=True)
        own = {
            env_vars.ROOT: str(self.workspace.root),
            env_vars.TASK_ID: task,
            env_vars.JOB_ID: str(job),
            env_vars.ATTEMPT_ID: f"{job}.1.0123456789abcdef",
            env_vars.AGENT: role,
            env_vars.EXECUTOR: "claude-code",
            **({env_vars.REVIEW: "1"} if reviews else {}),
        }
        return ServedAttempt(
            id=own[env_vars.ATTEMPT_ID],
            folder=str(paths.folder),
            root=str(self.workspace.root),
            project=project_id_at(self.workspace.root),
            task=task,
            role=role,
            reviews=reviews,
            environ={**self.environ, **own},
            secrets=secrets,
        )

    def serve(
        self, task: str = "010", job: int = 1, role: str = "implementer", *, reviews: bool = False
    ) -> AttemptPaths:
        """Have reports taken of an attempt; return its files once its socket is there."""
        served = self.served(task, job, role, reviews=reviews)
        self.order(Order(action=Action.SERVE, attempt=served.id, served=served))
        paths = AttemptPaths(Path(served.folder))
        wait_until(lambda: can_connect(paths))
        return paths

    def order(self, order: Order) -> None:
        self.orders.sendall(msgspec.json.encode(order) + b"\n")

    def finish(self, job: int = 1) -> list[str]:
        """Have an attempt ended; return what was said meanwhile."""
        self.order(Order(action=Action.FINISH, attempt=f"{job}.1.0123456789abcdef"))
        words = []
        for line in self.answers:
            answer = msgspec.json.decode(line, type=Answer)
            if answer.is_finished:
                break
            words.append(answer.words)
        return words


def connect(paths: AttemptPaths) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    folder = os.open(paths.report_folder, os.O_RDONLY)
    try:
        client.connect(f"/proc/self/fd/{folder}/socket")
    except OSError:
        client.close()
        raise
    finally:
        os.close(folder)
    return client


def can_connect(paths: AttemptPaths) -> bool:
    try:
        connect(paths).close()
    except OSError:
        return False
    return True


def report_of(*words: str | bytes, stdin: bytes | None = None, name: str = "") -> Report:
    chosen = name.encode() or os.urandom(16).hex().encode()
    return Report(chosen, [w if isinstance(w, bytes) else w.encode() for w in words], stdin)


def send(paths: AttemptPaths, data: bytes) -> Answered | None:
    """Send bytes and return the answer; None where the other side hangs up without one."""
    with connect(paths) as client:
        try:
            client.sendall(data)
            return receive(client)
        except (BrokenPipeError, ConnectionResetError):
            return None


def receive(client: socket.socket) -> Answered | None:
    data = bytearray()
    while piece := client.recv(1 << 16):
        data += piece
        if len(data) == length_of(data):
            code, out, err = unpack_answer(data)
            return Answered(code, out.decode(), err.decode())
    return None


def ask(paths: AttemptPaths, *words: str | bytes, stdin: bytes | None = None) -> Answered:
    answer = send(paths, pack_report(report_of(*words, stdin=stdin)))
    assert answer is not None
    return answer
