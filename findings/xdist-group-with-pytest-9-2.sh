#!/usr/bin/env bash
# With pytest 9.2.0, pytest-xdist 3.8.0 does not keep the tests of one `xdist_group` together:
# `--dist loadgroup` hands them out one by one, and says nothing. With pytest 9.1.1 it keeps them.
#
# xdist adds "@GROUP" to the private name of a test's id. pytest 9.2.0 makes the id of something
# else, so the name that xdist's scheduler reads has no group.
#
# Seen with Python 3.11, two processes and six tests of one group:
#   pytest 9.1.1: one process runs all of them, and each id ends in "@together";
#   pytest 9.2.0: two processes run them, and no id names the group.
# Fails when that changes.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/test_group.py" <<'PY'
import time

import pytest


@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(6))
def test_it(number):
    time.sleep(0.2)
PY

run() { # VERSION: by how many processes the tests were run, and how many ids name the group
    local here="$folder/$1"
    python3 -m venv "$here"
    "$here/bin/python" -m pip install --quiet --disable-pip-version-check \
        "pytest==$1" pytest-xdist==3.8.0
    env -u PYTEST_ADDOPTS "$here/bin/python" -m pytest -v -n 2 --dist loadgroup \
        -p no:cacheprovider --rootdir "$folder" "$folder/test_group.py" >"$here/out"
    printf '%s %s\n' "$(grep -o '^\[gw[01]\]' "$here/out" | sort -u | wc -l)" \
        "$(grep -c 'PASSED.*@together' "$here/out" || true)"
}

before=$(run 9.1.1)
now=$(run 9.2.0)
printf 'pytest 9.1.1: %s\npytest 9.2.0: %s\n' "$before" "$now"

[[ $before == "1 6" ]] || { echo "changed: pytest 9.1.1 gives $before" >&2; exit 1; }
[[ $now == "2 0" ]] || { echo "changed: pytest 9.2.0 gives $now" >&2; exit 1; }
