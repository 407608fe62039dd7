"""What is gathered of a clone when an attempt is over, and what is left alone."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attempts.job_values import make_job
from clones.clone_site import plain
from clones.making_site import PROJECT_ID, Home, make_home
from watch_cases import ME

from sow.agents.roles import AGENTS
from sow.clones.record import record_clone
from sow.config.load import load_configuration
from sow.ids import ProjectId
from sow.jobs.database import open_queue
from sow.schema.job import Job
from worker.context import WorkerContext
from worker.gathering import Gathering, gather, has_clone_to_gather

JOB = make_job(project_id=ProjectId(PROJECT_ID))
ATTEMPT = "1.1.abc"


class GatherSite:
    """A repository whose task 010 has a clone, and a worker's context."""

    def __init__(self, folder: Path, *, whole: bool = True) -> None:
        home = make_home(folder)
        (home.workspace.sow / "config.yaml").write_text(f"clones:\n  folder: {folder / 'clones'}\n")
        self.home: Home = home.with_settings(folder=str(folder / "clones"))
        made = self.home.make("010", whole=whole)
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
        gathering = Gathering(self.context, job, ATTEMPT)
        gathering.run()
        return gathering


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GatherSite]:
    made = GatherSite(tmp_path)
    yield made
    made.database.close()


def test_what_an_agent_has_left_is_committed_and_told(site: GatherSite) -> None:
    (site.clone / "new").write_text("more\n")

    gathered = gather(site.context, JOB, ATTEMPT)

    assert (gathered.files, gathered.warnings) == (("new",), ())
    assert "what attempt 1.1.abc left" in site.subjects()[0]


def test_what_a_setup_has_left_that_came_to_no_end_is_nobodys_work(tmp_path: Path) -> None:
    """The clone is made again then, from its branch: what is committed there would stay."""
    site = GatherSite(tmp_path, whole=False)
    (site.clone / "half-made").write_text("by the setup\n")

    gathered = gather(site.context, JOB, ATTEMPT)

    assert (gathered.files, gathered.warnings) == (None, ())
    assert site.subjects() == ["First"]
    site.database.close()


def test_a_name_that_is_no_text_in_what_is_wrong_can_be_put_on_record(site: GatherSite) -> None:
    """An agent can make any name; a warning that no record can hold would keep its job for ever."""
    odd = os.path.join(os.fsencode(site.clone), b".git/objects/\xff")  # noqa: PTH118 - of bytes
    os.symlink("/", odd)  # noqa: PTH211 - likewise

    gathering = site.gathering()

    assert gathering.result is not None
    (warning,) = gathering.result.warnings
    assert "is a link to elsewhere" in warning
    assert warning.encode()


def test_another_projects_clone_is_not_gathered_for_a_job(site: GatherSite) -> None:
    """The project in the workspace may be another by now, with a task of the same number."""
    elsewhere = make_job(project_id=ProjectId("99999999-1111-4111-8111-111111111111"))

    assert has_clone_to_gather(site.context, JOB)
    assert not has_clone_to_gather(site.context, elsewhere)
