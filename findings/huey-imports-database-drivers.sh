#!/usr/bin/env bash
# huey 3.5.4 imports the drivers of PostgreSQL and Redis wherever they are installed, although a
# program uses its SQLite storage alone. A process that starts often pays for them.
#
# Seen with huey 3.5.4, psycopg 3.2.13 (binary), redis 7.1.0 and Python 3.11:
#   without the drivers, `from huey import SqliteHuey` loads neither psycopg nor redis;
#   with them, the same line loads both, and takes several times as long.
# Fails when that changes.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

make_environment() { # NAME PACKAGE...
    local name=$1
    shift
    python3 -m venv "$folder/$name"
    "$folder/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

loaded() { # NAME: which drivers the import of SqliteHuey loads, and its share of time
    "$folder/$1/bin/python" - <<'PY'
import sys
import time

started = time.perf_counter()
from huey import SqliteHuey  # noqa: E402, F401

seconds = time.perf_counter() - started
drivers = [name for name in ("psycopg", "psycopg2", "redis") if name in sys.modules]
print(*drivers or ["none"])
print(f"{seconds * 1000:.0f} ms", file=sys.stderr)
PY
}

make_environment bare huey==3.5.4
make_environment full huey==3.5.4 'psycopg[binary]==3.2.13' redis==7.1.0

bare=$(loaded bare)
full=$(loaded full)
printf 'without drivers: %s\nwith drivers: %s\n' "$bare" "$full"

[[ $bare == none ]] || { echo "changed: $bare is loaded where no driver was asked for" >&2; exit 1; }
[[ $full == "psycopg redis" ]] || { echo "changed: no longer both drivers are loaded" >&2; exit 1; }
