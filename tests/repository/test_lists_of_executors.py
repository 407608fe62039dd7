"""Adding an executor touches the files that CONTRIBUTING.md names: no other names each of them."""

import re
from pathlib import Path

import pytest
from built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
PLACES = ("sow", "worker", "tests", "proof", "release", "scripts")
LISTS = {
    "sow/schema/executor_type.py": "the words, where one is registered",
    "tests/executors/compatibility.py": "what its settings become; likewise",
    "tests/executors/executor_cases.py": "its cases; `make executor` gives it a file of its own",
    "tests/standins/install.py": "the stand-ins, where one speaks its dialect",
}
"""What one more executor may change besides its description and its module, and why."""
LONGEST = 60
"""No list of all of them has more lines."""


def names_each(text: str) -> bool:
    """Whether a text has a list of all built-in executors: by their types, or by their names."""
    lines = text.splitlines()
    types = [rf'ExecutorType\.{kind.name}\b|"{kind}[-:"]|_{kind}\(' for kind in BUILT_IN.values()]
    names = [rf'"{name}[:"]|- {name}$' for name in BUILT_IN]
    return any(
        spans(lines, [re.compile(pattern) for pattern in patterns]) for patterns in (types, names)
    )


def spans(lines: list[str], patterns: list[re.Pattern[str]]) -> bool:
    """Whether each of the patterns is found in lines that stand close together."""
    last = dict.fromkeys(patterns, -LONGEST)
    for number, line in enumerate(lines):
        last |= {pattern: number for pattern in patterns if pattern.search(line)}
        if min(last.values()) > number - LONGEST:
            return True
    return False


@pytest.mark.slow
def test_one_more_executor_touches_so_many_files() -> None:
    files = (file for place in PLACES for file in sorted((ROOT / place).rglob("*.py")))
    found = {str(file.relative_to(ROOT)) for file in files if names_each(file.read_text("utf-8"))}
    assert found == set(LISTS), "take them from tests/built_in.py, or from AGENT_CLIS"


def test_a_list_is_found_however_it_is_written() -> None:
    words = [f"    ExecutorType.{kind.name}," for kind in BUILT_IN.values()]
    assert names_each("\n".join(words))
    assert names_each("\n".join(f'    "{name}": 1,' for name in BUILT_IN))
    assert names_each(" ".join(f'"{kind}"' for kind in BUILT_IN.values()))
    assert not names_each("\n".join(words[1:]))
    assert not names_each(f"{words[0]}\n" + "\n" * LONGEST + "\n".join(words[1:]))
