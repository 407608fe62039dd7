"""A project whose merges, updates and clones are true ones of git, and whose agents are stand-ins.

Whoever follows `sow next` there runs the first line that is printed and asks again. A refused
command fails, so does a merge that comes to nothing for a reason that was known, and so does a
line that is printed again although everything stands as before.
"""

import os
import re
import shlex
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from calls.desk import WORKER, Desk
from clones.clone_site import name_author, plain
from in_process import Ended, run_in_process
from situation.first_line import PERSON

from sow.batches.gathering import Seen
from sow.calls.batch_look import Work
from sow.calls.batch_turn import take_turn
from sow.clones.bring_back import bring_back
from sow.clones.judged import judged_commit
from sow.clones.locks import locked_place
from sow.clones.main_checkout import main_checkout
from sow.clones.make import CloneOrder, finish_clone, make_clone
from sow.clones.place import Place
from sow.clones.record import note_clone, record_clone
from sow.config.checks import checks_of, hash_of, read_repository
from sow.config.clones import clone_settings
from sow.ids import ProjectId
from sow.jobs import batches, jobs, leases, waiters
from sow.schema.batch import BatchState
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.step_result import StepResult
from sow.schema.task import CheckRecord, CommandResult, SessionFacts, TaskStatus
from sow.state.projects import change_project, read_project
from sow.state.tasks import change_task, read_task
from sow.state.transitions import enter, moment
from sow.state.verdicts import Judgement, accept
from worker.kinds.merge.program import merge
from worker.kinds.update.program import update
from worker.steps.program_input import MergeOrders, UpdateOrders

REFUSED = (2, 3, 4, 5, 6)
BLANK = re.compile(r"<[^<>]+>")
PLACES = ("sow agent spawn", "sow agent resume", "sow agent review", "sow merge", "sow batch run")
"""What is queued here and not waited for: the stand-in for the worker ends it."""
MOST_STEPS = 40


