"""What is gathered of a clone when an attempt is over, and what is left alone."""

import errno
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from attempt_cases import no_threads
from attempts.job_values import make_job
from clones.clone_site import plain
from clones.making_site import PROJECT_ID, Home, commit, make_home
from watch_cases import ME

from sow.agents.roles import AGENTS
from sow.clones.clearing import DRAFT
from sow.clones.listing import removal_risks_of
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import write_mark
from sow.clones.record import note_clone, record_clone
from sow.config.load import load_configuration
from sow.errors import SowError
from sow.faults import passing_fault
from sow.files import NotWritten
from sow.git.git_errors import GitRefused
from sow.ids import ProjectId
from sow.jobs.database import open_queue
from sow.schema.job import NOT_BROUGHT_BACK, Job
from sow.schema.job_terms import AuthorTerms
from sow.state.tasks import change_task, read_task
from sow.yamlfile import REMOVE
from worker.clone_gathering import gather
from worker.context import WorkerContext
from worker.gathering import Gathered, Gathering
from worker.kinds.work.kind import has_clone_to_gather
from worker.next_step import with_gathered

pytestmark = pytest.mark.slow  # process after process

JOB = make_job(project_id=ProjectId(PROJECT_ID))


class GatherSite:
    """A repository whose task 010 has a clone, and a worker's context."""

    def __init__(self, folder: Path, *, whole: bool = True, recorded: bool = True) -> None:
        home = make_home(folder)
        (home.workspace.sow / "config.yaml").write_text(f"clones:\n  folder: {folder / 'clones'}\n")
        self.home: Home = home.with_settings(folder=str(folder / "clones"))
        made = self.home.make("010", whole=whole)
        self.mark = made.mark
        if recorded:
            record_clone(home.workspace, made.mark, now=time.time())
        self.clone = self.home.place("010").path
        self.database = open_queue(home.workspace)
        configuration = load_configuration(
            path=folder / "no-config.yaml",
            repository_path=None,
            environ={},
            roles=[agent.name for agent in AGENTS],
        )
        self.context = WorkerContext(
            home.workspace, self.database, ME, configuration, {}, time.time
        )

    def subjects(self) -> list[str]:
        """Return what was committed on the task's branch, newest first."""
        branch = self.home.place("010").branch
        return plain(self.clone, "log", "--format=%s", branch).splitlines()

    def gathering(self, job: Job = JOB) -> Gathering:
        """Return what came of gathering, in this thread."""
        gathering = Gathering(job, lambda: gather(self.context, job))
        gathering.run()
        return gathering


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GatherSite]:
    made = GatherSite(tmp_path)
    yield made
    made.database.close()


def test_what_an_agent_has_left_is_committed_and_told(site: GatherSite) -> None:
    (site.clone / "new").write_text("more\n")

    gathered = gather(site.context, JOB)

    assert (gathered.files, gathered.warnings) == (("new",), ())
    assert site.subjects()[0] == f"010: {read_task(site.context.workspace, '010').name}"


def test_what_is_not_to_be_committed_is_told(site: GatherSite) -> None:
    (site.clone / "new").write_text("more\n")
    with (site.home.workspace.sow / "config.yaml").open("a") as settings:
        settings.write("  commit: false\n")
    gathered = gather(site.context, JOB)
    assert gathered.files == ()
    (warning,) = gathered.warnings
    assert warning.endswith(f"{site.clone}: new (clones.commit is false)")
    assert site.subjects() == ["First"]
    commit(site.clone, "new", "more\n")
    assert gather(site.context, JOB).warnings == ()


def test_what_a_setup_has_left_that_came_to_no_end_is_nobodys_work(tmp_path: Path) -> None:
    """The clone is made again then, from its branch: what is committed there would stay."""
    site = GatherSite(tmp_path, whole=False)
    (site.clone / "half-made").write_text("by the setup\n")

    gathered = gather(site.context, JOB)

    assert (gathered.files, gathered.warnings) == (None, ())
    assert site.subjects() == ["First"]
    site.database.close()


def test_an_author_that_takes_its_clone_out_of_its_state_is_gathered_all_the_same(
    site: GatherSite,
) -> None:
    note_clone(site.home.repository, site.mark)
    change_task(site.home.workspace, "010", lambda _: {"clone": REMOVE}, now=time.time())
    (site.clone / "new").write_text("more\n")
    job = msgspec.structs.replace(JOB, terms=AuthorTerms(clone=True))

    assert has_clone_to_gather(site.context, job, None)
    gathered = gather(site.context, job)

    assert (gathered.files, gathered.warnings) == (("new",), ())
    assert gathered.clone is not None
    assert gathered.clone.path == str(site.clone)


