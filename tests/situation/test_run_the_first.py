"""Run the first, then ask again: each type of project comes to its end, and nothing is refused."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import Desk, make_desk
from proving import drawn
from situation.first_line import FirstLine
from situation.happenings import something_happens

from sow.jobs.database import open_queue

KINDS = ("standard", "exploration", "design", "breakdown")
SEEDS = drawn(*range(1, 16))
HAPPENINGS = 12
"""After how many steps nothing happens any more by itself."""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = make_desk(tmp_path, open_queue)
    # The commands and the stand-in for a worker keep their copies of the state in one place.
    monkeypatch.setenv("HOME", made.caller.environ["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    # A stand-in ends no job while a cancel waits for that.
    monkeypatch.setattr("sow.calls.cancel.CANCEL_SECONDS", 0.0)
    made.staff()
    yield made
    made.close()


def lead(desk: Desk, kind: str, seed: int, *, eventful: bool) -> FirstLine:
    """Lead a project of a type from its beginning to its end."""
    chance = random.Random(f"{kind}{seed}")
    leader = FirstLine(desk, chance)
    desk.configure({"approve": chance.choice(("agents", "people"))})
    (desk.workspace.repository_config).write_text(
        chance.choice(("checks: {unit: make, default: [unit]}\n", "{}\n"))
    )
    assert leader.run("trust", "--yes").code == 0
    assert leader.run("project", "abandon", "--remove").code == 0
    assert leader.run("project", "new", "Sign-in", "--type", kind).code == 0
    for _ in range(HAPPENINGS if eventful else 0):
        leader.take(leader.next_lines()[0])
        something_happens(leader)
    leader.lead()
    return leader


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_line_leads_to_the_end(desk: Desk, kind: str) -> None:
    leader = lead(desk, kind, 0, eventful=False)
    assert not desk.workspace.project.exists()
    assert leader.steps


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_it_leads_to_the_end(desk: Desk, kind: str, seed: int) -> None:
    lead(desk, kind, seed, eventful=True)
