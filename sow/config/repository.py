"""Whether the repository's settings can be used, by themselves.

Owns which rules that takes; each section's are its own module's.
"""

from pathlib import Path

from sow.config.artifact_places import check_places
from sow.config.batches import policy_of
from sow.config.checks import checks_of
from sow.config.clones import SECTION, clone_settings
from sow.config.features import read_features
from sow.config.load import read_settings


def check_settings(path: Path, user_path: Path) -> None:
    """Raise InvalidConfiguration for the first fault of `.sow/config.yaml`.

    `user_path` is where the user's own settings stand, for a section that belongs there.
    """
    source = read_settings(path, user_path)
    clones, _ = clone_settings(source)
    checks = checks_of(source)
    read_features(None, source)
    policy_of(source, {})
    check_places(source)
    if clones.merge_check is not None and clones.merge_check not in checks.commands:
        raise source.fault(
            *(SECTION, "merge_check"),
            reason=f"there is no check {clones.merge_check}",
            remedy=f"The checks are: {', '.join(checks.commands) or 'none so far'}.",
        )
