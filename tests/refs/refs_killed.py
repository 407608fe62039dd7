"""`sow refs add` or `update`, killed before each of its writes in turn, then called again.

Called as a program: `refs_killed.py VERB REMOTE WORK`; HOME holds the cache. A child does it and
kills itself at its n-th write, as Python's audit events tell it. What then was wrong is printed.
"""

import json
import os
import shutil
import signal
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from sow.errors import SowError
from sow.files import read_regular
from sow.paths import Workspace
from sow.refs.adding import add_reference
from sow.refs.cache import cache_root, cached
from sow.refs.index import read_index
from sow.refs.linking import Presence, look
from sow.refs.updating import restore_reference, update_reference
from sow.schema.references import Reference

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink"}


def is_write(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        return bool(isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR))
    return event in WRITES


def act(verb: str, workspace: Workspace, reference: Reference) -> None:
    if verb == "add":
        add_reference(workspace, reference, now=time.time())
    else:
        update_reference(workspace, reference, now=time.time())


def killed(verb: str, workspace: Workspace, reference: Reference, dies_at: int) -> bool:
    """Do it in a child that dies at a write; return whether it did."""
    child = os.fork()
    if child == 0:
        left = dies_at

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if is_write(event, arguments):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            act(verb, workspace, reference)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def wrongs(verb: str, workspace: Workspace, reference: Reference, remote: Path) -> list[str]:
    """Return what is wrong with what the dead has left, and after the next call."""
    found = []
    index = [each.id for each in read_index(workspace).references]
    there = look(workspace, reference, cached(reference.source))
    if verb == "update" and there.presence is not Presence.LINKED:
        found.append(f"the link is {there.presence}")
    if there.folder is not None and not (there.folder / "README.md").is_file():
        found.append("the link leads to half a tree")
    try:
        if index:
            restore_reference(workspace, reference, now=time.time())
        act(verb, workspace, reference)
    except SowError as error:
        return [*found, f"the next call fails: {error.message}"]
    link = workspace.refs / reference.link
    if read_regular(link / "README.md", 99) != (remote / "README.md").read_bytes():
        found.append("the next call links something else")
    names = sorted(os.listdir(workspace.refs))  # noqa: PTH208
    if names != ["index.yaml", "style"]:
        found.append(f"left in .sow/refs: {names}")
    drafts = [path.name for path in cache_root().rglob(".draft-*")]
    if drafts:
        found.append(f"left in the cache: {drafts}")
    return found


def main(verb: str, remote: Path, work: Path) -> None:
    """Kill it at each write."""
    reference = Reference(id="style", source=str(remote), link="style")
    before = work.with_name("before")
    shutil.copytree(work, before, symlinks=True)
    kept = cache_root().with_name("kept")
    if cache_root().exists():
        shutil.copytree(cache_root(), kept, symlinks=True)
    for dies_at in count(1):
        for place, copy in ((work, before), (cache_root(), kept)):
            shutil.rmtree(place, ignore_errors=True)
            if copy.exists():
                shutil.copytree(copy, place, symlinks=True)
        workspace = Workspace(work)
        died = killed(verb, workspace, reference, dies_at)
        found = wrongs(verb, workspace, reference, remote)
        print(json.dumps({"dies_at": dies_at, "died": died, "wrong": found}), flush=True)
        if not died:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
