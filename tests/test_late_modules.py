"""Modules that are imported late: what stands for them answers as they do."""

import ctypes.util
import datetime
import gettext
import inspect
import pickle
import platform
import re
import subprocess
import sys
import typing
import urllib.parse

import pytest
import typing_extensions

from sow.late_modules import KNOWN, OF_WORKER, LatePattern, cleandoc, one_or_many, quote, same

pytestmark = pytest.mark.slow  # each starts a new interpreter


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


@pytest.mark.parametrize("text", ["", "010", "sow/a b-1/010", "ref: refs/heads/x%~_.", "/ä"])
@pytest.mark.parametrize("safe", ["/", "", "/:%", "ä"])
def test_a_text_is_quoted_as_by_urllib(text: str, safe: str) -> None:
    assert quote(text, safe=safe) == urllib.parse.quote(text, safe=safe)
    data = text.encode()
    assert quote(data, safe) == urllib.parse.quote(data, safe)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_words_that_nobody_translates_stay_as_they_are(count: int) -> None:
    assert same("Usage:") == gettext.NullTranslations().gettext("Usage:")
    assert one_or_many("a", "b", count) == gettext.NullTranslations().ngettext("a", "b", count)


def test_the_system_has_the_name_that_platform_gives_it() -> None:
    asked = KNOWN["platform"]()["system"]
    assert callable(asked)
    assert asked() == platform.system()


def test_what_msgspec_takes_of_typing_extensions_is_of_typing() -> None:
    def hinted(a: "typing.Annotated[int, 'x']", b: "str | None" = None) -> None: ...

    for name in ("Required", "NotRequired"):
        assert KNOWN["typing_extensions"]()[name] is getattr(typing_extensions, name)
    assert typing.get_type_hints(hinted, include_extras=True) == (
        typing_extensions.get_type_hints(hinted, include_extras=True)
    )


def test_what_huey_takes_of_pickle_is_its_own() -> None:
    assert OF_WORKER["pickle"]()["HIGHEST_PROTOCOL"] == pickle.HIGHEST_PROTOCOL


def test_a_package_that_is_put_off_has_its_modules() -> None:
    program = "late_modules.put_off(late_modules.OF_WORKER); import multiprocessing.connection as c"
    assert late(f"{program}; print(c.Pipe.__name__)") == "Pipe"
    assert late("import re._parser as p; print(p.parse('a'))") == "[(LITERAL, 97)]"


def test_a_late_module_goes_by_the_import_system_once_and_answers_as_the_module_does_later() -> (
    None
):
    program = """
import re as late, sys
late.search("a", "a")
late_modules.imported = None
sys.modules["re"].later = 1
print(late.later, late.search("b", "ab").start(), sys.modules["re"] is not late)
"""
    assert late(program) == "1 1 True"


def test_the_types_of_patterns_are_those_of_re() -> None:
    known = KNOWN["re"]()
    assert (known["Pattern"], known["Match"], known["X"]) == (re.Pattern, re.Match, re.X)


def test_what_tells_times_is_what_datetime_gives() -> None:
    found = KNOWN["datetime"]()
    assert {"date", "datetime", "time", "timedelta", "timezone", "tzinfo"} <= found.keys()
    assert all(value is getattr(datetime, name) for name, value in found.items())


def test_a_time_is_read_in_a_form_of_its_own_where_datetime_is_late() -> None:
    program = "import datetime; print(datetime.datetime.strptime('2026-01 +0000', '%Y-%m %z'))"
    assert late(program) == "2026-01-01 00:00:00+00:00"


def test_a_late_pattern_answers_as_a_pattern() -> None:
    late_one, real = LatePattern("^(?P<word>[a-z]+)$", re.MULTILINE), re.compile("^([a-z]+)$", re.M)
    assert late_one.findall("ab\n1\ncd") == real.findall("ab\n1\ncd") == ["ab", "cd"]
    assert late_one.flags == real.flags


def test_msgspec_asks_typing_nothing_that_compiles_and_leaves_typing_as_it_was() -> None:
    program = """
import sys
import typing
real, sources = typing.ForwardRef, []
sys.addaudithook(lambda event, given: sources.append(given[0]) if event == "compile" else None)
import msgspec
print(typing.ForwardRef is real, b"Foo" in sources or "Foo" in sources)
class Form(msgspec.Struct):
    name: "str | None" = None
print(msgspec.json.decode(b'{"name": "a"}', type=Form))
"""
    assert late(program).splitlines() == ["True False", "Form(name='a')"]


