"""Which rows the filter of the live view leaves."""

import pytest
from watching.rows_cases import ended, live, resting

from sow.schema.task import TaskStatus
from sow.watching.app import filtered
from sow.watching.snapshot import Group

SIGN_IN = live(key="010", name="Sign in", note="reads Search.py")
SEARCH = resting(TaskStatus.PENDING, key="020", name="Search", who="Tester")
FAILED = ended(TaskStatus.FAILED, key="030", name="Sign out")
GROUPS = [Group("build", "", [SIGN_IN, SEARCH]), Group("last", "1 failed", [FAILED])]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("", ["010", "020", "030"]),
        ("  ", ["010", "020", "030"]),
        ("SIGN", ["010", "030"]),
        ("search", ["010", "020"]),
        ("search test", ["020"]),
        ("test search", ["020"]),
        ("sign failed", ["030"]),
        ("nothing", []),
    ],
)
def test_rows_hold_all_the_words(words: str, left: list[str]) -> None:
    found = filtered(GROUPS, words)
    assert [row.key for group in found for row in group.rows] == left
    assert all(group.rows for group in found), "no group without a row"


def test_a_group_keeps_its_words() -> None:
    (group,) = filtered(GROUPS, "out")
    assert (group.title, group.about) == ("last", "1 failed")
