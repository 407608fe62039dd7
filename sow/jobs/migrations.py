"""The forms that the queue's file has had: its first tables, and each step to the next form.

Owns every `create` and `alter` of our tables: the SQL lies in `forms`, a file for each form. A
queue's file is made in its first form and brought up to date by the same steps that an older one
goes through, so there is one way to each form and no second description of it. Steps only ever
go forward, and what a step does is never changed once it has landed: it makes only additions that
an older sow's statements pass over, for that may have the file open in this very moment. Which
form is the present one is said by `store`.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

FORMS = Path(__file__).with_name("forms")


def statements(number: int) -> Iterator[str]:
    """Yield the statements that lead to form `number` from the one before, or from nothing."""
    lines = (FORMS / f"{number}.sql").read_text("utf-8").splitlines()
    statement = ""
    for line in lines:
        if not line.startswith("--"):
            statement = f"{statement}\n{line}".strip()
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def take_step(connection: sqlite3.Connection, number: int) -> None:
    """Take the file from the form before to form `number`, inside the transaction that is open."""
    for statement in statements(number):
        connection.execute(statement)
    connection.execute(f"pragma user_version = {number}")
