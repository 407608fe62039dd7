"""Random walks over every type of project: no dead end, no guard skipped, each guard refused.

`python tests/lifecycle/walk_report.py` prints how often each guard has refused.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from lifecycle.model_world import World
from lifecycle.standings import random_document, random_facts, random_task
from msgspec.structs import replace

from sow.lifecycle import guards, merge_ways, task_ways
from sow.lifecycle.guards import LOOK, Guard
from sow.lifecycle.lifecycle_facts import Facts, Remedy, TaskFacts
from sow.lifecycle.stages import COMPLETED, ProjectType
from sow.lifecycle.types import LIFECYCLES, Event, awaited_event, find_event, next_events, refusals

GUARDS = [found for found in vars(guards).values() if isinstance(found, Guard)]
EVENTS = sorted({event.name for kind in LIFECYCLES.values() for event in kind.events})
WALKS = 60
"""How many walks of each type the quick test takes."""
MOST_STEPS = 600
"""A walk that is longer goes round in circles: agents succeed more often than not."""


def walk(kind: ProjectType, seed: int, refused: Counter[str]) -> int:
    """Walk from anywhere to the end by what refusals name alone; return the number of steps.

    On the way the world changes, and every event is asked for by its name.
    """
    chance = random.Random(f"{kind}{seed}")
    world = World(random_facts(chance, kind), chance)
    for step in range(MOST_STEPS):
        if world.facts.state == COMPLETED:
            return step
        if step < 20 and chance.random() < 0.2:
            _something_changes(world, chance)
        _ask_for_each_event(world, chance, refused)
        world.run(_chosen(world.facts, chance))
    raise AssertionError(f"{kind} {seed}: it never ends, in {world.facts.state}")


def _something_changes(world: World, chance: random.Random) -> None:
    """Change what somebody else might have changed meanwhile."""
    other = random_facts(chance, ProjectType(world.facts.type))
    names = [name for name in Facts.__struct_fields__ if name not in ("type", "state")]
    changed = {name: getattr(other, name) for name in chance.sample(names, 2)}
    world.facts = replace(world.facts, **changed)


def _ask_for_each_event(world: World, chance: random.Random, refused: Counter[str]) -> None:
    """Ask for events that may not happen, or lead nowhere from here."""
    here = {event.name for event in next_events(world.facts)}
    for name in EVENTS:
        event = find_event(world.facts, name)
        assert (event is None) == (name not in here)
        if event is not None:
            _refusal(world.facts, event, refused)
            if event.goes_back and chance.random() < 0.02:
                world.run(f"sow advance {event.name}")
                return


def _refusal(facts: Facts, event: Event, refused: Counter[str]) -> None:
    unmet = refusals(event, facts)
    assert bool(unmet) == any(guard.unmet(facts) for guard in event.guards)
    for refusal in unmet:
        refused[refusal.guard.name] += 1
        assert refusal.remedies, f"{refusal.guard.name} says what would meet it"
        assert LOOK not in refusal.remedies, f"no rule covers {facts}"


def _chosen(facts: Facts, chance: random.Random) -> str:
    """Return a command that a refusal names, one that is right at this moment."""
    event = awaited_event(facts)
    assert event is not None, f"{facts.state} is a dead end"
    unmet = refusals(event, facts)
    if not unmet:
        return "sow advance"
    refusal = chance.choice(unmet)
    plan = any(found.guard is guards.HAS_WORK for found in unmet)
    if plan and refusal.guard is guards.PLAN_APPROVED:  # there is nothing to approve yet
        refusal = unmet[0]
    return chance.choice(refusal.remedies).command


def report(walks: int) -> Mapping[ProjectType, Counter[str]]:
    """Walk so often over each type, and return how often each of its guards has refused."""
    counts: dict[ProjectType, Counter[str]] = {}
    for kind in ProjectType:
        counts[kind] = Counter()
        for seed in range(walks):
            walk(kind, seed, counts[kind])
    return counts


def lines_of(counts: Mapping[ProjectType, Counter[str]]) -> Iterator[str]:
    """Yield a table of guards and types with how often each has refused."""
    yield f"{'guard':18}" + "".join(f"{kind:>14}" for kind in ProjectType)
    for guard in GUARDS:
        cells = [_cell(guard, kind, counts[kind]) for kind in ProjectType]
        yield f"{guard.name:18}" + "".join(f"{cell:>14}" for cell in cells)


def _cell(guard: Guard, kind: ProjectType, refused: Counter[str]) -> str:
    is_asked = any(guard in event.guards for event in LIFECYCLES[kind].events)
    return str(refused[guard.name]) if is_asked else "-"


@pytest.mark.slow
def test_every_walk_ends_and_every_guard_refuses() -> None:
    counts = report(WALKS)
    print("\n".join(lines_of(counts)))
    for kind in ProjectType:
        asked = {guard.name for event in LIFECYCLES[kind].events for guard in event.guards}
        assert [name for name in sorted(asked) if not counts[kind][name]] == []


@pytest.mark.one_of
@pytest.mark.slow
@pytest.mark.parametrize("kind", ProjectType)
def test_long_walks_end(kind: ProjectType) -> None:
    for seed in range(WALKS, 20 * WALKS):
        walk(kind, seed, Counter())


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_named_for_what_something_is_at_work_on(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        tasks = [random_task(chance, task) for task in ("010", "020", "030", "040")]
        busy = [task.id for task in tasks if task.is_at_work or task.batch]
        for remedy in task_ways.ways_on(
            tasks, chance.choice(("never", "parallel", "always", "asked"))
        ):
            named = [word for word in remedy.command.partition('"')[0].split() if word in busy]
            assert not named, (remedy, tasks)


@pytest.mark.parametrize(
    ("refused", "depends_on", "named"),
    [
        ("010", {"020": ("010",)}, ["git commit"]),
        ("010", {"010": ("020",)}, ["sow merge 020", "git commit"]),
        ("010", {}, ["sow merge 020", "git commit"]),
        ("010", {"010": ("020",), "020": ("010",)}, ["git commit"]),
    ],
    ids=["it comes first", "it comes after", "it stands by itself", "a circle"],
)
def test_what_depends_on_a_refused_merge_is_not_merged_before_it(refused, depends_on, named):
    tasks = [
        TaskFacts(
            id=task,
            status="completed",
            is_unmerged=True,
            has_clone=True,
            ended="merge_refused" if task == refused else "",
            in_the_way=(Remedy("git commit", "a file is changed"),) if task == refused else (),
            depends_on=depends_on.get(task, ()),
        )
        for task in ("010", "020")
    ]
    assert [remedy.command for remedy in merge_ways.merges(tasks)] == named


@pytest.mark.parametrize("seed", range(5))
def test_documents_that_are_gone_can_only_be_taken_off_the_list(seed: int) -> None:
    chance = random.Random(seed)
    for number in range(200):
        found = replace(random_document(chance, number), is_there=False, is_approved=False)
        facts = Facts(outputs=(found,))
        for guard in (guards.OUTPUTS_APPROVED, guards.OUTPUTS_KEPT):
            for remedy in guard.unmet(facts):
                assert remedy.command.startswith("sow output remove ")


def test_all_guards_are_walked_upon() -> None:
    of_types = {
        guard.name
        for lifecycle in LIFECYCLES.values()
        for event in lifecycle.events
        for guard in event.guards
    }
    assert of_types == {guard.name for guard in GUARDS}
