"""An error that keeps a program of ours from its work, in the words that its result holds.

Owns those words: what failed and what to do, never the name of a class.
"""

from sow.errors import SowError
from sow.faults import passing_fault, words_of_bug
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.terminal_text import printable_lines


def failure_result(error: Exception, *, passing: Cause, lasting: Cause) -> StepResult:
    """Return what an error has come to: one cause where it passes, another where it stays."""
    cause = passing if passing_fault(error) is not None else lasting
    return StepResult(cause=cause, reason=words_of(error))


def words_of(error: Exception) -> str:
    """Return what failed, fit for any terminal and any JSON: agents have named files in it."""
    if isinstance(error, SowError):
        text = f"{error.message}\n{error.hint}".rstrip()
    elif isinstance(error, OSError):
        text = error.strerror or str(error)
        text = f"{error.filename}: {text}" if error.filename else text
    else:
        text = words_of_bug(error)
    return "\n".join(printable_lines(text))
