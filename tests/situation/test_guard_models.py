"""Each guard lets a project pass exactly where its sentence is true, whatever lies on the disk."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import settings
from situation.guard_world import (
    DRAFT,
    LINE,
    SENTENCES,
    Output,
    Place,
    Task,
    World,
    events,
    make_place,
    random_world,
)

from sow.lifecycle import guards
from sow.lifecycle.guards import CHECK, Guard
from sow.lifecycle.stages import STAGES, ProjectType
from sow.lifecycle.types import LIFECYCLES, Event, awaited_event, refusals
from sow.situation.looking import look

DRAWN = 400
EACH_WAY = 2 if settings.default.max_examples < 100 else 6
"""How many of the worlds meet a guard, and how many do not: fewer in the quick run."""
STANDARD, DESIGN = ProjectType.STANDARD, ProjectType.DESIGN
BREAKDOWN, QUICK = ProjectType.BREAKDOWN, ProjectType.QUICK
OUTPUT = 'sow output add "<path>" --type "<type>"'
GUARDS = [found.name for found in vars(guards).values() if isinstance(found, Guard)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_place(tmp_path_factory.mktemp("guards") / "repo")


@pytest.mark.few(6)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "event"), tuple(events()), ids=lambda found: getattr(found, "name", str(found))
)
def test_a_guard_is_met_exactly_where_its_sentence_is_true(
    place: Place, kind: ProjectType, event: Event
) -> None:
    chance = Random(7)
    asked: Counter[tuple[str, bool]] = Counter()
    for world in (random_world(kind, event, chance) for _ in range(DRAWN)):
        ways = [(guard.name, SENTENCES[guard.name](world)) for guard in event.guards]
        if all(asked[way] >= EACH_WAY for way in ways):
            continue
        asked.update(ways)
        place.put(world)
        now = look(place.caller, is_at_terminal=True)
        assert (now.errors, now.facts is not None) == ([], True)
        assert now.facts is not None
        unmet = {guard.name: [*guard.unmet(now.facts)] for guard in event.guards}
        assert [(name, not remedies) for name, remedies in unmet.items()] == ways, (unmet, world)
    both = {(guard.name, way) for guard in event.guards for way in (True, False)}
    assert {way for way in both if asked[way] < EACH_WAY} == set()


def test_each_sentence_has_a_model() -> None:
    assert sorted(SENTENCES) == sorted(GUARDS)


UNIT = {"unit": LINE}


@pytest.mark.parametrize(
    ("world", "guard", "command", "why"),
    [
        (
            World(STANDARD, "finalizing", checks=UNIT, checked=("unit",), passed=False),
            "checks_green",
            'sow review correct --project --file "<file>"',
            "failed a check",
        ),
        (World(STANDARD, "finalizing", checks=UNIT), "checks_green", CHECK, "have not passed"),
        (
            World(STANDARD, "finalizing", checks=UNIT, checked=("unit",), checked_line="once"),
            "checks_green",
            CHECK,
            "ran other command lines than .sow/config.yaml has now",
        ),
        (
            World(STANDARD, "finalizing", checks=UNIT, checked=("unit",), checked_line=""),
            "checks_green",
            CHECK,
            "ran other command lines than .sow/config.yaml has now",
        ),
        (
            World(DESIGN, "finalizing", tasks=(Task("010", phase="documents"),)),
            "tasks_ended",
            "sow agent spawn 010",
            "ready: 010",
        ),
        (World(DESIGN, "finalizing"), "has_output", OUTPUT, "no output yet"),
        (
            World(BREAKDOWN, "publishing", outputs=(Output(DRAFT),)),
            "outputs_approved",
            f"sow approve {DRAFT}",
            "is not approved in its current form",
        ),
        (
            World(BREAKDOWN, "publishing", outputs=(Output(DRAFT, approved="now"),)),
            "outputs_kept",
            f"sow output move {DRAFT}",
            "would be deleted with the project",
        ),
        (
            World(STANDARD, "finalizing", outputs=(Output("docs/a.md", is_there=False),)),
            "outputs_kept",
            "sow output remove docs/a.md",
            "docs/a.md is gone",
        ),
        (
            World(STANDARD, "executing", (Task("010", "completed", branch="taken-back"),)),
            "merged",
            "sow merge 010",
            "not merged: 010",
        ),
        (
            World(STANDARD, "executing", (Task("010", "completed", branch="apart"),), head="other"),
            "merged",
            "sow merge 010",
            "not merged: 010",
        ),
    ],
    ids=range(11),
)
def test_what_a_project_passed_with_is_named(
    place: Place, world: World, guard: str, command: str, why: str
) -> None:
    world = replace(world, phases=STAGES[world.kind].phases, verdict="accepted")
    place.put(world)
    now = look(place.caller, is_at_terminal=True)
    assert now.facts is not None
    event = awaited_event(now.facts)
    assert event is not None
    found = {refusal.guard.name: refusal.remedies for refusal in refusals(event, now.facts)}
    (remedy, *_) = found[guard]
    assert (remedy.command, why in remedy.why) == (command, True), remedy


def test_nothing_is_completed_with_anything_left() -> None:
    for kind, table in LIFECYCLES.items():
        (end,) = [event for event in table.events if event.name == "complete"]
        asked = {guard.name for guard in end.guards}
        assert asked >= {"outputs_kept", "feedback_settled"}
        assert kind is BREAKDOWN or asked >= {"tasks_ended", "merged"}
        assert kind in (STANDARD, QUICK) or "outputs_approved" in asked
