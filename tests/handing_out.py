"""Which tests a process of xdist is given together.

`--dist loadgroup` gives each test away by itself unless a mark names its group, and after each
test counts through all that were given away: for six thousand tests that takes seven seconds of a
processor. What takes a moment goes a file at a time, so that what a module makes once is made in
one process. A journey takes seconds or minutes, and goes by itself. Real agents go in two groups.
"""

from zlib import crc32

from xdist.scheduler import LoadGroupScheduling

BY_THEMSELVES = ("tests/journeys/", "tests/fuzz/", "tests/containers/")
LONG = tuple(
    f"tests/{name}.py::"
    for name in (
        "journeys/test_zero_context",
        "fuzz/test_closed_streams",
        "fuzz/test_fuzz_commands",
        "journeys/test_hints",
        "journeys/test_hostile_author",
        "journeys/test_tutorial",
        "journeys/test_mcp_delivery",
        "journeys/test_task_import",
        "journeys/test_overnight_page",
        "journeys/test_start",
    )
)
"""What has a test of 15 s and more. It begins before other tests that go by themselves, or one
processor would be left with it at the end."""
REAL = "tests/real/"
REAL_AT_ONCE = 2
"""How many real agents are at work at most: each loads a processor for seconds when it starts."""


class ByFile(LoadGroupScheduling):
    """Hands tests out by their groups, and those without a group by their files."""

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        if group != nodeid or nodeid.startswith(BY_THEMSELVES):
            return group
        file = nodeid.partition("::")[0]
        return f"{REAL}{crc32(file.encode()) % REAL_AT_ONCE}" if file.startswith(REAL) else file