def test_what_an_agent_calls_copied_is_its_own_work_all_the_same(site: GatherSite) -> None:
    note_clone(site.home.repository, site.mark)
    write_mark(site.clone, site.mark._replace(copied=("new",)))
    (site.clone / "new").write_text("more\n")
    assert gather(site.context, JOB).files == ("new",)
    (site.clone / "later").write_text("more\n")
    write_mark(site.clone, site.mark._replace(copied=("later",)))
    main = main_checkout(site.home.workspace, site.home.settings)
    assert removal_risks_of(main, site.home.place("010")).uncommitted == ("later",)


def test_what_git_would_wait_for_is_taken_away_and_told_and_the_rest_is_gathered(
    site: GatherSite,
) -> None:
    lists = (".gitignore", ".gitmodules", "deep/.gitattributes")
    (site.clone / "deep").mkdir()
    (site.clone / ".gitignore").write_text("*.secret\n")
    plain(site.clone, "add", ".gitignore")
    plain(site.clone, "commit", "-q", "-m", "Keep secrets out")
    (site.clone / ".gitignore").unlink()
    for name in (*lists, ".git/objects/pack/pack-1.idx", "other"):
        os.mkfifo(site.clone / name)
    (site.clone / "new").write_text("more\n")
    (site.clone / "key.secret").write_text("ignored as before\n")

    gathered = gather(site.context, JOB)

    assert gathered.files == (".gitignore", "new")
    (warning,) = gathered.warnings
    for name in (*lists, "pack-1.idx"):
        assert name in warning
    assert (site.clone / ".gitignore").read_text() == "*.secret\n"
    assert not any((site.clone / name).exists() for name in lists[1:])
    assert (site.clone / "other").is_fifo()
    tree = plain(site.clone, "ls-tree", "-r", "--name-only", site.mark.branch).splitlines()
    assert {"new", ".gitignore"} < set(tree)
    assert "key.secret" not in tree
    assert gather(site.context, JOB).warnings == ()


