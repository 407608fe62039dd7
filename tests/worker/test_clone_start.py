"""Whether an attempt's clone has to be made, and what that is asked of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from own_queue import put_secret
from test_gathering import JOB, GatherSite

from sow.config.checks import read_repository
from sow.config.config_errors import InvalidConfiguration
from sow.paths import AttemptPaths
from sow.sandbox.probe import SandboxUnavailable
from sow.schema.job_terms import AuthorTerms
from sow.state.tasks import read_task
from sow.trust.accepted import accept, command_lines
from worker.kinds.work.kind import clone_of_attempt

APART = msgspec.structs.replace(JOB, terms=AuthorTerms(clone=True))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GatherSite]:
    made = GatherSite(tmp_path)
    yield made
    made.database.close()


def test_settings_that_nobody_can_read_keep_no_agent_from_a_clone_that_is_ready(
    site: GatherSite, tmp_path: Path
) -> None:
    path = site.home.workspace.repository_config
    path.write_text(f"clones: {{folder: {tmp_path / 'clones'}, use: sometimes}}")
    task = read_task(site.home.workspace, "010")
    found = clone_of_attempt(site.context, APART, task, AttemptPaths(tmp_path / "1"))
    assert found is not None
    assert (found.root, found.orders) == (site.clone, None)
    other = read_task(site.home.workspace, "020")
    with pytest.raises(InvalidConfiguration):
        clone_of_attempt(site.context, APART, other, AttemptPaths(tmp_path / "1"))


@pytest.mark.usefixtures("no_bubblewrap")
def test_a_setup_whose_sandbox_cannot_be_made_is_refused_before_the_clone(
    site: GatherSite, tmp_path: Path
) -> None:
    path = site.home.workspace.repository_config
    path.write_text("clones: {setup: touch ready, setup_sandbox: bwrap}")
    state = tmp_path / "state"
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(state)}
    put_secret(state)
    lines = command_lines(read_repository(path).content)
    accept(site.home.workspace, lines, environ)
    context = replace(site.context, environ=environ)
    task = read_task(site.home.workspace, "020")
    with pytest.raises(SandboxUnavailable, match=r"clones\.setup asks for sandbox: bwrap"):
        clone_of_attempt(context, APART, task, AttemptPaths(tmp_path / "1"))