def test_msgspec_is_imported_without_types_of_values_that_no_form_has() -> None:
    program = """
import sys
import msgspec
class Form(msgspec.Struct):
    name: str
print(msgspec.json.decode(b'{"name": "a"}', type=Form))
print({"_decimal", "decimal", "uuid"} & sys.modules.keys())
from decimal import Decimal
from uuid import UUID
print(Decimal(1) + 1, UUID(int=1).int)
"""
    assert late(program).splitlines() == ["Form(name='a')", "set()", "2 1"]


def test_a_msgspec_that_asks_for_more_than_these_types_gets_it() -> None:
    program = """
import sys
late_modules.OF_VALUES["uuid"] = dict
import msgspec
print(msgspec.json.encode(sys.modules["uuid"].UUID(int=1)))
"""
    assert late(program) == """b'"00000000-0000-0000-0000-000000000001"'"""


@pytest.mark.parametrize("text", ["010", "a-b", "x"])
def test_a_form_holds_to_its_pattern_where_patterns_are_late(text: str) -> None:
    program = f"""
from typing import Annotated
import msgspec
Form = Annotated[str, msgspec.Meta(pattern="^[0-9]+$")]
try:
    print(msgspec.convert({text!r}, Form))
except msgspec.ValidationError as error:
    print(error)
"""
    refused = "Expected `str` matching regex '^[0-9]+$'"
    assert late(program) == (text if text.isdecimal() else refused)


def test_a_form_holds_to_a_usual_pattern_without_re() -> None:
    program = """
import sys
from typing import Annotated
import msgspec
Form = Annotated[str, msgspec.Meta(pattern="^[0-9]{3,}$")]
print(msgspec.convert("010", Form), "re._compiler" in sys.modules)
try:
    msgspec.convert("a-b", Form)
except msgspec.ValidationError as error:
    print(error)
"""
    assert late(program).splitlines() == [
        "010 False",
        "Expected `str` matching regex '^[0-9]{3,}$'",
    ]


def test_a_path_is_quoted_as_ever() -> None:
    program = "from pathlib import Path; print(Path('/a b/\\xe4?').as_uri())"
    assert late(program) == f"file://{urllib.parse.quote('/a b/ä?')}"


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - {"msgspec._core", "msgspec._utils"}))
def test_a_module_is_imported_when_more_of_it_is_asked_for(name: str) -> None:
    asked_for = "error" if name == "zlib" else "__builtins__"  # those written in C have none
    program = f"""
import sys
from importlib import import_module
import msgspec
late = import_module({name!r})
assert type(late).__name__ == "LateModule", late
asked = late.{asked_for}
real = sys.modules[{name!r}]
assert type(real).__name__ == "module", real
print(asked is real.{asked_for} and import_module({name!r}) is real)
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


def test_psycopg_is_imported_once_and_without_what_comes_whole_later() -> None:
    program = """
import sys
import sow.jobs.server_making
psycopg = sys.modules["psycopg"]
put_off = {"asyncio", "ctypes", "importlib.metadata", "ssl"}
print(put_off & sys.modules.keys(), psycopg.conninfo is sys.modules["psycopg.conninfo"])
print(psycopg.adapt is sys.modules["psycopg.adapt"], psycopg.Connection.__module__)
import asyncio
print(asyncio.run(asyncio.sleep(0, "slept")))
"""
    assert late(program).splitlines() == ["set() True", "True psycopg", "slept"]


def test_psycopg_finds_a_library_and_knows_its_types_as_ever() -> None:
    """By `ctypes`, where it has no library of its own; and of each type that is asked for later."""
    program = """
import sow.jobs.server_making, sys
psycopg = sys.modules["psycopg"]
from psycopg.pq.misc import find_libpq_full_path
print(find_libpq_full_path())
import datetime
from psycopg.types.datetime import register_default_adapters
register_default_adapters(psycopg.adapters)
dumper = psycopg.adapters.get_dumper(datetime.date, psycopg.adapt.PyFormat.TEXT)
print(dumper(datetime.date).dump(datetime.date(2026, 1, 2)).decode())
"""
    assert late(program).splitlines() == [str(ctypes.util.find_library("pq")), "2026-01-02"]
