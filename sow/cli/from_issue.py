"""`--from-issue`: what an issue of GitHub becomes in a project or a task: a name, and a quotation.

Nothing of it is a command: it goes into a description, quoted, and without what steers a terminal.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sow.errors import UsageError
from sow.github.quoting import name_from, quoted_issue
from sow.github.requests import find_place, issue_name, read_issue
from sow.paths import Workspace
from sow.state.units import ISSUE
from sow.terminal_text import readable


class Taken(NamedTuple):
    """What is taken from an issue."""

    name: str
    quotation: str
    metadata: Mapping[str, str]

    def below(self, description: str) -> str:
        """Return the quotation behind what somebody says of it themselves."""
        own = description.strip()
        return f"{own}\n\n{self.quotation}" if own else self.quotation


def taken_from(workspace: Workspace, text: str, repository: str | None) -> Taken:
    """Read an issue, by its number or address.

    Raises UsageError where two repositories are named, and what `gh` raises.
    """
    named = issue_name(readable(text))
    if repository and named.repository and not _is_same(repository, named.repository):
        raise UsageError(
            f"two repositories are named: {repository} and {named.repository}",
            hint="Leave --repo out where the issue has its address.",
        )
    wanted = named.repository or (readable(repository) if repository else None)
    place = find_place(workspace.root, wanted)
    issue = read_issue(place, named.number)
    address = f"{place.url}/issues/{issue.number}"
    return Taken(name_from(issue), quoted_issue(issue, place.name), {ISSUE: address})


def _is_same(named: str, other: str) -> bool:
    """Whether two names are of one repository: GitHub tells no small letters from large ones."""
    plain = (name.lower().removeprefix("github.com/") for name in (named, other))
    return len(set(plain)) == 1
