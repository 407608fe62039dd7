"""Whatever the file looks like, an edit changes its own lines and no other."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.yamlfile import REMOVE, editing, read_yaml
from sow.yamlfile.editing import edit_yaml

steady = settings(
    max_examples=3 * settings.default.max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

PATH = Path("state.yaml")
NOW = datetime(2026, 2, 1, tzinfo=UTC)

WRITTEN = {
    "id": ['"010"', "'010'"],
    "name": [
        "Add JWT auth",
        '"quoted: yes"',
        "'it''s'",
        ">-\n    folded\n    text",
        "|\n    a\n    b",
    ],
    "phase": ["implementation"],
    "status": ["pending", '"pending"', "'paused'"],
    "iteration": ["1", "2"],
    "depends_on": ["[]", '["020"]', '\n    - "020"\n    - "030"', '\n  - "020"'],
    "session_id": ["abc-1", '"abc"'],
    "session": ["{executor: x, started: true}", "\n    executor: x\n    started: true"],
    "created_at": ["2026-01-31T12:00:00Z"],
    "completed_at": ["2026-01-31T12:00:00Z"],
    "metadata": ["{}", "{a: 1}", "\n    a: 1\n    b: [x, y]", "\n    deep:\n      er: yes"],
}
CHANGES = {
    "task.status": ["in_progress", "failed"],
    "task.iteration": [3],
    "task.session_id": [REMOVE, "new-id"],
    "task.session": [REMOVE, {"executor": "y", "started": False}],
    "task.completed_at": [REMOVE, NOW],
    "task.started_at": [NOW],
    "task.updated_at": [NOW],
    "task.depends_on": [[], ["040"], ["020", "040", "050"]],
    "task.metadata.k": ["v", "yes", "010", "two\nlines", {"n": [1]}],
}


@st.composite
def documents(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Return the parts of a task's file: comment lines and keys, each with its text."""
    keys = draw(st.permutations(sorted(WRITTEN)))
    kept = keys[: draw(st.integers(3, len(keys)))]
    parts = [("", "# the head\n"), ("", "task:\n")]
    for number, key in enumerate(kept):
        for line in range(draw(st.integers(0, 2))):
            parts.append(
                ("", draw(st.sampled_from(["  ", "    "])) + f"# before {number}.{line}\n")
            )
        if draw(st.booleans()):
            parts.append(("", "\n"))
        value = draw(st.sampled_from(WRITTEN[key]))
        one_line = "\n" not in value
        comment = f"   # beside {key}" if one_line and draw(st.booleans()) else ""
        parts.append((key, f"  {key}: {value}{comment}\n".replace(": \n", ":\n")))
    parts.append(
        ("", draw(st.sampled_from(["", "  # the tail\n", "# the end\n", "\n# after a gap\n"])))
    )
    return parts


changes = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(values) for key, values in CHANGES.items()}
)


def read(text: bytes) -> dict:
    return read_yaml(text, dict, path=PATH)


@steady
@given(documents(), changes)
def test_an_edit_leaves_every_other_line_as_it_was(parts, changes):
    before = "".join(text for _, text in parts)
    after = edit_yaml(before.encode(), changes, path=PATH).decode()

    assert read(after.encode()) == expected(read(before.encode()), changes)
    touched = {path.split(".")[1] for path in changes}
    rest = iter([line.strip() if "#" in line else line for line in after.splitlines()])
    for key, text in parts:
        for line in text.splitlines() if key not in touched else ():
            assert (line.strip() if "#" in line else line) in rest, (
                f"lost or moved: {line!r}\n--- before\n{before}\n--- after\n{after}"
            )


@steady
@given(documents(), changes)
def test_a_change_by_lines_writes_what_one_by_the_tree_does(parts, changes):
    before = "".join(text for _, text in parts)
    plain = [(tuple(path.split(".")), value) for path, value in changes.items()]
    by_lines = editing._with_lines(before, plain)
    if by_lines is not None and read(by_lines.encode()) == expected(read(before.encode()), changes):
        assert by_lines == editing._with_all(before, plain)


def expected(data: dict, changes: dict) -> dict:
    for path, value in changes.items():
        *parents, last = path.split(".")
        target = data
        for parent in parents:
            target = target.setdefault(parent, {})
        if value is REMOVE:
            target.pop(last, None)
        else:
            target[last] = msgspec.to_builtins(value, builtin_types=(datetime,))
    return data
