"""The sows that made the queue's earlier forms, as they stand in this repository's own history."""

import subprocess
import sys
from pathlib import Path

from capabilities import skip_or_fail

COMMIT = "265a1beee59f1638be8e693f77771af429ebacd9"
SECOND = "158d64fb59164bd01a4c28888bc9fd4189595ae7"
"""The last one whose form was the second."""
THIRD = "94da102fd3ac9505f198635a114d42587fb5a485"
"""One whose form was the third."""
FOURTH = "19f7cfc93a05c850f41424b17e2e747b3f898099"
"""One whose form was the fourth."""
FIFTH = "2e609e24434d4d710b6f5c24eb7ba0321a91de1a"
"""One whose form was the fifth."""
REPOSITORY = Path(__file__).parents[2]

PROGRAM = """\
#!{python} -P
import sys

sys.path.insert(0, {tree!r})

from sow.cli.root import run

sys.exit(run(sys.argv[1:]))
"""


def install_first_sow(folder: Path, commit: str = COMMIT) -> Path:
    """Put a sow's code below `folder`, and return a program that runs it: `folder/sow`."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    packed = subprocess.run(
        ["git", "-C", str(REPOSITORY), "archive", commit, "sow", "worker"],
        capture_output=True,
        check=False,
    )
    if packed.returncode != 0:
        skip_or_fail(f"no history here that has commit {commit[:7]}: {packed.stderr.decode()}")
    subprocess.run(["tar", "-x", "-C", str(tree)], input=packed.stdout, check=True)
    program = folder / "sow"
    program.write_text(PROGRAM.format(python=sys.executable, tree=str(tree)))
    program.chmod(0o755)
    return program
