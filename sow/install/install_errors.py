"""What can stand in the way of writing into a file that is somebody else's."""

from pathlib import Path

from sow.errors import ConfigurationError, StateError
from sow.paths import display_path


class UnfitFile(ConfigurationError):
    """A file is not of the form that its owner reads; it is left as it is."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{display_path(path)} was left as it is: {reason}",
            hint="Mend that file, or move it away; then run the same again.",
        )


class EditedByHand(ConfigurationError):
    """What sow would replace is no longer what sow has written."""

    def __init__(self, path: Path, what: str, command: str, difference: str) -> None:
        super().__init__(
            f"{what} in {display_path(path)} has been edited, and was left as it is"
            f"\n\n{difference}",
            hint=f"`{command} --force` replaces it; what is there now is kept in a backup.",
        )


class NothingOnRecord(StateError):
    """There is nothing that sow could take away again."""

    def __init__(self, what: str, where: Path) -> None:
        super().__init__(
            f"{what} is not on record in {display_path(where)}",
            hint="`sow install status` shows what is installed, and where.",
        )
