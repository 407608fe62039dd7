"""What has a form that a pattern says is told without `re`, as the pattern would tell it.

A command that writes an entry of a log uses no pattern, and so imports none of `re`.
"""

import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest

from sow.ids import SLUG_PATTERN, TASK_ID_PATTERN, is_slug, is_task_id, random_uuid
from sow.state.kept.store import project_id_at
from sow.state.log_writing import BEGINNING, ENDING, SEAM, id_in
from sow.state.version import version_line
from sow.yamlfile import reading
from sow.yamlfile.library import yaml

ID = "0123abcd-4567-89ab-cdef-0123456789ab"


@pytest.mark.parametrize("text", ["", "01", "010", "0010", "010\n", " 010", "01a", "-10", "٠١٢"])
def test_an_id_of_a_task_is_what_the_pattern_takes(text: str) -> None:
    assert is_task_id(text) is bool(re.fullmatch(TASK_ID_PATTERN, text))


@pytest.mark.parametrize("text", ["", "a", "a-1", "1a", "-a", "A", "aB", "a_b", "a\n", "ä", "aä"])
def test_a_slug_is_what_the_pattern_takes(text: str) -> None:
    assert is_slug(text) is bool(re.fullmatch(SLUG_PATTERN, text))


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        (BEGINNING, r"id: ([0-9a-f]{12})"),
        (SEAM, r"# ([0-9a-f]{12})"),
        (ENDING, r"<!-- ([0-9a-f]{12}) -->"),
    ],
)
def test_an_entrys_id_is_what_the_pattern_finds(form: tuple[str, str], pattern: str) -> None:
    ids = ["0123456789ab", "0123456789a", "0123456789abc", "0123456789aB", "01234 6789ab", "", " "]
    befores, afters = ["", "id: ", "# ", "<!-- ", "<!--", "id:"], ["", " -->", " ", "\n", "-->"]
    for line in map("".join, product(befores, ids, afters)):
        found = re.fullmatch(pattern, line)
        assert id_in(line, form) == (found[1] if found else ""), line


@pytest.mark.parametrize(
    "before", ["  id: ", "\tid:  ", "id: ", "  uid: ", "  id:", "  name: x\n  id: "]
)
@pytest.mark.parametrize(
    "text", [ID, f'"{ID}"', f"'{ID}'", ID.upper(), ID[1:], f"{ID}0", f"{ID} # so"]
)
def test_a_projects_id_is_what_the_pattern_finds(tmp_path: Path, before: str, text: str) -> None:
    state = tmp_path / ".sow" / "project" / "state.yaml"
    state.parent.mkdir(parents=True)
    state.write_text(f"project:\n{before}{text}\n  name: y\n")
    pattern = r"(?m)^[ \t]+id:\s*[\"']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
    found = re.search(pattern, state.read_text())
    assert project_id_at(tmp_path) == (found[1] if found else "")


def test_a_random_uuid_is_one_of_version_4() -> None:
    made = {random_uuid() for _ in range(64)}
    assert len(made) == 64
    for text in made:
        found = UUID(text)
        assert (str(found), found.version, found.variant) == (text, 4, RFC_4122)


@pytest.mark.parametrize("before", ["", "task: {}\n", "task:\n  version: 3\n", "version: x\n"])
@pytest.mark.parametrize(
    "line",
    [
        *("version: 2\n", "version:\t12 # the form\r\n", "version: 2#x", "version: 0123456789\n"),
        *("version: 2 3\n", "version: -1\n", "version :2\n", " version: 2\n", "version:\n", ""),
    ],
)
def test_the_form_of_a_file_is_what_the_pattern_finds(before: str, line: str) -> None:
    text = f"{before}{line}".encode()
    found = re.search(rb"(?m)^version:[ \t]*(\d{1,9})[ \t]*(?:#.*)?\r?$", text)
    at = text.count(b"\n", 0, found.start()) + 1 if found else 1
    assert version_line(text) == (at, int(found[1]) if found else 1)


@pytest.mark.parametrize(
    "text",
    [
        *("50e123456789", "8839ab120000", "0b11", "0b12", "0x1f", "0xfg", "017", "0o17", "1e5"),
        *("012abc", "1_000", "12", "1:30", "9z", "0xab12cd34ef", "0b10110010zz"),
    ],
)
def test_digits_and_letters_are_what_yaml_takes_them_for(text: str) -> None:
    tag = yaml.resolver.Resolver().resolve(yaml.nodes.ScalarNode, text, (True, False))
    assert reading.reads_as_string(text) is (tag == "tag:yaml.org,2002:str")


@pytest.mark.parametrize("before", ["", "import re; re.escape"], ids=["late", "imported"])
@pytest.mark.parametrize("between", ["", "import re; re.escape"], ids=["late", "meanwhile"])
def test_the_library_of_yaml_compiles_no_pattern(before: str, between: str) -> None:
    program = f"""
from sow import late_modules
late_modules.put_off()
{before}
from sow.yamlfile.library import yaml
{between}
yaml.dump
from sow.late_modules import LatePattern
print(type(yaml.reader.Reader.NON_PRINTABLE) is LatePattern)
print({{type(found) for some in yaml.resolver.Resolver.yaml_implicit_resolvers.values()
    for _, found in some}} == {{LatePattern}})
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "True"]