@dataclass
class RefusalSite:
    """One repository, and who follows `sow next` in it."""

    desk: Desk
    answers: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    editor: str = "false"

    def __post_init__(self) -> None:
        plain(self.root, "init", "-q", "-b", "main")
        name_author(self.root)
        (self.root / "file").write_text("one\n")
        (self.root / "other").write_text("one\n")
        self.settings()
        plain(self.root, "add", "file", "other", ".sow/config.yaml")
        plain(self.root, "commit", "-q", "-m", "First")
        self.desk.staff()

    @property
    def root(self) -> Path:
        return self.desk.workspace.root

    def settings(self, **more: Any) -> None:
        """Write the repository's own settings, and accept them."""
        content = {"clones": {"use": "always"}, "batch": {"clone": True, "merge": True}, **more}
        self.desk.workspace.repository_config.write_text(yaml.safe_dump(content))
        if "checks" in more:
            assert self.run("trust", "--yes").code == 0

    def name_branch(self, name: str) -> None:
        """Give the project a branch, as `sow project new` does."""
        change_project(self.desk.workspace, lambda _: {"branch": name}, now=time.time())

    def set_state(self, state: str) -> None:
        """Have the project stand somewhere in its lifecycle."""
        change_project(self.desk.workspace, lambda _: {"state": state}, now=time.time())

    def place(self, task: str) -> Place:
        return self.main.place(self.desk.read(task))

    @property
    def main(self):
        source = read_repository(self.desk.workspace.repository_config)
        return main_checkout(self.desk.workspace, clone_settings(source)[0])

    def work(self, task: str, path: str, text: str, status=TaskStatus.COMPLETED, **more) -> None:
        """Have a task done in a clone of its own."""
        self.desk.task(task, **more)
        self._make_clone(task)
        clone = self.place(task).path
        (clone / path).write_text(text)
        plain(clone, "add", "-A")
        plain(clone, "commit", "-q", "-m", f"Work of {task}")
        self._report(task)
        if status is TaskStatus.COMPLETED:
            self.desk.change(task, status=status)

    def _make_clone(self, task: str) -> None:
        main, place = self.main, self.place(task)
        with locked_place(place):
            order = CloneOrder(place=place, repository=main.repository, base=main.project_commit)
            mark = make_clone(order).mark
            note_clone(main.repository, mark)
            finish_clone(place)
        record_clone(self.desk.workspace, mark, now=time.time())
        name_author(place.path, "An Agent")

    def _report(self, task: str) -> None:
        place = self.place(task)
        bring_back(place, self.main.repository)
        known = SessionFacts(executor="claude-code", cwd=".", started=True)
        session = {"session_id": "11111111-2222-4333-8444-555555555555", "session": known}
        self.desk.change(task, status=TaskStatus.NEEDS_REVIEW, **session)

    def run(self, *words: str) -> Ended:
        return run_in_process(*words, env=dict(self.desk.caller.environ), cwd=self.root)

    def next_lines(self) -> list[str]:
        printed = self.run("next")
        assert printed.code == 0, printed
        return printed.out.splitlines()

    def first(self) -> str:
        """Return the first command of `sow next`, without its reason."""
        return self.next_lines()[0].removeprefix(PERSON).partition("  # ")[0]

    def follow(self, *, until) -> list[str]:
        """Run what is printed first and ask again, until something is so; return these lines."""
        seen: set[tuple[str, str]] = set()
        begun = len(self.steps)
        while not until():
            line = self.next_lines()[0]
            found = (line, self.standing())
            assert found not in seen, f"again {line}, and all stands as before: {self.steps}"
            seen.add(found)
            self.steps.append(line)
            assert len(self.steps) - begun < MOST_STEPS, self.steps
            self.take(line)
        return self.steps[begun:]

    def take(self, line: str) -> None:
        """Carry out a line, and let everything that it has begun come to its end."""
        command = line.removeprefix(PERSON).partition("  # ")[0].replace(" --wait 100s", "")
        command = BLANK.sub(lambda blank: self.answers.get(blank[0], "as you think best"), command)
        if not command.startswith("sow "):
            env = {**os.environ, "EDITOR": self.editor}
            command = command.replace('"${EDITOR:-vi}"', "$EDITOR")
            done = subprocess.run(
                ["/bin/sh", "-c", command], cwd=self.root, env=env, capture_output=True, check=False
            )
            assert done.returncode == 0, f"{line}: {done}"
            return
        if command.startswith(PLACES):
            command += " --detach"
        if command.startswith("sow batch wait"):
            command += " --wait 0s"
        before = jobs.newest_id(self.desk.database)
        ended = self.run(*shlex.split(command)[1:])
        left_conflict = command.startswith("sow clone update") and "has conflicts" in ended.out
        assert ended.code not in REFUSED or left_conflict, f"{line}: {ended} after {self.steps}"
        self.work_off()
        for job in jobs.recent_jobs(self.desk.database, limit=50):
            refused = job.id > before and job.cause is Cause.MERGE_REFUSED
            assert not refused, f"{line}: {job.reason} after {self.steps}"

    def work_off(self) -> None:
        """Drive the batches and end every job, until nothing goes on by itself."""
        for _ in range(20):
            self.drive()
            live = [j for j in jobs.active_jobs(self.desk.database) if j.state is JobState.QUEUED]
            if not live:
                return
            for job in live:
                self._end(job)

    def drive(self) -> None:
        if not self.desk.workspace.project_state.exists():
            return
        project = ProjectId(read_project(self.desk.workspace).id)
        for batch in batches.going_on(self.desk.database, project):
            if batch.state is BatchState.RUNNING:
                work = Work(self.desk.caller, self.desk.database, self.desk.config, batch)
                take_turn(work, Seen(self.desk.workspace))

    def _end(self, job: Job) -> None:
        leases.claim(self.desk.database, WORKER, total=99, own=99, now=time.time())
        settings = self.main.settings
        folder = str(self.desk.base)
        match job.verb:
            case Verb.MERGE:
                orders = MergeOrders(
                    folder=folder,
                    root=str(self.root),
                    tasks=tuple(job.tasks),
                    way=job.terms.way,
                    settings=settings,
                    commands=(),
                )
                self._settle(job, merge(orders))
            case Verb.UPDATE:
                orders = UpdateOrders(
                    folder=folder, root=str(self.root), task=job.task_id, settings=settings
                )
                self._settle(job, update(orders))
            case Verb.REVIEW:
                commit = judged_commit(self.desk.workspace, self.desk.read(job.task_id))
                judgement = Judgement(by="reviewer", summary="Seen.", job=job.id, commit=commit)
                now = time.time()
                accept(self.desk.workspace, job.task_id, judgement, complete=False, now=now)
                self._settle(job, StepResult(cause=Cause.PASSED))
            case Verb.CHECK if job.task_id:
                self._check(job)
            case _:
                self._agent(job.task_id)
                self._settle(job, StepResult(cause=Cause.REPORTED))

    def _check(self, job: Job) -> None:
        """Check the work in a task's clone: it is red where it has the file `red`."""
        clone = self.place(job.task_id).path
        commands = checks_of(read_repository(self.desk.workspace.repository_config)).commands
        passed = not (clone / "red").exists()
        results = [
            CommandResult(name=name, passed=passed, command=hash_of(commands[name].run))
            for name in job.terms.names
        ]
        commit = plain(clone, "rev-parse", "HEAD")
        record = CheckRecord(passed=passed, commit=commit, at=moment(time.time()), results=results)
        self.desk.change(job.task_id, check=record)
        self._settle(job, StepResult(cause=Cause.PASSED if passed else Cause.CHECK_FAILED))

    def _agent(self, task: str) -> None:
        """Do what the agent of a task does: it makes its clone whole, and solves a conflict."""
        place = self.place(task)
        if not place.path.exists():
            self._make_clone(task)
        for path in plain(place.path, "diff", "--name-only", "--diff-filter=U").splitlines():
            (place.path / path).write_text(f"solved by {task}\n")
        if not (place.path / task).exists():
            (place.path / task).write_text("done\n")
        plain(place.path, "add", "-A")
        plain(place.path, "commit", "-q", "--allow-empty", "-m", f"More of {task}")
        now = time.time()
        change_task(
            self.desk.workspace,
            task,
            lambda found: (
                {}
                if found.status is TaskStatus.NEEDS_REVIEW
                else {**enter(found, TaskStatus.NEEDS_REVIEW, now=now)}
            ),
            now=now,
        )
        self._report(task)

    def _settle(self, job: Job, result: StepResult) -> None:
        database = self.desk.database
        leases.withdraw(database, job.id)
        database.run("delete from lease where job_id = ?", (job.id,))
        good = result.cause in (Cause.PASSED, Cause.REPORTED)
        ends = {
            "state": JobState.DONE if good else JobState.FAILED,
            "cause": result.cause,
            "reason": result.reason,
            "outcome_status": read_task(self.desk.workspace, job.task_id).status,
            "settled": 1,
            "started_at": job.created_at,
            "ended_at": time.time(),
        }
        jobs.change_job(database, job.id, **ends)
        waiters.ring_job(database, self.desk.workspace, job.id)
        waiters.take_detached(database, job.id)  # beside a true worker its call would have waited

    def standing(self) -> str:
        """Return what tells how all stands from how it stood before."""
        files = [
            (str(path), path.read_bytes())
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "/run/" not in f"{path}" and "/.git/" not in f"{path}"
        ]
        found = jobs.recent_jobs(self.desk.database, limit=400)
        rows = self.desk.database.rows("select id, state, forgiven from batch")
        refs = plain(self.root, "for-each-ref")
        return repr((files, [(j.id, j.state) for j in found], [tuple(r) for r in rows], refs))

    def is_merged(self, *tasks: str) -> bool:
        """Whether the work of tasks is in the project's branch."""
        merged = plain(self.root, "branch", "--merged", "HEAD", "--format=%(refname:lstrip=2)")
        return all(self.place(task).branch in merged.splitlines() for task in tasks)
