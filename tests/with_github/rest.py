"""A little of GitHub: repositories, issues, pull requests, as its REST API answers for them.

One description for two: the stand-in `gh` asks it in its own process, and the real `gh` asks a
server of the test's (`rest_server`). What it knows lies in a JSON file, so that processes share it.
"""

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

DOCS = "https://docs.github.com/rest"
ME = "octo"
REPOSITORY = "octo/app"
SITE = "https://github.com"
PAGE = 100
Answer = tuple[int, Any]


def begun(path: Path, **more: Any) -> Path:
    """Write the file of a GitHub that has one repository."""
    data = {
        "login": ME,
        "repositories": {REPOSITORY: {"default_branch": "main"}},
        "issues": [],
        "pulls": [],
        "branches": {},
        "reviews": {},
        "checks": {},
        "requests": [],
        **more,
    }
    path.write_text(json.dumps(data))
    return path


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Any]]:
    """Give the data, alone, and write down what was changed of it."""
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        data = json.load(file)
        yield data
        file.seek(0)
        file.truncate()
        json.dump(data, file)


def answer(path: Path, method: str, target: str, body: Any) -> Answer:
    """Return the status and the body with which GitHub answers a request."""
    parts = urlsplit(target)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    with opened(path) as data:
        data["requests"].append(f"{method} {target}")
        if data.get("status"):
            return data["status"], {"message": data["message"], "documentation_url": DOCS}
        return _answer(data, method, unquote(parts.path).strip("/"), query, body)


def _answer(
    data: dict[str, Any], method: str, path: str, query: dict[str, str], body: Any
) -> Answer:
    if path == "user":
        return 200, {"login": data["login"]}
    found = re.match(r"repos/([^/]+/[^/]+)(?:/(.*))?$", path)
    if found is None or found[1] not in data["repositories"]:
        return _missing()
    name, rest = found[1], found[2] or ""
    facts = data["repositories"][name]
    if not rest:
        return 200, {
            "full_name": name,
            "html_url": f"{SITE}/{name}",
            "default_branch": facts["default_branch"],
            "private": False,
        }
    if rest.startswith("issues"):
        return _issues(data, name, facts, method, rest, query, body)
    if rest.startswith("pulls"):
        return _pulls(data, name, method, rest, query, body)
    if rest.startswith("branches/"):
        branch = rest.removeprefix("branches/")
        commit = data["branches"].get(f"{name}:{branch}")
        return (200, {"name": branch, "commit": {"sha": commit}}) if commit else _missing("Branch ")
    if rest.endswith("/check-runs"):
        return 200, {"total_count": 0, "check_runs": data["checks"].get(rest.split("/")[1], [])}
    if rest.endswith("/status"):
        return 200, {"state": "pending", "statuses": []}
    return _missing()


def _issues(
    data: dict[str, Any],
    name: str,
    facts: dict[str, Any],
    method: str,
    rest: str,
    query: dict[str, str],
    body: Any,
) -> Answer:
    if facts.get("has_issues") is False:
        return 410, {"message": "Issues are disabled for this repo", "documentation_url": DOCS}
    there = [issue for issue in data["issues"] if issue["repository"] == name]
    if method == "POST":
        if not body.get("title") or len(body.get("body") or "") > 65536:
            return 422, {
                "message": "Validation Failed",
                "errors": [{"resource": "Issue", "code": "custom", "message": "body is too long"}],
            }
        issue = issue_of(name, len(data["issues"]) + len(data["pulls"]) + 1, data["login"], **body)
        data["issues"].append(issue)
        return 201, _shown(issue)
    if rest == "issues":
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        newest = list(reversed(there))
        return 200, [_shown(issue) for issue in newest[(page - 1) * size : page * size]]
    number = int(rest.split("/")[1])
    for issue in there:
        if issue["number"] == number:
            if method == "PATCH":
                issue.update(body)
            return 200, _shown(issue)
    for pull in data["pulls"]:
        if pull["number"] == number:
            return 200, {**issue_of(name, number, ME, title=pull["title"]), "pull_request": {}}
    return _missing()


def issue_of(repository: str, number: int, login: str, **fields: Any) -> dict[str, Any]:
    """Return an issue as the file keeps it."""
    return {
        "repository": repository,
        "number": number,
        "title": fields["title"],
        "body": fields.get("body"),
        "labels": [{"name": label} for label in fields.get("labels", ())],
        "state": fields.get("state", "open"),
        "html_url": f"{SITE}/{repository}/issues/{number}",
        "user": {"login": login},
        "author_association": fields.get("association", "OWNER" if login == ME else "NONE"),
    }


def _shown(issue: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in issue.items() if key != "repository"}


def _pulls(
    data: dict[str, Any], name: str, method: str, rest: str, query: dict[str, str], body: Any
) -> Answer:
    if method == "POST":
        owner, _, branch = body["head"].partition(":")
        if any(pull["head"]["label"] == body["head"] for pull in data["pulls"] if _is_open(pull)):
            message = f"A pull request already exists for {body['head']}."
            return _invalid(message)
        commit = next(
            (sha for key, sha in data["branches"].items() if key.endswith(f":{branch}")), ""
        )
        if commit == data["branches"].get(f"{name}:{body['base']}"):
            return _invalid(f"No commits between {body['base']} and {branch}")
        number = len(data["issues"]) + len(data["pulls"]) + 1
        pull = {
            "number": number,
            "title": body["title"],
            "body": body["body"],
            "state": "open",
            "draft": body["draft"],
            "merged": False,
            "mergeable": None,
            "html_url": f"{SITE}/{name}/pull/{number}",
            "head": {"label": f"{owner}:{branch}", "ref": branch, "sha": commit},
            "base": {"ref": body["base"]},
        }
        data["pulls"].append(pull)
        return 201, pull
    if rest == "pulls":
        state = query.get("state", "open")
        found = [
            pull
            for pull in reversed(data["pulls"])
            if query.get("head") in (None, pull["head"]["label"])
            and state in ("all", pull["state"])
        ]
        return 200, found
    words = rest.split("/")
    pull = next((pull for pull in data["pulls"] if str(pull["number"]) == words[1]), None)
    if pull is None:
        return _missing()
    return 200, data["reviews"].get(words[1], []) if words[2:] == ["reviews"] else pull


def _is_open(pull: dict[str, Any]) -> bool:
    return bool(pull["state"] == "open")


def _invalid(message: str) -> Answer:
    errors = [{"resource": "PullRequest", "code": "custom", "message": message}]
    return 422, {"message": "Validation Failed", "errors": errors, "documentation_url": DOCS}


def _missing(what: str = "") -> Answer:
    words = "Branch not found" if what else "Not Found"
    return 404, {"message": words, "documentation_url": DOCS}
