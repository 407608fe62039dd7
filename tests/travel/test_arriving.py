"""What a host may do by its word: events that a hostile one would write, at the owner's."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attempts.job_values import NOW, make_job
from journeys.gitsite import commit, git, log_of, take_through
from journeys.site import Site
from msgspec import UNSET
from msgspec.structs import replace
from travel.travelling import travelling

from sow.clones.conflicts import update_of_clone
from sow.clones.locks import locked_place
from sow.clones.made_by_setup import ready_clone
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.make import CloneOrder, finish_clone, make_clone
from sow.clones.record import note_clone
from sow.errors import SowError
from sow.git.remote import remote_of
from sow.git.repository import branch_commit
from sow.ids import JobId, ProjectId, WorkerId
from sow.jobs import jobs, travels
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace, attempt_id
from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.job_terms import CheckTerms, ReviewTerms
from sow.schema.task import TaskStatus
from sow.schema.travel import Event, EventKind, Travel
from sow.state.log_writing import AGENTS_LIMIT, LogEntry, write_missing_entry
from sow.state.projects import read_project
from sow.state.state_errors import WorkArrives
from sow.state.task_log import read_entries
from sow.state.tasks import read_task
from sow.travel import arriving
from sow.travel.arriving import bring_home, carry_out, catch_up
from sow.travel.clones_at_home import lacks_clone
from sow.travel.leaving import send_out
from sow.travel.names import attempt_ref
from sow.travel.old_refs import remove_old_refs

pytestmark = pytest.mark.slow
TASK = "project/phases/implementation/tasks/010"


@dataclass
class Home:
    """The checkout at which task 010 is at home, what was sent of it, and a host's repository."""

    site: Site
    database: Database
    job: Job
    travel: Travel
    elsewhere: Path

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.site.root)

    @property
    def ref(self) -> str:
        return attempt_ref(self.job.project_id, attempt_id(self.job.id, 1, "abcdef"))

    def happen(self, kind: str, place: int = 1, **data: Any) -> str:
        """Carry an event out; return why it is refused, or nothing."""
        if kind == EventKind.WORK:
            data = {"ref": self.ref, **data}
        event = Event(
            job_id=self.job.id, attempt=1, place=place, host="builder", kind=kind, data=data
        )
        args = (self.workspace, self.database, self.job, self.travel, event, NOW)
        try:
            carry_out(*args)
        except SowError as error:
            return error.message
        except (ValueError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def made(self, words: str, *, base: str | None = None, push: bool = True) -> str:
        """Return a commit that a host has made by a command line, pushed as that of the attempt."""
        git(self.site, "checkout", "-q", "--detach", base or self.travel.base, cwd=self.elsewhere)
        subprocess.run(["sh", "-ec", words], cwd=self.elsewhere, check=True)
        git(self.site, "add", "-A", "--force", cwd=self.elsewhere)
        by = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        git(self.site, *by, "commit", "-q", "--allow-empty", "-m", "w", cwd=self.elsewhere)
        found = git(self.site, "rev-parse", "HEAD", cwd=self.elsewhere).strip()
        if push:
            git(self.site, "push", "-q", "-f", "origin", f"{found}:{self.ref}", cwd=self.elsewhere)
        return found

    def commit_of(self, tree: str) -> str:
        """Return a commit of a tree, pushed as that of the attempt."""
        by = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        words = ("commit-tree", tree, "-p", self.travel.base, "-m", "w")
        found = git(self.site, *by, *words, cwd=self.elsewhere).strip()
        git(self.site, "push", "-q", "-f", "origin", f"{found}:{self.ref}", cwd=self.elsewhere)
        return found

    def branch(self) -> str | None:
        """Return the last commit of the task's branch."""
        main = main_checkout(self.workspace, known_settings(self.workspace))
        return branch_commit(main.repository, main.place(read_task(self.workspace, "010")).branch)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    with travelling(tmp_path, monkeypatch) as sent:
        workspace = Workspace(sent.site.root)
        project = ProjectId(read_project(workspace).id)
        with closing(open_queue(workspace)) as database:
            job = make_job(project_id=project)
            database.run("create table event (job_id, attempt, place, host, kind, data, outcome)")
            database.run(
                "create table travel (job_id, ref, packed, base, tip, branch, trunk, host)"
            )
            yield Home(sent.site, database, job, sent.travel, sent.elsewhere)


def work(commit: str, **more: Any) -> dict[str, Any]:
    return {"commit": commit, **more}  # the ref is filled in where it is not said


def test_its_work_is_taken_into_the_branch_and_again_changes_nothing(home: Home) -> None:
    made = home.made("echo x >made.txt")
    for _ in range(2):
        assert home.happen(EventKind.WORK, **work(made)) == ""
        assert home.branch() == made
    clone = read_task(home.workspace, "010").clone
    assert clone
    assert (Path(clone.path) / "made.txt").read_text() == "x\n"
    more = home.made("echo y >>made.txt", base=made)
    assert home.happen(EventKind.WORK, **work(more)) == ""
    assert (Path(clone.path) / "made.txt").read_text() == "x\ny\n", "its clone here goes along"


def test_a_clone_here_with_work_of_its_own_is_kept(home: Home) -> None:
    made = home.made("echo x >made.txt")
    home.happen(EventKind.WORK, **work(made))
    clone = read_task(home.workspace, "010").clone
    assert clone
    (Path(clone.path) / "own.txt").write_text("a person's\n")
    more = home.made("echo y >>made.txt", base=made)
    refusal = home.happen(EventKind.WORK, **work(more))
    assert "is behind its branch and was kept: uncommitted: own.txt" in refusal
    assert home.branch() == more
    assert (Path(clone.path) / "own.txt").exists()


SETUP = "clones:\n  setup: echo made >made-here.txt\n"


def test_with_a_setup_the_clone_is_left_to_whoever_needs_it(home: Home) -> None:
    (home.workspace.sow / "config.yaml").write_text(SETUP)
    main = main_checkout(home.workspace, known_settings(home.workspace))
    assert not lacks_clone(main, read_task(home.workspace, "010")), "it has no branch"
    made = home.made("echo x >made.txt")
    assert home.happen(EventKind.WORK, **work(made)) == ""
    task = read_task(home.workspace, "010")
    assert task.clone
    assert not Path(task.clone.path).exists()
    assert lacks_clone(main, task)
    place = main.place(task)
    with locked_place(place):
        made_clone = make_clone(CloneOrder(place=place, repository=main.repository, base=made))
        assert lacks_clone(main, task), "it is not ready yet"
        note_clone(main.repository, made_clone.mark, ready_clone(place, main.repository))
        finish_clone(place)
    assert not lacks_clone(main, task)
    (place.path / ".git/sow/clone.json").write_text("{}")
    assert not lacks_clone(main, task), "what lies there is not sow's to replace"


def test_other_commits_than_those_of_its_attempt_are_refused(home: Home) -> None:
    made = home.made("echo x >made.txt")
    unpushed = home.made("echo y >y.txt", push=False)
    orphan = "git checkout -q --orphan other && rm -rf code.txt && echo z >z.txt"
    state = "mkdir -p .sow/project && echo evil >.sow/project/state.yaml"
    case = "mkdir -p .SOW/Run && echo evil >.SOW/Run/x"
    refused = {
        "it names none": work("--upload-pack=evil"),
        "another than its ref": work(unpushed),
        "another's ref": work(made, ref=home.ref.replace("/1-1", "/2-1")),
        "a branch's": work(made, ref="refs/heads/main"),
        "one that leads out": work(made, ref="refs/sow/attempts/../../heads/main"),
    }
    assert [what for what, data in refused.items() if not home.happen(EventKind.WORK, **data)] == []
    for words, reason in (
        (orphan, "does not build on what was sent"),
        (state, "changes the state of the project"),
        (case, "changes the state of the project"),
    ):
        assert reason in home.happen(EventKind.WORK, **work(home.made(words))), words
    assert home.branch() is None


def test_state_that_the_project_s_branch_brings_is_no_change_of_the_task_s(home: Home) -> None:
    first = home.made("echo x >made.txt")
    assert home.happen(EventKind.WORK, **work(first)) == ""
    git(home.site, "add", "--force", ".sow/project")
    git(home.site, "commit", "-qm", "The project's state")
    git(home.site, "push", "-q", "origin", "main")
    settings = known_settings(home.workspace)
    travel = send_out(home.workspace, settings, "origin", home.job.id, "010")
    assert travel is not None
    home.travel = travel
    by = "-c user.name=A -c user.email=a@example.invalid"
    merge = f"git fetch -q origin main && git {by} merge -q -m Merge FETCH_HEAD"
    evil = home.made(f"{merge} && echo evil >>.sow/project/state.yaml", base=first)
    assert "changes the state of the project" in home.happen(EventKind.WORK, **work(evil))
    merged = home.made(merge, base=first)
    assert home.happen(EventKind.WORK, **work(merged)) == ""
    assert home.branch() == merged


def in_conflict(home: Home) -> Path:
    """Have an update leave a conflict in the clone of the task; return that."""
    made = home.made("echo mine >code.txt")
    assert home.happen(EventKind.WORK, **work(made)) == ""
    (home.site.root / "code.txt").write_text("theirs\n")
    commit(home.site)
    main = main_checkout(home.workspace, known_settings(home.workspace))
    place = main.place(read_task(home.workspace, "010"))
    assert update_of_clone(main, place).conflicts == ("code.txt",)
    return place.path


def test_a_conflict_that_was_solved_elsewhere_is_dropped_here(home: Home) -> None:
    clone = in_conflict(home)
    git(home.site, "push", "-q", "origin", "main")
    first = str(home.branch())
    by = "-c user.name=A -c user.email=a@example.invalid"
    merge = f"git fetch -q origin main && git {by} merge -q -s ours -m Merge FETCH_HEAD"
    solved = home.made(f"{merge} && echo both >code.txt", base=first)
    assert home.happen(EventKind.WORK, **work(solved)) == ""
    assert home.branch() == solved
    assert (clone / "code.txt").read_text() == "both\n"
    assert not (clone / ".git/MERGE_HEAD").exists()


def test_a_task_whose_conflict_somebody_has_begun_to_solve_stays_here(home: Home) -> None:
    clone = in_conflict(home)
    settings = known_settings(home.workspace)
    assert send_out(home.workspace, settings, "origin", home.job.id, "010") is not None
    (clone / "code.txt").write_text("half of it\n")
    assert send_out(home.workspace, settings, "origin", home.job.id, "010") is None


def test_work_without_end_is_refused_and_leaves_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes name more files than any disk holds, or a large one again and again."""
    monkeypatch.setattr(arriving, "MOST_WORK", 8 << 20)
    zeros = "head -c 1000000 /dev/zero >a"
    for words, reason in (
        (f"{zeros}; for n in 1 2 3 4 5 6 7 8 9; do cp a $n; done", "has more than 8 MB"),
        ("head -c 9000000 /dev/urandom >a", "has more than 8 MB"),
    ):
        made = home.made(words)
        assert reason in home.happen(EventKind.WORK, **work(made)), words
        assert not is_here(home, made)
    monkeypatch.setattr(arriving, "LOOK_SECONDS", 3.0)
    file = git(home.site, "rev-parse", "main:code.txt", cwd=home.elsewhere).strip()
    empty = git(home.site, "mktree", cwd=home.elsewhere).strip()
    for line in (f"100644 blob {file}", f"040000 tree {empty}"):
        made = home.commit_of(bomb(home, line))
        assert "changes too many files" in home.happen(EventKind.WORK, **work(made))
        assert not is_here(home, made)
    assert home.branch() is None


def bomb(home: Home, line: str) -> str:
    """Return a tree in which something is ten times, in ten folders of ten folders, and so on."""
    for _ in range(10):
        lines = "".join(f"{line}\t{number}\n" for number in range(10))
        tree = git(home.site, "mktree", cwd=home.elsewhere, stdin=lines).strip()
        line = f"040000 tree {tree}"
    return tree


def is_here(home: Home, commit: str) -> bool:
    found = git(home.site, "cat-file", "--batch-check", stdin=f"{commit}\n")
    return "missing" not in found


def test_work_that_git_refuses_is_refused_for_good(home: Home) -> None:
    """Else the job would owe its task what befell it, and nobody could go on with that."""
    blob = git(home.site, "rev-parse", "HEAD:code.txt", cwd=home.elsewhere).strip()
    line = f"100644 blob {blob}\t.git\n"
    made = home.commit_of(git(home.site, "mktree", cwd=home.elsewhere, stdin=line).strip())
    assert "was not taken" in home.happen(EventKind.WORK, **work(made))
    assert home.branch() is None


def test_what_it_has_changed_is_what_its_commits_say(home: Home) -> None:
    made = home.made("echo x >made.txt; echo evil >code.txt")
    assert home.happen(EventKind.WORK, **work(made)) == ""
    assert home.happen(EventKind.TASK, place=2, files_modified=["harmless.txt"]) == ""
    assert read_task(home.workspace, "010").files_modified == ["code.txt", "made.txt"]


def tell_of(home: Home, *commits: str) -> None:
    """Put on record that attempts of the job have left these commits, one after the other."""
    database = home.database
    database.run("alter table job add column host_id text default ''")
    jobs.insert_job(database, home.job)
    travels.send(database, home.travel)
    for number, made in enumerate(commits, 1):
        ref = home.ref.replace("-1-", f"-{number}-")
        git(home.site, "push", "-qf", "origin", f"{made}:{ref}", cwd=home.elsewhere)
        data = msgspec.json.encode({"commit": made, "ref": ref}).decode()
        database.run(
            "insert into event (job_id, attempt, place, host, kind, data)"
            " values (?, ?, 1, 'builder', 'work', ?)",
            (home.job.id, number, data),
        )


def test_two_processes_bring_work_home_one_after_the_other(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the slower would move the branch back to where its own look has found it."""
    first = home.made("echo x >made.txt")
    second = home.made("echo y >y.txt", base=first)
    tell_of(home, first, second)
    looked, goes_on = threading.Event(), threading.Event()
    take_in = arriving.take_in

    def take_in_slowly(*args: Any) -> Any:
        monkeypatch.setattr(arriving, "take_in", take_in)
        looked.set()
        assert goes_on.wait(60)
        return take_in(*args)

    monkeypatch.setattr(arriving, "take_in", take_in_slowly)

    def bring(patience: float = 0.0) -> bool:
        with closing(open_queue(home.workspace)) as database:
            return bring_home(home.workspace, database, home.job, now=NOW, patience=patience)

    with ThreadPoolExecutor(1) as slow:
        coming = slow.submit(bring)
        try:
            assert looked.wait(60)
            with pytest.raises(WorkArrives, match="the work of task 010"):
                bring()
        finally:
            goes_on.set()
        assert bring(patience=60)
        assert coming.result()
    assert home.branch() == second
    assert [row["outcome"] for row in home.database.rows("select * from event")] == ["", ""]
    assert not home.workspace.arrival_lock("010").exists()


HOLDER = """
import sys, time
from pathlib import Path
from sow.paths import Workspace
from sow.travel.arriving import arrival
with arrival(Workspace(Path(sys.argv[1])), "010", 0):
    print("holds", flush=True)
    sys.stdin.read()
"""


def test_whoever_is_killed_as_it_brings_work_home_is_in_nobody_s_way(home: Home) -> None:
    made = home.made("echo x >made.txt")
    tell_of(home, made)
    words = (sys.executable, "-c", HOLDER, str(home.site.root))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"holds\n"
            with pytest.raises(WorkArrives):
                bring_home(home.workspace, home.database, home.job, now=NOW)
        finally:
            holder.kill()
    assert bring_home(home.workspace, home.database, home.job, now=NOW)
    assert home.branch() == made


def test_a_guest_has_what_home_has_taken_already(home: Home) -> None:
    """Else an attempt that follows one at home would begin without the commits before it."""
    made = home.made("echo x >made.txt")
    tell_of(home, made)
    assert bring_home(home.workspace, home.database, home.job, now=NOW)
    main = main_checkout(home.workspace, known_settings(home.workspace))
    git(home.site, "update-ref", "-d", f"refs/heads/{home.travel.branch}")
    remote = remote_of(main.repository, "origin")
    events = travels.events_of(home.database, home.job.id)
    catch_up(home.workspace, home.database, home.job, home.travel, events, remote, now=NOW)
    assert home.branch() == made


def attempt(
    database: Database, job: Job, number: int, session: str | None = None, mark: str = "ab"
) -> None:
    jobs.insert_attempt(
        database,
        Attempt(
            id=attempt_id(job.id, number, mark),
            job_id=job.id,
            number=number,
            verb=Verb.SPAWN,
            worker_id=WorkerId("w"),
            argv=("claude",),
            session_id=session,
            created_at=NOW,
        ),
    )


def test_how_a_task_stands_its_last_attempt_says(home: Home) -> None:
    for number in (1, 2):
        attempt(home.database, home.job, number)
    assert "attempt 2 came after it" in home.happen(EventKind.TASK, status="abandoned")
    assert read_task(home.workspace, "010").status == "pending"


def test_no_session_of_another_task_becomes_its_own(home: Home) -> None:
    other = jobs.insert_job(home.database, make_job(project_id=home.job.project_id, task_id="020"))
    attempt(home.database, other, 1, "s-1")
    session = {"session_id": "s-1", "session": {"executor": "claude-code"}}
    refusal = home.happen(EventKind.TASK, **session, metadata={"risk": "low"})
    assert "session s-1, which is another task's" in refusal
    task = read_task(home.workspace, "010")
    assert task.session_id is UNSET
    assert task.metadata == {"risk": "low"}


def test_a_commit_that_somebody_has_put_on_the_branch_here_is_not_lost(home: Home) -> None:
    made = home.made("echo x >made.txt")
    own = git(home.site, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "mine").strip()
    git(home.site, "update-ref", f"refs/heads/{home.travel.branch}", own)
    assert "has commits in the main repository" in home.happen(EventKind.WORK, **work(made))
    assert home.branch() == own


ENTRY = {
    **{"timestamp": "2026-01-31T12:00:00Z", "agent": "implementer", "action": "Did it"},
    **{"id": "0123456789ab", "text": "At length"},
}


def test_an_entry_is_written_once_and_in_nobody_else_s_name(home: Home) -> None:
    for _ in range(2):
        assert home.happen(EventKind.LOG, **ENTRY) == ""
    assert log_of(home.site, "010").count("action: Did it") == 1
    forged = {**ENTRY, "id": "ba9876543210", "agent": "person", "action": "Accepted", "job": 77}
    assert home.happen(EventKind.LOG, **forged) == ""
    log = log_of(home.site, "010")
    assert "agent: person" not in log
    assert "job: 77" not in log
    for evil in (
        *({**ENTRY, "id": ""}, {**ENTRY, "id": "x\n---"}, {}),
        *({**ENTRY, "id": "0" * 12, name: {}} for name in ENTRY),
        {**ENTRY, "timestamp": "2026\n---\nid: 1"},
    ):
        assert home.happen(EventKind.LOG, **evil), evil


def test_no_host_chooses_the_id_of_an_entry(home: Home) -> None:
    """Else it could keep one from being written that another attempt has still to tell."""
    assert home.happen(EventKind.LOG, **ENTRY) == ""
    own = {"timestamp": ENTRY["timestamp"], "agent": "sow", "action": "Done", "id": ENTRY["id"]}
    assert write_missing_entry(home.workspace.sow / TASK, LogEntry(**own))


def test_a_log_stays_one_that_can_be_read(home: Home) -> None:
    folder = home.workspace.sow / TASK
    large = {**ENTRY, "text": "x" * (2 << 20)}
    assert "more than 1 MB" in home.happen(EventKind.LOG, **large)
    for name, text in (("timestamp", "2026-01-31T12:00:00Z\n"), ("id", "0123456789ab\n")):
        assert home.happen(EventKind.LOG, **{**ENTRY, name: text}), name
    assert home.happen(EventKind.LOG, **ENTRY) == ""
    assert [entry.action for entry in read_entries(folder / "log.md")] == ["Did it"]
    with (folder / "log.md").open("ab") as log:
        log.truncate(AGENTS_LIMIT)
    another = {**ENTRY, "id": "ba9876543210"}
    assert "log is full" in home.happen(EventKind.LOG, **another)


def test_files_land_in_the_task_s_folder_or_among_the_drafts_alone(home: Home) -> None:
    for path in (f"{TASK}/notes/a.md", "project/context/design.md"):
        for _ in range(2):
            assert home.happen(EventKind.FILE, path=path, text="x", before=None) == ""
        assert (home.workspace.sow / path).read_text() == "x"
    outside = home.site.base / "outside"
    outside.mkdir()
    (home.workspace.sow / TASK / "link").symlink_to(outside)
    (home.workspace.sow / TASK / "folder").mkdir()
    for path in (
        *("project/state.yaml", "config.yaml", "run/x", "../x", "/etc/x", "", 7),
        *(f"{TASK}/../020/notes.md", f"{TASK}/state.yaml", f"{TASK}/log.md", f"{TASK}/.x"),
        *(f"{TASK}/State.YAML", f"{TASK}/LOG.md", f"{TASK}/folder"),
        *(f"{TASK}//x", f"{TASK}/", f"{TASK}/link/x", f"{TASK}/a\0b"),
        TASK.replace("010", "020") + "/notes.md",
    ):
        assert home.happen(EventKind.FILE, path=path, text="evil", before=None), path
    assert list(outside.iterdir()) == []
    assert home.happen(EventKind.FILE, path=f"{TASK}/big", text="x" * (1 << 21), before=None)


def test_what_was_changed_here_meanwhile_is_not_overwritten(home: Home) -> None:
    path = f"{TASK}/description.md"
    (home.workspace.sow / path).write_text("mine")
    refusal = home.happen(EventKind.FILE, path=path, text="theirs", before="0" * 40)
    assert "was changed here meanwhile" in refusal
    assert (home.workspace.sow / path).read_text() == "mine"
    large = home.workspace.sow / TASK / "large.md"
    large.write_text("mine" * (1 << 19))
    assert "larger than 1 MiB" in home.happen(EventKind.FILE, path=f"{TASK}/large.md", text="x")
    assert large.stat().st_size == 1 << 21


def as_review(home: Home) -> str:
    """Have the task's work wait for the verdict of a review, whose job it is then."""
    made = home.made(
        "echo x >made.txt; mkdir -p .github/workflows; echo x >.github/workflows/c.yml"
    )
    assert home.happen(EventKind.WORK, **work(made)) == ""
    take_through(home.site, "010", TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW)
    home.job = make_job(
        id=JobId(7),
        project_id=home.job.project_id,
        verb=Verb.REVIEW,
        agent="reviewer",
        terms=ReviewTerms(commit=made),
    )
    return made


ACCEPTS = {"verdict": "accepted", "summary": "Good."}
CORRECTS = {"verdict": "corrections", "findings": "Say two."}


def test_a_verdict_is_that_of_its_review_on_the_commit_of_its_record_once(home: Home) -> None:
    commit = as_review(home)
    for _ in range(2):
        assert home.happen(EventKind.VERDICT, **CORRECTS, by="person", commit="0" * 40) == ""
    task = read_task(home.workspace, "010")
    assert task.review
    assert (task.review.by, task.review.commit, task.review.job) == ("reviewer", commit, 7)
    assert list(task.review.steers) == [".github/workflows/c.yml"], "found here"
    assert task.feedback == [{"file": "001.md", "status": "open"}]
    home.job = make_job(**{**msgspec.structs.asdict(home.job), "id": JobId(8)})
    assert home.happen(EventKind.VERDICT, **ACCEPTS) == ""
    task = read_task(home.workspace, "010")
    assert task.review
    assert (task.review.verdict, task.review.job) == ("accepted", 8)
    assert task.status == "needs_review", "a review completes nothing"


def test_a_verdict_is_refused_that_is_none_of_a_review_s(home: Home) -> None:
    author = home.job
    as_review(home)
    for evil in ({}, {"verdict": "perfect"}, {"verdict": "corrections", "findings": " "}):
        assert home.happen(EventKind.VERDICT, **evil), evil
    review, home.job = home.job, author
    assert "a verdict, which is a reviewer's" in home.happen(EventKind.VERDICT, **ACCEPTS)
    take_through(home.site, "010", TaskStatus.IN_PROGRESS)
    home.job = review
    assert "there is no work to review" in home.happen(EventKind.VERDICT, **ACCEPTS)
    assert not read_task(home.workspace, "010").review


def test_of_a_review_nothing_comes_home_but_its_verdict_and_its_log(home: Home) -> None:
    commit = as_review(home)
    made = home.made("echo evil >made.txt", base=commit)
    for kind, data in (
        (EventKind.WORK, work(made)),
        (EventKind.TASK, {"status": "failed"}),
        (EventKind.FILE, {"path": f"{TASK}/notes.md", "text": "evil", "before": None}),
    ):
        assert "which is an author's" in home.happen(kind, **data), kind
    assert home.branch() == commit
    assert read_task(home.workspace, "010").status == "needs_review"
    assert home.happen(EventKind.LOG, **ENTRY) == ""
    assert "agent: reviewer" in log_of(home.site, "010")


RESULT = {"name": "unit", "passed": True, "exit_code": 0}


def as_check(home: Home, commit: str) -> None:
    """Have the home's job be a check of the task's work, which is at this commit."""
    settings = known_settings(home.workspace)
    travel = send_out(home.workspace, settings, "origin", JobId(9), "010", is_made=True)
    assert travel is not None
    assert travel.tip == commit
    home.travel = travel
    home.job = make_job(
        id=JobId(9),
        project_id=home.job.project_id,
        verb=Verb.CHECK,
        agent="",
        executor=None,
        terms=CheckTerms(names=("unit",)),
    )


def test_the_outcome_of_a_check_is_that_of_the_commit_that_was_sent(home: Home) -> None:
    commit = as_review(home)
    review = home.job
    as_check(home, commit)
    good = {"passed": True, "commit": commit, "at": "2026-01-31T12:00:00Z", "results": [RESULT]}
    for evil, reason in (
        ({}, "ValidationError"),
        ({**good, "commit": "0" * 40}, "another commit"),
        ({**good, "results": []}, "has not run what was asked for"),
        ({**good, "results": [{**RESULT, "name": "other"}]}, "has not run what was asked for"),
    ):
        assert reason in home.happen(EventKind.CHECK, **evil), evil
    check, home.job = home.job, review
    assert "which it is not" in home.happen(EventKind.CHECK, **good)
    home.job = check
    assert not read_task(home.workspace, "010").check
    for _ in range(2):
        assert home.happen(EventKind.CHECK, **good) == ""
    found = read_task(home.workspace, "010").check
    assert found
    assert (found.passed, found.commit) == (True, commit)
    red = {**RESULT, "passed": False, "exit_code": 1, "lines": ["\x1b[2J", *["x" * 999] * 99]}
    assert home.happen(EventKind.CHECK, **{**good, "passed": False, "results": [red]}) == ""
    found = read_task(home.workspace, "010").check
    assert found
    (result,) = found.results
    assert "\x1b" not in result.lines[0]
    assert (len(result.lines), len(result.lines[1])) == (20, 300)


def test_what_no_event_may_be_is_refused_in_words(home: Home) -> None:
    assert "does not know" in home.happen("sudo")
    assert "changes outside of the task: a, b" in home.happen(EventKind.UNTAKEN, what=["a", "b"])
    assert home.happen(EventKind.TASK, status="needs_review").startswith("task 010 cannot go")
    assert read_task(home.workspace, "010").status == "pending"


def test_refs_go_once_their_job_is_old_and_owes_its_task_nothing(home: Home) -> None:
    first = home.made("echo x >made.txt")
    tell_of(home, first)
    attempt(home.database, home.job, 1, mark="abcdef")
    other = home.ref.replace("-1-abcdef", "-1-012345")  # of a job that a restored server has lost
    git(home.site, "push", "-q", "origin", f"{first}:{other}", cwd=home.elsewhere)
    ends = {"state": JobState.DONE, "ended_at": NOW}

    def remove(oldest: float) -> list[str]:
        return remove_old_refs(home.workspace, home.database, "origin", oldest=oldest)

    def ends_with(**fields: Any) -> None:
        jobs.change_job(home.database, home.job.id, **fields)

    assert remove(NOW) == [], "it has not ended"
    ends_with(**ends, owes_task=True)
    assert remove(NOW) == []
    assert bring_home(home.workspace, home.database, home.job, now=NOW)
    ends_with(owes_task=False)
    assert remove(NOW - 1) == []
    travels.send(home.database, replace(home.travel, job_id=JobId(2)))
    next_job = jobs.insert_job(
        home.database, make_job(project_id=home.job.project_id, task_id="010", id=JobId(2))
    )
    assert remove(NOW) == [home.ref], "the other one is the next job's too"
    jobs.change_job(home.database, next_job.id, **ends)
    assert remove(NOW) == [home.travel.ref]
    assert remove(NOW) == []
    there = git(home.site, "ls-remote", "origin", "refs/sow/*").split()
    assert there[1::2] == [other]
    assert home.branch() == first
