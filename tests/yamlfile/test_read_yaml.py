"""What read_yaml takes, and what it says about the rest: line, column, key, reason."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.schema.config import UserConfigFile
from sow.schema.task import TaskState, TaskStatus
from sow.yamlfile import YamlProblem, read_yaml
from sow.yamlfile.reading import FAR, MAX_DEPTH

steady = settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

PATH = Path("/somewhere/state.yaml")

TASK = """\
task:
  id: "010"
  name: Add JWT auth
  phase: implementation
  status: pending   # one of seven
  assigned_agent: implementer
  created_at: 2026-01-31T12:00:00Z
  updated_at: 2026-01-31T12:00:00Z
"""


TAGS = ["!!bool", "!!int", "!!float", "!!timestamp", "!!set", "!a"]
TOKENS = [*TAGS, "x", "''", "1", "<<", "\n", *"[]{},:?-"]


def problem(text: str | bytes, type=TaskState) -> YamlProblem:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(YamlProblem) as caught:
        read_yaml(data, type, path=PATH)
    assert caught.value.path == PATH
    return caught.value


def changed(old: str, new: str) -> str:
    assert old in TASK
    return TASK.replace(old, new)


def test_a_task_is_read():
    task = read_yaml(TASK.encode(), TaskState, path=PATH).task
    assert task.id == "010"
    assert task.status is TaskStatus.PENDING
    assert task.created_at == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_byte_order_mark_and_windows_lines_are_read():
    text = b"\xef\xbb\xbf" + TASK.replace("\n", "\r\n").encode()
    assert read_yaml(text, TaskState, path=PATH).task.id == "010"


@pytest.mark.parametrize(
    ("text", "line", "column", "key", "reason"),
    [
        (
            changed('"010"', "010"),
            *(2, 7, "task.id", 'expected a string, got 010 (an integer); quote it: "010"'),
        ),
        (
            changed("pending", "pendin"),
            *(5, 11, "task.status", "'pendin' is not one of: pending, in_progress, paused, "),
        ),
        (
            changed("name: Add JWT auth", "name: yes"),
            *(3, 9, "task.name", 'expected a string, got yes (a boolean); quote it: "yes"'),
        ),
        (
            changed("name: Add JWT auth", "name: 2026-01-31"),
            *(3, 9, "task.name", "expected a string, got 2026-01-31 (a date); quote it"),
        ),
        (changed("name: Add JWT auth", "name:"), 3, 3, "task.name", "expected a string, got noth"),
        (changed("name: Add JWT auth", 'name: ""'), 3, 3, "task.name", "must not be empty"),
        (
            changed("name: Add JWT auth", "nme: x"),
            *(3, 3, "task.nme", "unknown key 'nme'; did you mean 'name'?"),
        ),
        (
            changed("name: Add JWT auth", "zzz: x"),
            *(3, 3, "task.zzz", "unknown key 'zzz'; known here: id, key, name, phase,"),
        ),
        (changed("  name: Add JWT auth\n", ""), 1, 1, "task", "the key 'name' is missing"),
        (changed("task:", "tusk:"), 1, 1, "tusk", "unknown key 'tusk'; did you mean 'task'?"),
        (
            changed("name: Add JWT auth", "name: a\n  depends_on: ['010', x]"),
            *(4, 23, "task.depends_on[1]", "expected three or more digits, got 'x'"),
        ),
        (
            changed("name: Add JWT auth", "name: a\n  iteration: 0"),
            *(4, 14, "task.iteration", "expected an integer >= 1, got '0'"),
        ),
        (
            changed("name: Add JWT auth", "name: a\n  iteration: x"),
            *(4, 14, "task.iteration", "expected an integer, got 'x'"),
        ),
        (
            changed("created_at: 2026-01-31T12:00:00Z", "created_at: 2026-01-31T12:00:00"),
            *(7, 15, "task.created_at", "expected a time such as 2026-01-31T12:00:00Z, with its Z"),
        ),
        (
            changed("created_at: 2026-01-31", "created_at: 2026-13-31"),
            *(7, 15, "task.created_at", "'2026-13-31T12:00:00Z' cannot be read (month must be in"),
        ),
        (
            changed("name: Add JWT auth", "name: a\n  session: {executor: x, cwds: y}"),
            *(4, 26, "task.session.cwds", "unknown key 'cwds'; did you mean 'cwd'?"),
        ),
        (
            changed("name: Add JWT auth", "name: a\n  metadata: {1: x}"),
            *(4, 14, "task.metadata[1]", 'expected a string, got 1 (an integer); quote it: "1"'),
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_place(text, line, column, key, reason):
    found = problem(text)
    assert (found.line, found.column, found.key) == (line, column, key)
    assert found.reason.startswith(reason)
    assert str(found).startswith(f"{PATH}, line {line}, {key}: {reason}")
    shown, caret = found.caret.split("\n")
    assert shown == text.splitlines()[line - 1]
    assert caret == " " * (column - 1) + "^"


@pytest.mark.parametrize("value", ["yes", "010", "1.5", "2026-01-31", "2026-01-31T12:00:00Z"])
def test_a_value_that_yaml_takes_for_no_string_is_one_in_the_quotes_that_are_named(value):
    named = problem(changed("Add JWT auth", value)).reason.partition("quote it: ")[2]
    read = read_yaml(changed("Add JWT auth", named).encode(), TaskState, path=PATH)
    assert read.task.name == value


def test_a_misread_mapping_names_the_guilty_key_among_many():
    text = """\
