"""Stands in for GitHub's `gh`: `gh api` over the little GitHub of `tests/with_github/rest.py`.

Its words and exit codes are those of gh 2.23.0; `test_real_gh.py` beside that holds the
two against each other. SOW_TEST_GITHUB names the file with what GitHub knows, SOW_TEST_GH what
goes wrong.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from with_github.rest import answer

NOT_LOGGED_IN = """\
To get started with GitHub CLI, please run:  gh auth login
Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.
"""
NO_NETWORK = """\
error connecting to api.github.com
check your internet connection or https://githubstatus.com
"""
USAGE = "\nUsage:  gh api <endpoint> [flags]\n"
VALUED = {"--method": "method", "--hostname": "host", "-H": "header", "--input": "input"}


def main() -> int:
    fault = os.environ.get("SOW_TEST_GH", "")
    if sys.argv[1:] == ["--version"]:
        print("gh version 2.23.0 (2023-02-27 Debian 2.23.0+dfsg1-1)")
        return 0
    if fault == "not logged in":
        return _failed(NOT_LOGGED_IN, 4)
    if fault == "no network":
        return _failed(NO_NETWORK)
    if fault == "too old":
        return _failed(f"unknown flag: --input\n{USAGE}")
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hangs":
        signal.pause()
    while fault == "prints without end":
        print("y" * 65_536)
    while fault == "complains without end":
        sys.stderr.write("y" * 65_536)
    if fault == "malformed":
        print('{"full_name": "octo/app", "html')
        return 0
    if fault == "another form":
        print('{"full_name": 7}')
        return 0
    if fault == "silent":
        return 1
    return _api(sys.argv[2:]) if sys.argv[1:2] == ["api"] else _failed("unknown command\n")


def _api(words: list[str]) -> int:
    given: dict[str, str] = {}
    flags: list[str] = []
    places: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            given[VALUED[word]] = next(rest)
        elif word == "--paginate":
            flags.append(word)
        elif word.startswith("-"):
            return _failed(f"unknown flag: {word}\n{USAGE}")
        else:
            places.append(word)
    (target,) = places
    if "{owner}/{repo}" in target:
        name = _from_remotes()
        if isinstance(name, int):
            return name
        target = target.replace("{owner}/{repo}", name)
    source = given.get("input")
    text = sys.stdin.read() if source == "-" else Path(source).read_text() if source else ""
    body = json.loads(text) if text else None
    return _asked(given.get("method", "GET"), target, body, pages="--paginate" in flags)


def _asked(method: str, target: str, body: object, *, pages: bool) -> int:
    data, page = Path(os.environ["SOW_TEST_GITHUB"]), 1
    while True:
        address = f"{target}&page={page}" if pages else target
        status, found = answer(data, method, f"/{address}", body)
        sys.stdout.write(json.dumps(found))
        sys.stdout.flush()
        if status >= 400:
            words = found.get("message", "")
            return _failed(f"gh: {words} (HTTP {status})\n")
        if os.environ.get("SOW_TEST_GH") == "killed after it was made" and method == "POST":
            os.kill(os.getpid(), signal.SIGKILL)
        if not pages or len(found) < 100:
            return 0
        page += 1


def _from_remotes() -> str | int:
    done = subprocess.run(["git", "remote", "-v"], capture_output=True, text=True, check=False)
    beginning = "unable to expand placeholder in path: "
    if done.returncode:
        return _failed(f"{beginning}failed to run git: {done.stderr}\n")
    if not done.stdout.strip():
        return _failed(f"{beginning}no git remotes found\n")
    places = dict(
        re.findall(
            r"^(\S+)\s.*github\.com[:/]([^/\s]+/[^/\s]+?)(?:\.git)?\s", done.stdout, re.MULTILINE
        )
    )
    if not places:
        return _failed(
            f"{beginning}none of the git remotes configured for this repository point to a known"
            " GitHub host. To tell gh about a new GitHub host, please use `gh auth login`\n"
        )
    first = ("upstream", "github", "origin")  # gh's own order
    return next((places[name] for name in first if name in places), next(iter(places.values())))


def _failed(words: str, code: int = 1) -> int:
    sys.stderr.write(words)
    return code


if __name__ == "__main__":
    sys.exit(main())
