"""Records without the methods that a named tuple compiles."""

from typing import Generic, TypeVar

from sow.plain_record import PlainRecord

T = TypeVar("T")


class Fruit(PlainRecord):
    name: str
    seeds: int = 0


class Berry(Fruit):
    pass


class Basket(PlainRecord, Generic[T]):
    holds: T
    weight: float = 1.0


class Melon(Fruit):
    weight: float = 1.5


def test_fields_are_given_in_their_order_or_by_name() -> None:
    plum, fig = Fruit("plum", 1), Fruit(seeds=900, name="fig")
    assert (plum.name, plum.seeds, fig.name, fig.seeds) == ("plum", 1, "fig", 900)
    assert Fruit("date").seeds == 0


def test_a_record_of_a_record_has_its_fields_first() -> None:
    assert repr(Berry("goji", 20)) == "Berry(name='goji', seeds=20)"
    assert repr(Melon("galia", 300, 2.0)) == "Melon(name='galia', seeds=300, weight=2.0)"


def test_a_record_may_be_generic() -> None:
    assert (
        repr(Basket(Fruit("lime"), 2.0)) == "Basket(holds=Fruit(name='lime', seeds=0), weight=2.0)"
    )
