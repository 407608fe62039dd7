"""Whether a repository has each task's work reviewed before the task counts as completed.

Owns this one setting, which stands in the repository's file.
"""

from pathlib import Path

from sow.config.checks import read_repository
from sow.schema.config import ReviewRule


def review_is_required(path: Path) -> bool:
    """Whether the settings in `path` ask for a review of every task. Raises InvalidConfiguration.

    Read as they stand now: an agent reports long after its call.
    """
    return read_repository(path).content.reviews is ReviewRule.REQUIRED
