"""Each guard lets a project pass exactly where its sentence is true, whatever lies on the disk."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis.strategies import integers
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
from sow.lifecycle.machine import awaited_event, refusals
from sow.lifecycle.stages import STAGES, ProjectType
from sow.lifecycle.types import LIFECYCLES, Event
from sow.situation.looking import look

EXAMPLES = 40
STANDARD, DESIGN = ProjectType.STANDARD, ProjectType.DESIGN
BREAKDOWN, QUICK = ProjectType.BREAKDOWN, ProjectType.QUICK
OUTPUT = 'sow output add "<path>" --type "<type>"'
GUARDS = [found.name for found in vars(guards).values() if isinstance(found, Guard)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_place(tmp_path_factory.mktemp("guards") / "repo")


@pytest.mark.parametrize(
    ("kind", "event"), tuple(events()), ids=lambda found: getattr(found, "name", str(found))
)
def test_a_guard_is_met_exactly_where_its_sentence_is_true(
    place: Place, kind: ProjectType, event: Event
) -> None:
    asked: Counter[tuple[str, bool]] = Counter()

    @seed(7)
    @settings(max_examples=EXAMPLES, database=None, phases=(Phase.generate,))
    @given(integers(0, 1 << 32))
    def ask(number: int) -> None:
        world = random_world(kind, event, Random(number))
        place.put(world)
        now = look(place.caller, is_at_terminal=True)
        assert (now.errors, now.facts is not None) == ([], True)
        assert now.facts is not None
        for guard in event.guards:
            is_true = SENTENCES[guard.name](world)
            asked[guard.name, is_true] += 1
            remedies = [remedy.command for remedy in guard.unmet(now.facts)]
            assert (not remedies) is is_true, f"{guard.name}: {remedies}: {world}"

    ask()
    assert [
        (guard.name, way)
        for guard in event.guards
        for way in (True, False)
        if not asked[guard.name, way]
    ] == []


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
            "a check is red",
        ),
        (World(STANDARD, "finalizing", checks=UNIT), "checks_green", CHECK, "have not passed"),
        (
            World(STANDARD, "finalizing", checks=UNIT, checked=("unit",), checked_line="once"),
            "checks_green",
            CHECK,
            "ran other command lines than those in .sow/config.yaml now",
        ),
        (
            World(STANDARD, "finalizing", checks=UNIT, checked=("unit",), checked_line=""),
            "checks_green",
            CHECK,
            "ran other command lines than those in .sow/config.yaml now",
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
            "is not approved as it stands",
        ),
        (
            World(BREAKDOWN, "publishing", outputs=(Output(DRAFT, approved="now"),)),
            "outputs_kept",
            f"sow output move {DRAFT}",
            "would go with the project",
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
