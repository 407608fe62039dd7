"""A guard answers once for the same facts: with a thousand tasks, that takes long."""

from msgspec.structs import replace

from sow.lifecycle.guards import Guard
from sow.lifecycle.lifecycle_facts import Facts, Remedy
from sow.lifecycle.types import answer


def test_a_guard_is_asked_once_for_the_same_facts():
    asked = []

    def unmet(facts: Facts) -> list[Remedy]:
        asked.append(facts.state)
        return [Remedy("sow next", facts.state)]

    guard = Guard("guard", "it is so", unmet, ())
    first = Facts(state="planning")
    assert [answer(guard, first) for _ in range(3)] == [[Remedy("sow next", "planning")]] * 3
    assert answer(guard, replace(first, state="executing")) == [Remedy("sow next", "executing")]
    assert asked == ["planning", "executing"]
    assert first == Facts(state="planning")
