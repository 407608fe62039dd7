"""PyYAML as our door imports it: its own code runs late, and all is as ever then."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # each starts a new interpreter

READ = """
import sys
from pathlib import Path
from sow.yamlfile.reading import YamlProblem, load
at = Path("x.yaml")
"""
PARTS = "sorted(name for name in sys.modules if name.startswith('yaml.'))"


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", READ + program], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_text_is_read_without_what_writes_yaml() -> None:
    parts = ["_yaml", "constructor", "error", "nodes", "resolver"]
    assert printed(f"print(load(\"a: [1, 'x']\", at), {PARTS})") == (
        f"{{'a': [1, 'x']}} {[f'yaml.{part}' for part in parts]}"
    )


@pytest.mark.parametrize(
    ("text", "module", "name"),
    [
        ("a: @b", "scanner", "ScannerError"),
        ("a: ]", "parser", "ParserError"),
        ("a: *b", "composer", "ComposerError"),
        ("a: \\x01", "reader", "ReaderError"),
        ("a: !b c", "constructor", "ConstructorError"),
    ],
)
def test_what_cannot_be_read_raises_the_error_of_its_own_module(
    text: str, module: str, name: str
) -> None:
    program = f"""
from importlib import import_module
from sow.yamlfile.loader import Loader
try:
    Loader.data_of("{text}")
except Exception as error:
    print(type(error) is import_module("yaml.{module}").{name})
try:
    load("{text}", at)
except YamlProblem:
    print("told")
"""
    assert printed(program).split() == ["True", "told"]


def test_whoever_asks_for_more_gets_the_whole_package() -> None:
    program = """
load("a: 1", at)
import yaml
from yaml import events
import yaml._yaml
print([type(event) is getattr(events, type(event).__name__) for event in yaml.parse("a", Loader=yaml.CSafeLoader)])
print(yaml.dump({"a": [1]}, Dumper=yaml.CSafeDumper).split(), yaml.safe_load("b: 2"))
print([name for name, found in vars(yaml._yaml).items() if type(found).__name__ == "LateClass"])
print(type(yaml).__name__, yaml.scanner.ScannerError is yaml._yaml.ScannerError)
"""  # noqa: E501 - a program
    assert printed(program).splitlines() == [
        "[True, True, True, True, True]",
        "['a:', '-', '1'] {'b': 2}",
        "[]",
        "module True",
    ]


def test_threads_that_ask_at_once_get_one_package() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
load("a: 1", at)
import yaml
with ThreadPoolExecutor(16) as pool:
    print(len(set(pool.map(lambda _: yaml.YAMLObject, range(64)))))
"""
    assert printed(program) == "1"


def test_a_package_that_was_imported_before_is_taken_as_it_is() -> None:
    program = "import sys, yaml\nfrom sow.yamlfile.library import SafeLoader\n"
    check = "assert SafeLoader is yaml.CSafeLoader and type(yaml).__name__ == 'module'"
    subprocess.run([sys.executable, "-P", "-c", program + check], check=True)
