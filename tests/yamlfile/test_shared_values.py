"""The same text is parsed once: its value is one for all who read it, and its faults are theirs."""

import msgspec
import pytest

from sow.yamlfile import YamlProblem, read_shared, read_yaml
from sow.yamlfile.reading import MOST_SHARED


class Form(msgspec.Struct, frozen=True):
    """What a text of these tests holds."""

    name: str
    parts: list[str] = []


def test_the_same_text_has_one_value(tmp_path):
    text = b"name: first\nparts: [a, b]\n"
    value = read_shared(text, Form, path=tmp_path / "one.yaml")
    assert value == Form("first", ["a", "b"])
    assert read_shared(bytes(bytearray(text)), Form, path=tmp_path / "two.yaml") is value
    assert read_yaml(text, Form, path=tmp_path / "one.yaml") is not value


def test_a_fault_names_the_file_that_is_read_each_time(tmp_path):
    for name in ("one.yaml", "two.yaml"):
        with pytest.raises(YamlProblem) as caught:
            read_shared(b"name: [\n", Form, path=tmp_path / name)
        assert caught.value.path == tmp_path / name


def test_a_long_text_is_not_remembered(tmp_path):
    text = b"name: %b\n" % (b"x" * MOST_SHARED)
    values = [read_shared(text, Form, path=tmp_path / "long.yaml") for _ in range(2)]
    assert values[0] == values[1]
    assert values[0] is not values[1]
