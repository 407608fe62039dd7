"""Files are told apart by their bare names, and a module's name says what is in it."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
TOP = TESTS.parent
UNCLEAR = {
    *("doubt", "hold", "kin", "orders", "proof", "settled", "staffing", "standby"),
    *("surroundings", "unfinished", "wire"),
}
"""Names of modules that told nothing to whoever had not written them."""


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports each by its bare name: two of one name cannot both be collected."""
    names = Counter(file.name for file in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_a_module_s_name_tells_a_newcomer_what_it_is_about() -> None:
    modules = [file for package in ("sow", "worker") for file in (TOP / package).rglob("*.py")]
    assert len(modules) > 400
    assert [str(file) for file in modules if file.stem in UNCLEAR] == []
    for name in ("errors", "log"):
        assert len([file for file in modules if file.stem == name]) <= 1, name