def test_a_socket_in_the_place_of_a_list_is_taken_away_too(site: GatherSite) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        folder = os.open(site.clone, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/.gitmodules")  # a short name, wherever tests run
        os.close(folder)
    (site.clone / "new").write_text("more\n")
    gathered = gather(site.context, JOB)
    assert gathered.files == ("new",)
    assert ".gitmodules" in gathered.warnings[0]


def test_nothing_is_put_back_through_a_link(site: GatherSite, tmp_path: Path) -> None:
    (site.clone / ".gitignore").write_text("*.secret\n")
    plain(site.clone, "add", ".gitignore")
    plain(site.clone, "commit", "-q", "-m", "Keep secrets out")
    (site.clone / ".gitignore").unlink()
    os.mkfifo(site.clone / ".gitignore")
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    (site.clone / ".git" / DRAFT).symlink_to(mine)
    gather(site.context, JOB)
    assert mine.read_text() == "mine\n"
    assert (site.clone / ".gitignore").read_text() == "*.secret\n"


def test_of_a_clone_that_was_never_made_nothing_is_told(tmp_path: Path) -> None:
    site = GatherSite(tmp_path, recorded=False)
    site.clone.rename(tmp_path / "aside")
    assert gather(site.context, JOB) == Gathered()
    site.database.close()


def test_a_base_that_its_agent_has_forged_hides_nothing(site: GatherSite) -> None:
    note_clone(site.home.repository, site.mark)
    hidden = commit(site.clone, "hidden", "x\n")
    forged = {"path": "/", "branch": "main", "base": hidden}
    change_task(site.home.workspace, "010", lambda _: {"clone": forged}, now=time.time())

    gathered = gather(site.context, JOB)

    assert gathered.files == ("hidden",)
    assert gathered.clone is not None
    assert (gathered.clone.base, gathered.clone.branch) == (site.mark.base, site.mark.branch)


def test_settings_that_nobody_can_read_keep_no_work_from_being_gathered(site: GatherSite) -> None:
    note_clone(site.home.repository, site.mark)
    site.home.workspace.repository_config.write_text("clones: {use: sometimes")
    (site.clone / "new").write_text("more\n")
    gathered = gather(site.context, JOB)
    assert (gathered.files, gathered.warnings) == (("new",), ())


def full(path: str) -> NotWritten:
    error = NotWritten(Path(path), OSError(errno.ENOSPC, "No space left on device"))
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    return error


def test_a_fault_that_passes_is_no_result(site: GatherSite) -> None:
    def work() -> Gathered:
        raise full("x")

    gathering = Gathering(JOB, work)
    gathering.run()
    assert gathering.result is None
    assert isinstance(gathering.fault, NotWritten)
    gathering.give_up()
    assert gathering.result is not None
    assert "was not brought into the repository" in gathering.result.warnings[0]


def test_a_thread_that_the_system_refuses_is_a_fault_that_passes(site: GatherSite) -> None:
    """It was neither a fault nor a result, and the attempt was never settled."""
    gathering, done = Gathering(JOB, Gathered), threading.Event()
    with no_threads():
        gathering.start(done.set)
    assert done.is_set()
    assert gathering.result is None
    assert gathering.fault is not None
    assert passing_fault(gathering.fault) is gathering.fault


def test_work_that_a_fault_of_ours_has_left_in_its_clone_is_told_as_such(site: GatherSite) -> None:
    """A batch asks a person by these words; by others it merged what the branch had before."""

    def work() -> Gathered:
        raise RuntimeError("a bug")

    gathering = Gathering(JOB, work)
    gathering.run()
    assert gathering.result == Gathered(warnings=(f"{NOT_BROUGHT_BACK}: a bug",))


def test_a_git_that_finds_the_disk_full_passes_and_one_that_refuses_stays() -> None:
    full = "fatal: sha1 file write error: No space left on device"
    assert passing_fault(GitRefused(Path("/"), ("fetch",), 128, full))
    assert not passing_fault(GitRefused(Path("/"), ("fetch",), 128, "fatal: bad object"))


def test_a_name_that_is_no_text_in_what_is_wrong_can_be_put_on_record(site: GatherSite) -> None:
    """An agent can make any name; a warning that no record can hold would keep its job for ever."""
    odd = os.path.join(os.fsencode(site.clone), b".git/objects/\xff")  # noqa: PTH118 - of bytes
    os.symlink("/", odd)  # noqa: PTH211 - likewise

    gathering = site.gathering()

    assert gathering.result is not None
    (warning,) = gathering.result.warnings
    assert "is a symbolic link to another place" in warning
    assert warning.encode()


def test_another_projects_clone_is_not_gathered_for_a_job(site: GatherSite) -> None:
    """The project in the workspace may be another by now, with a task of the same number."""
    elsewhere = make_job(project_id=ProjectId("99999999-1111-4111-8111-111111111111"))

    assert has_clone_to_gather(site.context, JOB, None)
    assert not has_clone_to_gather(site.context, elsewhere, None)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Leave this process none to open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("terms", [None, AuthorTerms(clone=True)])
def test_a_state_that_cannot_be_read_just_now_does_not_mean_that_there_is_no_clone(
    site: GatherSite, terms: AuthorTerms | None
) -> None:
    """The attempt would be settled a moment later, and its work never be brought back."""
    job = msgspec.structs.replace(JOB, terms=terms)
    assert has_clone_to_gather(site.context, job, None)
    with pytest.raises(SowError) as raised, no_descriptors():
        has_clone_to_gather(site.context, job, None)
    assert passing_fault(raised.value) is not None


def test_a_state_that_is_broken_is_left_to_whoever_settles_the_attempt(site: GatherSite) -> None:
    site.home.workspace.project_state.write_text("no state\n")
    assert not has_clone_to_gather(site.context, JOB, None)


def test_a_later_attempt_s_work_takes_back_that_an_earlier_one_s_was_not_brought() -> None:
    earlier = ("Its session was lost.", f"{NOT_BROUGHT_BACK}: state.yaml, line 2")
    assert with_gathered(earlier, ["It steers: AGENTS.md"]) == (earlier[0], "It steers: AGENTS.md")
    assert with_gathered(earlier, [earlier[1]]) == earlier


def test_no_name_of_a_changed_file_steers_a_terminal_or_begins_a_line(site: GatherSite) -> None:
    (site.clone / ".claude").mkdir()
    (site.clone / ".claude/a\x1b]0;harm\x07\nb.json").write_text("{}\n")
    (warning,) = gather(site.context, JOB).warnings
    assert warning.startswith("its change steers agents or machines: .claude/a")
    assert warning.isprintable()
