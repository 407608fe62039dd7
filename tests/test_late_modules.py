"""Modules that are imported late: what stands for them answers as they do."""

import gettext
import inspect
import pickle
import platform
import subprocess
import sys
import typing
import urllib.parse

import pytest
import typing_extensions

from sow.late_modules import KNOWN, OF_WORKER, cleandoc, one_or_many, same


def late(program: str) -> str:
    """Run a program in whose process the modules are put off; return what it prints."""
    whole = f"from sow import late_modules; late_modules.put_off()\n{program}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", whole], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "text",
    ["", " ", "One line.", "  Led by blanks. ", "\ta\tb", "First.\n\n    Second.\n      Third.\n"],
)
def test_the_help_of_an_option_is_made_as_by_inspect(text: str) -> None:
    assert cleandoc(text) == inspect.cleandoc(text)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_words_that_nobody_translates_stay_as_they_are(count: int) -> None:
    assert same("Usage:") == gettext.NullTranslations().gettext("Usage:")
    assert one_or_many("a", "b", count) == gettext.NullTranslations().ngettext("a", "b", count)


def test_the_system_has_the_name_that_platform_gives_it() -> None:
    asked = KNOWN["platform"]["system"]
    assert callable(asked)
    assert asked() == platform.system()


def test_what_msgspec_takes_of_typing_extensions_is_of_typing() -> None:
    def hinted(a: "typing.Annotated[int, 'x']", b: "str | None" = None) -> None: ...

    for name in ("Required", "NotRequired"):
        assert KNOWN["typing_extensions"][name] is getattr(typing_extensions, name)
    assert typing.get_type_hints(hinted, include_extras=True) == (
        typing_extensions.get_type_hints(hinted, include_extras=True)
    )


def test_what_huey_takes_of_pickle_is_its_own() -> None:
    assert OF_WORKER["pickle"]["HIGHEST_PROTOCOL"] == pickle.HIGHEST_PROTOCOL


def test_a_package_that_is_put_off_has_its_modules() -> None:
    program = "late_modules.put_off(late_modules.OF_WORKER); import multiprocessing.connection as c"
    assert late(f"{program}; print(c.Pipe.__name__)") == "Pipe"


def test_a_path_is_quoted_as_ever() -> None:
    program = "from pathlib import Path; print(Path('/a b/\\xe4?').as_uri())"
    assert late(program) == f"file://{urllib.parse.quote('/a b/ä?')}"


@pytest.mark.parametrize("name", KNOWN)
def test_a_module_is_imported_when_more_of_it_is_asked_for(name: str) -> None:
    program = f"""
import sys
from importlib import import_module
import msgspec
late = import_module({name!r})
assert type(late).__name__ == "LateModule", late
asked = late.__builtins__
real = sys.modules[{name!r}]
assert type(real).__name__ == "module", real
print(asked is real.__builtins__ and import_module({name!r}) is real)
"""
    assert late(program) == "True"


def test_threads_that_ask_at_once_get_one_module() -> None:
    program = """
import inspect, sys
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as pool:
    found = set(pool.map(lambda _: inspect.Signature, range(64)))
print(found == {sys.modules["inspect"].Signature})
"""
    assert late(program) == "True"


def test_a_module_that_is_imported_already_stays() -> None:
    whole = "import inspect\nfrom sow import late_modules\nlate_modules.put_off()\n"
    check = "import sys\nassert sys.modules['inspect'] is inspect"
    subprocess.run([sys.executable, "-P", "-c", whole + check], check=True)
