"""Projects of each type whose agents are shell scripts, and what a reader would fill in for each.

The agents keep nothing between two runs but what a session keeps: an answer that they were given.
All else they see from their work, so that one that was killed does the same again.
"""

import json
from collections.abc import Mapping
from typing import Any

import yaml
from journeys.gitsite import git, make_repository
from journeys.site import Site
from journeys.staff import shell_executor
from journeys.zero_context import Newcomer

BRANCHES = {
    "standard": "main",
    "standard by batches": "main",
    "quick": "main",
    "exploration": "explore/sign-in",
    "design": "design/sign-in",
    "breakdown": "breakdown/sign-in",
}
DOCUMENT = ".sow/project/context/knows.md"
ANSWERS = {
    "<name>": "Sign-in",
    "<role>": "implementer",
    "<what is to be done>": "Write a line.",
    "<file of tasks>": "../tasks.yaml",
    "<path>": DOCUMENT,
    "<type>": "summary",
    "<your answer>": "Blue.",
}
"""What is put in for each `<…>`, whatever the project. The keys of `BRANCHES` are the projects."""
TASKS: list[dict[str, Any]] = [
    {"key": key, "name": key.capitalize(), "agent": "implementer", "description": f"Do {key}."}
    for key in ("one", "two", "three")
]
FILES = {"../tasks.yaml": json.dumps(TASKS), DOCUMENT: "What is known.\n"}
AUTHOR = """
words=$(cat)
memory="$HOME/heard-$SOW_TASK_ID"
case "$words" in *Blue.*) touch "$memory";; esac
folder=$1
case "$SOW_TASK_ID" in
010) [ -e "$folder/feedback/001.md" ] && echo twice >010.txt || echo once >010.txt;;
020) if [ ! -e "$memory" ]; then
        sow agent log "Which colour is it to be?"
        sow task set status paused
        exit
    fi
    echo blue >020.txt;;
*) echo done >"$SOW_TASK_ID.txt";;
esac
sow agent log "Did the work"
sow task set status needs_review
"""
"""The first is corrected, the second asks, the others do what they are told."""
REVIEWER = """
cat >/dev/null
findings=$HOME/findings.md
if [ "$SOW_REVIEW" = project ] && [ "$(ls [0-9]*.txt | wc -l)" -lt 4 ]; then
    echo "A fourth is missing." >"$findings"
    sow review correct --project --file "$findings"
elif [ "$SOW_REVIEW" = project ]; then
    sow review accept --project --summary "It fits together."
elif [ "$SOW_TASK_ID" = 010 ] && ! grep -q twice 010.txt; then
    echo "Say it twice." >findings.md
    sow review correct 010 --file findings.md
else
    sow review accept "$SOW_TASK_ID" --summary "Good."
fi
"""
"""Sends back the first task's first work, and a whole of fewer than four tasks."""
CHECKED: Mapping[str, Any] = {
    "checks": {"unit": "! grep -L . [0-9]*.txt | grep .", "default": ["unit"]},
    "clones": {"use": "always"},
}
BATCHES = {"batch": {"clone": True, "check": True, "review": True, "merge": True}}


def begin(site: Site, kind: str) -> Newcomer:
    """Make a repository in which a project is to be begun, and return who drives it."""
    make_repository(site)
    executors = {}
    for name, script in (("author", AUTHOR), ("reviewer", REVIEWER)):
        executor = shell_executor(site, name, script)
        executor["settings"]["command"].append("{session_id}")
        executor["settings"]["resume"] = executor["settings"]["command"]
        executors[name] = executor
    bindings = {"implementer": "author", "reviewer": "reviewer"}
    site.configure({"approve": "agents", "agents": {"executors": executors, "bindings": bindings}})
    if BRANCHES[kind] == "main":
        site.sow("init")
        settings = {**CHECKED, **(BATCHES if "batches" in kind else {})}
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
        git(site, "add", "-A")
        git(site, "commit", "-qm", "settings")
        site.sow("trust", "--yes")
        if kind == "quick":  # `sow next` names no type, and takes it from the branch's name
            site.sow("project", "new", "Sign-in", "--type", "quick")
    else:
        git(site, "switch", "-q", "-c", BRANCHES[kind])
    return Newcomer(site, ANSWERS, FILES)
