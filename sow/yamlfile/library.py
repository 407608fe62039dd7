"""PyYAML, imported without the work that its C loader does not need. Imported when YAML is read.

Importing PyYAML compiles ten regular expressions. One of them, over all of Unicode, is its slow
loader's alone and takes 5.5 of 12.6 ms; of the others a usual file needs two or three. Here each
is compiled when it is first asked to match, and matches as ever, for whoever else imports
PyYAML later as well. Measured with PyYAML 6.0.4 (docs/performance.md).
"""

import re
import sys
from typing import Any

from sow.late_modules import LatePattern

_compile = re.compile


def _compile_late(pattern: Any, flags: Any = 0) -> Any:
    """Do as `re.compile`; PyYAML's own modules get a pattern that is not compiled yet."""
    asked_by = sys._getframe(1).f_globals.get("__name__", "")
    return (LatePattern if asked_by.startswith("yaml.") else _compile)(pattern, flags)


re.compile = _compile_late
try:
    import yaml
finally:
    re.compile = _compile

__all__ = ["yaml"]