agents:
  executors:
    fine: {type: claude, retries: 1}
    wrong: {type: claude, retries: many}
    also: {type: cursor}
"""
    found = problem(text, UserConfigFile)
    assert (found.line, found.key) == (4, "agents.executors.wrong.retries")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("task: [a\n", 2, "did not find expected ',' or ']' while parsing a flow sequence"),
        ("task:\n\tid: 1\n", 2, "found character that cannot start any token"),
        ("task: {}\ntask: {}\n", 2, "the key 'task' stands twice"),
        ("task:\n  a: 1\n  b: 2\n  a: 3\n", 4, "the key 'a' stands twice"),
        ("a: 1\n---\nb: 2\n", 2, "expected a single document in the stream but found another"),
        ("task: !!python/object:os.system {}\n", 1, "could not determine a constructor"),
        ("a: *nowhere\n", 1, "found undefined alias"),
        ("[]\n", 1, "expected a mapping, got a list"),
        ("x" * 100_000, 1, f"expected a mapping, got '{'x' * 200}…'"),
        ("hello\n", 1, "expected a mapping, got 'hello'"),
    ],
)
def test_broken_yaml_is_told_with_its_line(text, line, reason):
    found = problem(text)
    assert found.line == line
    assert found.reason.startswith(reason)


def test_invalid_utf8_is_told_with_its_place():
    found = problem(b"task:\n  name: caf\xe9\n")
    assert (found.line, found.column) == (2, 12)
    assert found.reason == "not UTF-8: byte 0xe9"


def test_control_characters_are_refused():
    assert "control characters are not allowed" in problem("task: \x07").reason


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_document_is_an_empty_mapping(text):
    assert read_yaml(text.encode(), UserConfigFile, path=PATH) == UserConfigFile()
    assert problem(text).reason == "the key 'task' is missing"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_text_is_refused_and_does_not_end_the_process(opening):
    assert problem(opening * 50_000).reason == "its values are nested too deeply"


def columns(count: int) -> str:
    """Nest twice in each column: a list begins where the key does that holds it."""
    return "".join(f"{' ' * at}a:\n{' ' * at}-\n" for at in range(count))


@pytest.mark.parametrize(
    "text",
    [columns(190), columns(160) + " " * 160 + "[" * 190, columns(40) + " " * 40 + "{a: " * 180],
)
def test_text_that_is_deep_by_its_indentation_is_refused_or_read(text):
    """Python's own limit of 1,000 frames is never reached."""
    closing = {"[": "]", "{": "}"}
    end = "".join(closing[mark] for mark in reversed(text) if mark in closing)
    with suppress(YamlProblem):
        read_yaml(f"{text}{end}\n".encode(), dict, path=PATH)


