"""What can be wrong with a configuration, told with file, line, key, reason and remedy.

Owns the wording. Knows nothing of how a fault is found.
"""

from pathlib import Path

from sow.errors import ConfigurationError
from sow.paths import display_path

GENERAL_REMEDY = "Correct the file, then run `sow config validate`."


class InvalidConfiguration(ConfigurationError):
    """A configuration file cannot be used as it stands."""

    def __init__(
        self,
        *,
        path: Path,
        reason: str,
        line: int | None = None,
        key: str = "",
        remedy: str = "",
        excerpt: str = "",
    ) -> None:
        place = display_path(path) + (f", line {line}" if line else "")
        about = f"{key}: {reason}" if key else reason
        parts = [part for part in (excerpt, remedy or GENERAL_REMEDY) if part]
        super().__init__(f"{place}: {about}", hint="\n\n".join(parts))
        self.path = path
        self.line = line
        self.key = key
        self.reason = reason
        self.remedy = remedy


class NamedFileMissing(InvalidConfiguration):
    """The file that SOW_CONFIG or `--config` names is not there: nobody wants the defaults then."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path=path,
            reason="the file does not exist, but SOW_CONFIG or --config names it",
            remedy="Correct the name. Or unset SOW_CONFIG to use the file in its usual place."
            " `sow config init` creates a file at the path in SOW_CONFIG.",
        )


class CannotChange(ConfigurationError):
    """The configuration file could not be written, copied or removed; it is as it was."""

    def __init__(self, path: Path, error: OSError) -> None:
        reason = (error.strerror or str(error)).lower()
        super().__init__(
            f"{display_path(path)} cannot be changed: {reason}",
            hint="Make the file and its folder writable and free space on the disk. Or set"
            " SOW_CONFIG to another file.",
        )
        self.path = path
        self.error = error
