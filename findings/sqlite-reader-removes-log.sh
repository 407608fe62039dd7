#!/usr/bin/env bash
# A read-only connection of SQLite 3.46.1 removes the write-ahead log of another file: where the name
# of a database leads to an empty file, because a tool has unlinked the old one and is about to write
# the new one, whoever reads by that name removes the log beside it.
#
# The old file may have another name still (a hard link), and its writer the log open. What is only in
# the log is gone once that writer ends, for SQLite writes no log into a file whose name leads
# elsewhere. So a program that watches its own database for being replaced must not open what
# has the name to find out.
#
# Seen with apsw 3.46.1.0 (SQLite 3.46.1) on Linux:
#   before: queue.db (empty), queue.db-shm, queue.db-wal with a committed row
#   after one `select` by a connection with SQLITE_OPEN_READONLY: no queue.db-wal
#   the old file, by its other name, after its writer has closed it: no such row
# Fails when that changes.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check apsw==3.46.1.0

cd "$folder"
"$folder/python/bin/python" - <<'PY'
import os

import apsw

writer = apsw.Connection("queue.db")
for statement in (
    "pragma journal_mode = wal",
    "create table row (name)",
    "pragma wal_checkpoint(truncate)",
    "insert into row values ('in the log')",
):
    list(writer.execute(statement))
os.link("queue.db", "other-name.db")
os.unlink("queue.db")
open("queue.db", "w").close()

before = os.path.getsize("queue.db-wal")
reader = apsw.Connection("queue.db", flags=apsw.SQLITE_OPEN_READONLY)
found = list(reader.execute("select name from sqlite_master"))
is_there = os.path.exists("queue.db-wal")
reader.close()
writer.close()
old = apsw.Connection("other-name.db", flags=apsw.SQLITE_OPEN_READWRITE)
rows = list(old.execute("select name from row"))

print(f"SQLite {apsw.sqlite_lib_version()}: the log had {before} bytes before a read-only connection,")
print(f"which found {found}; the log is there afterwards: {is_there}; rows of the old file: {rows}")
assert before and found == [] and not is_there and rows == []
PY
