"""The frontmatter of an entry in a `log.md`.

Owns its keys. Unknown ones are read over: a person may add what they like.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.task import Moment


class FreeFrontmatter(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between the two lines of dashes in an entry without an id; free text follows."""

    timestamp: Moment
    agent: Annotated[str, Meta(min_length=1, description="a role, person, or sow itself")]
    action: Annotated[str, Meta(min_length=1, description="what was done, in a sentence")]
    result: Annotated[str, Meta(description="success, failure, or another word")] = ""
    files: Annotated[list[str], Meta(description="paths relative to the root")] = []


class LogFrontmatter(FreeFrontmatter, frozen=True, kw_only=True):
    """What stands between the two lines of dashes; free text follows, and a comment with the id."""

    id: Annotated[str, Meta(description="twelve hexadecimal digits, of this entry alone")] = ""
    role: Annotated[str, Meta(description="of what sow writes, the role that it is about")] = ""
    event: Annotated[
        str,
        Meta(description="status, state, job, artifact or feedback where sow tells of a change"),
    ] = ""
    job: Annotated[int | None, Meta(description="the job in which it was done")] = None
    attempt: Annotated[int | None, Meta(description="the attempt, counted within its job")] = None
