"""The frontmatter of an entry in a `log.md`.

Owns its keys. Unknown ones are read over: a person may add what they like.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.task import Moment


class LogFrontmatter(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between the two lines of dashes; free text follows them."""

    timestamp: Moment
    agent: Annotated[str, Meta(min_length=1, description="a role, or orchestrator")]
    action: Annotated[str, Meta(min_length=1, description="what was done, in a sentence")]
    result: Annotated[str, Meta(description="success, failure, or another word")] = ""
    files: Annotated[list[str], Meta(description="paths relative to the root")] = []
