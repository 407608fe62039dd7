"""What `sow validate` finds, asked in the test's own process."""

from sow.cli import validate
from sow.cli.tree import root
from sow.paths import Workspace
from sow.validation.kinds import Defect


def defects_of(workspace: Workspace) -> list[Defect]:
    """Return all that is wrong, the prompts included."""
    return validate.defects_of(workspace, root)
