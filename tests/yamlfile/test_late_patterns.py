"""PyYAML as our door imports it: its patterns are compiled late, and match all the same."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, re
at_once = re.compile
from sow.yamlfile.library import LatePattern, yaml
kept = re.compile is at_once
pattern = yaml.reader.Reader.NON_PRINTABLE
late = isinstance(pattern, LatePattern) and "search" not in vars(pattern)
values = yaml.load("a: [1, 2.5, yes, ~, 2026-01-02, x]", Loader=yaml.SafeLoader)
try:
    yaml.load("a: \x01", Loader=yaml.SafeLoader)
    refused = False
except yaml.reader.ReaderError:
    refused = True
print(json.dumps([kept, late, str(values), refused, isinstance(re.compile("x"), re.Pattern)]))
"""


@pytest.mark.slow
def test_patterns_are_compiled_when_they_are_used_and_match_as_ever() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    values = "{'a': [1, 2.5, True, None, datetime.date(2026, 1, 2), 'x']}"
    assert json.loads(done.stdout) == [True, True, values, True, True]
