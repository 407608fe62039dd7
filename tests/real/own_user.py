"""An ordinary user who is made for a test: a number that nobody has, and a name for it.

Programs ask the system for their user's name and home, so the number has a line in a copy of
/etc/passwd, which the test's namespace shows in the place of the file. The machine's own stays as
it is. Only root can make such a user. Owns what it is given, and where it can get to.
"""

import os
import pwd
import sys
from collections.abc import Iterable
from pathlib import Path

from namespace import PASSWD, User

FIRST, LAST = 61_234, 65_000
NAME = "sow-test"
CHECKOUT = Path(__file__).parents[2]


def make_user(folder: Path, home: Path) -> User:
    """Return a user who gets to `folder`, and has a home there."""
    passwd = folder / "passwd"
    taken = {user.pw_uid for user in pwd.getpwall()}
    number = next(each for each in range(FIRST, LAST) if each not in taken)
    line = f"{NAME}:x:{number}:{number}:made for a test:{home}:/bin/bash\n"
    passwd.write_text(f"{PASSWD.read_text('utf-8').rstrip()}\n{line}", encoding="utf-8")
    passwd.chmod(0o644)
    needs = (Path(sys.base_prefix), Path(sys.prefix), CHECKOUT, folder)
    return User(number, passwd, tuple(dict.fromkeys(path.resolve() for path in needs)))


def give(user: User, folders: Iterable[Path]) -> None:
    """Give a user folders, and what is in them and ours."""
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            if path.lstat().st_uid == os.geteuid():
                os.chown(path, user.number, user.number, follow_symlinks=False)