def test_the_deepest_text_that_is_not_measured_is_read():
    text = f"{columns(len(FAR) - 1)}{' ' * (len(FAR) - 1)}{'[' * MAX_DEPTH}{']' * MAX_DEPTH}"
    assert read_yaml(text.encode(), dict, path=PATH)["a"]


def test_aliases_that_are_deep_by_one_another_are_refused():
    rows = ["a0: &a0 x"]
    rows += [f"a{at}: &a{at} {'[' * 180}*a{at - 1}{']' * 180}" for at in range(1, 20)]
    assert "expand too far" in problem("\n".join(rows)).reason


def test_aliases_that_explode_are_refused():
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "expand too far" in problem("\n".join(lines)).reason
    assert "refer to themselves" in problem("task: &t {metadata: *t}").reason


def test_aliases_and_merged_keys_are_read():
    text = "base: &b {x: 1}\nmore: {<<: *b, y: 2}\n"
    assert read_yaml(text.encode(), dict, path=PATH)["more"] == {"x": 1, "y": 2}


def test_what_is_merged_may_have_merged_and_changed_something_itself():
    """PyYAML puts a key twice into the node of such a mapping, where its file has it once."""
    text = """\
kinds:
  plain: &plain {retries: 1, timeout: 2}
  patient: &patient
    <<: *plain
    timeout: 3
mine: {<<: *patient, model: x}
"""
    found = read_yaml(text.encode(), dict, path=PATH)
    assert found["kinds"]["patient"] == {"retries": 1, "timeout": 3}
    assert found["mine"] == {"retries": 1, "timeout": 3, "model": "x"}


def test_a_key_that_stands_twice_in_what_is_merged_is_refused():
    assert problem("a: {<<: {bc: 1, bc: 2}}\n").reason == "the key 'bc' stands twice"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("!!bool x", "bool"),
        ('!!int ""', "int"),
        ('!!int "-"', "int"),
        ('!!float ""', "float"),
        ("!!timestamp x", "timestamp"),
        ("? !!bool x", "bool"),
        ("[[!mine x], !!bool x]", "bool"),
    ],
)
def test_a_text_that_has_not_the_form_of_its_tag_is_told_with_its_place(value, kind):
    found = problem(TASK + f"  metadata:\n    {value}\n")
    assert f"cannot be read (this is no {kind}); quote it" in found.reason
    assert found.line == 10
    assert found.key.startswith("task.metadata")


def test_of_two_values_that_cannot_be_read_the_first_is_told():
    found = problem("a: {b: 2026-13-41}\nc: 2026-02-31\n")
    assert (found.line, found.key) == (1, "a.b")
    assert "month" in found.reason


@pytest.mark.parametrize("key", ['""', '"a\\nb"', '"`"'])
def test_an_unknown_key_is_told_whatever_its_name_is(key):
    assert problem(f"{TASK}{key}: 1\n").reason.startswith("unknown key ")


@steady
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_problem(data):
    with suppress(YamlProblem):
        read_yaml(data, TaskState, path=PATH)


@steady
@given(
    st.text(alphabet="task:{}[]\n -&*#'\"|>0a", max_size=80)
    | st.lists(
        st.sampled_from(TOKENS),
        max_size=12,
    ).map(" ".join)
)
def test_no_text_like_yaml_raises_anything_but_a_problem(text):
    with suppress(YamlProblem):
        read_yaml(text.encode(), TaskState, path=PATH)


def test_a_long_line_is_shown_around_the_fault():
    text = "agents: {executors: {x: {type: claude, model: " + "y" * 300 + "}}}\n"
    found = problem(text, UserConfigFile)
    shown, caret = found.caret.split("\n")
    assert len(shown) <= 100
    assert shown[len(caret) - 1 :].startswith("model")
