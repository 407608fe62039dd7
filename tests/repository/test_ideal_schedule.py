"""The schedule that a batch's benchmark is measured by."""

from bench.batches import diamonds, longest_chain
from bench.ideal import Terms, ideal_seconds

TERMS = Terms(author=8.0, reviewer=4.0, check=1.0, slots=8, checks=2)


def test_a_task_alone_takes_its_steps():
    """Nothing was merged since it began, so its turn needs no check."""
    assert ideal_seconds({"010": ()}, TERMS) == 8 + 1 + 4


def test_a_chain_takes_its_tasks_after_each_other():
    assert ideal_seconds({"010": (), "020": ["010"]}, TERMS) == 2 * 13


def test_a_second_merge_is_checked_once_more():
    assert ideal_seconds({"010": (), "020": ()}, TERMS) == 13 + 1


def test_a_slot_is_waited_for():
    """Two authors, then two reviewers; the second task's turn checks once more."""
    terms = Terms(author=8.0, reviewer=4.0, check=1.0, slots=1, checks=2)
    assert ideal_seconds({"010": (), "020": ()}, terms) == 8 + 8 + 4 + 4 + 1


def test_checks_are_waited_for():
    terms = Terms(author=8.0, reviewer=4.0, check=6.0, slots=8, checks=1)
    assert ideal_seconds({"010": (), "020": ()}, terms) == 8 + 6 + 6 + 4 + 6


def test_a_diamond_waits_for_both_its_sides():
    assert diamonds(8) == {
        "0010": [],
        "0020": ["0010"],
        "0030": ["0010"],
        "0040": ["0020", "0030"],
        "0050": ["0010"],
        "0060": ["0050"],
        "0070": ["0050"],
        "0080": ["0060", "0070"],
    }


def test_a_chain_goes_through_the_first_of_each_diamond():
    assert longest_chain(diamonds(4)) == 3
    assert longest_chain(diamonds(60)) == 14 + 3
