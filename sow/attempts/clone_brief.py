"""What an agent's prompt says of the clone in which it works."""

from sow.clones.place import Place
from sow.config.clones import CloneSettings
from sow.prompts.compose import CloneBrief


def brief_of_clone(place: Place, settings: CloneSettings) -> CloneBrief:
    """Return what the agent of a task is told of its clone, which need not be there yet."""
    return CloneBrief(
        folder=str(place.path), branch=place.branch, commits_leftovers=settings.commit
    )
