"""The usual file is read without a library as with it; whatever else there is, is left to that."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sow.yamlfile.editing import dump_yaml
from sow.yamlfile.library import yaml
from sow.yamlfile.loader import Loader
from sow.yamlfile.usual import usual_data

steady = settings(
    max_examples=3 * settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

TASK = """\
# Kept by sow.
task:
  id: "010"
  name: Add (JWT) auth @ home
  status: in_progress

  # why
  iteration: 12
  depends_on: ["020", "030"]
  created_at: 2026-11-29T13:23:13Z
  references: []
  metadata: {}
  session_id: 11111111-2222-4333-8444-555555555555
  session: {executor: claude, cwd: ., started: false}
  clone:
    commit: 3f0c0b5e
    made: {at: 2026-11-29T13:23:13Z, by: "x: y"}
version: 2
"""


CONFIGURATION = """\
agents:
  executors:              # these and the built-in ones
    claude-code:
      settings:
        yolo_mode: true   # or false: "ask", [ask]
        allowed_tools: ["Bash(make test:*)", "Edit [x]"]  # without yolo_mode
      custom_args: []     #
      timeout: "2h"
      budget: {usd: 20}
    mine: {type: command, settings: {command: [/opt/my-agent, run], resume: []}}
    codex:
    # nothing of it
  bindings: {implementer: claude-code, reviewer: [mine, claude-code]}
worker:
"""


@pytest.mark.parametrize("text", [TASK, CONFIGURATION], ids=["state", "configuration"])
def test_a_file_as_sow_writes_it_or_shows_it_is_usual(text: str) -> None:
    assert usual_data(text) == Loader.data_of(text)
    assert usual_data(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("", "# only a comment\n", "a\n", "- a\n", "[a]\n", "{a: 1}\n", "--- \na: 1\n"),
        *("a: |\n  b\n", "a: b\n  c\n", "a: 'b'\n", "a: &x b\n", "a: *x\n", "a: !t b\n"),
        *(
            'a: "b # c"\n',
            "a: b# c\n",
            "a # b: c\n",
            "a: b: c\n",
            "a:  b\n",
            "a:b\n",
            "a: b \n",
            "a:\tb\n",
        ),
        *("a: 1\na: 2\n", "a:\n b: 1\n b: 2\n", "a: {b: 1, b: 2}\n", "yes: 1\n", "1: 2\n"),
        *("a: 010\n", "a: 1_0\n", "a: 0x1\n", "a: 1.5\n", "a: +1\n", "a: -1\n", "a: 1:30\n"),
        *("a: yes\n", "a: Null\n", "a: ~\n", "a: 2026-01-31\n", "a: 2026-13-31T12:00:00Z\n"),
        *('a: "\\n"\n', 'a: "b" c\n', 'a: "\n', 'a: ["b, c"]\n', "a: [b,c]\n", "a: [[b]c]\n"),
        *("a: [[b]\n", "a: [b]]\n", 'a: ["[", "]"]\n', "a: " + "[" * 70 + "]" * 70 + "\n"),
        *("a: [b]c\n", "a: {b}\n", "a: {b: }\n", "a: [b\n", "a: [ b ]\n", "a: {b: 1,}\n"),
        *("a:\nb: 1\n  c: 2\n", 'a: ["b", "c # d"]\n', 'a: [b, "c] # d"]\n'),
        *("a:\n  b: 1\n c: 2\n", "a: 1\n  b: 2\n", " a: 1\nb: 2\n", "a: é\u2028\n"),
        *("a: b\r\nc: d\r\n", "a: \x07\n", "a: \ufeffb\n", "a: b\x85c: d\n", "<<: {a: 1}\n"),
        *("a:\n" + " " * 70 + "b: 1\n", "a" * 1200 + ": 1\n", "a: b\n...\nc: d\n", "%YAML 1.1\n"),
    ],
)
def test_what_is_not_usual_is_left_to_the_library(text: str) -> None:
    assert usual_data(text) is None


def library_says(text: str) -> object:
    try:
        return Loader.data_of(text)
    except (yaml.error.YAMLError, ValueError):
        return None


LETTERS = "ab1 0-_:#\"'[]{},.|>&*!%@`?~\n\n  \t\\é=/+TZ"
lines = st.sampled_from(
    [
        *("a:", "b: 1", "  c: x y", "  d: [a, 1]", '  e: "f: g"', "    h: {i: j, k: .}", "# l"),
        *(
            "  m:",
            "    n: 010",
            "o: yes",
            "  p: 2026-11-29T13:23:13Z",
            "",
            "  - q",
            "t: [[a, {b: c}], []]",
            '  u: {v: [w, "x, [y]"]}  # z',
            '  v: "a" # "b',
            "w:  # x",
            "  r: -",
            "s: .",
        ),
    ]
)


@steady
@given(st.text(LETTERS, max_size=40) | st.lists(lines, max_size=8).map("\n".join))
@example("a: (b)\n")
@example("a: b/c+d@e.f-g_h\n")
@example("a: 1-2 3\n")
@example("a: 12e4\n")
@example("a: b-\n")
@example("a: b --- c\n")
@example("a-: 1\n")
@example("a.b: [.]\n")
def test_whatever_is_usual_is_what_the_library_says(text: str) -> None:
    found = usual_data(text)
    if found is not None:
        assert repr(found) == repr(library_says(text))


keys = st.text("abAB1_-. ", min_size=1, max_size=8)
values = st.recursive(
    st.integers()
    | st.booleans()
    | st.text(max_size=12)
    | st.text("aA1 _-./+@()", max_size=12)
    | st.sampled_from(["yes", "010", "1e3", "null", "2026-01-31", "3f0c0b5e", "1-2", "12.5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@steady
@given(st.dictionaries(keys, values, min_size=1))
def test_what_sow_writes_is_read_the_same_either_way(data: dict[str, object]) -> None:
    text = dump_yaml(data).decode()
    found = usual_data(text)
    if found is not None:
        assert repr(found) == repr(Loader.data_of(text))


def test_the_usual_file_needs_no_library() -> None:
    program = (
        "import sys; from pathlib import Path; from sow.yamlfile import read_yaml;"
        f" read_yaml({TASK.encode()!r}, dict, path=Path('state.yaml'));"
        " print([name for name in sys.modules if name.split('.')[0] in ('yaml', '_yaml')])"
    )
    words = [sys.executable, "-P", "-c", program]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
