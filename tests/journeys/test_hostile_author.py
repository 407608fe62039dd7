"""An author that means harm: whatever it tries with its settings, its state or its clone, each is
refused or harmless, and the repository is byte for byte the same."""

import os
import re
import shlex
import textwrap
from pathlib import Path

import yaml
from clones.fingerprints import fingerprint
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site

ACCEPTED = {"clones": {"use": "always"}, "checks": {"unit": "true"}}
BEGINNING = """
    cat >/dev/null
    T=$SOW_TASK_ID
    exec >>{base}/tried-$T 2>&1
"""
CLAIMS = """
    try() {{ "$@" >>{base}/words 2>&1; echo "$? $*" >>{base}/codes; }}
    echo "work $SOW_JOB_ID" >>code.txt
    cat >.sow/config.yaml <<'END'
    clones: {{use: always, setup: "touch {base}/harm"}}
    checks: {{unit: "touch {base}/harm"}}
    END
    sow task set status needs_review
    try sow review accept $T --summary mine
    try env SOW_REVIEW=1 sow review accept $T --summary mine
    try env SOW_AGENT=orchestrator sow review accept $T --summary mine --complete
    try env SOW_AGENT=orchestrator SOW_TASK_ID=900 sow review accept $T --summary mine --complete
    try env SOW_ROOT="$SOW_ROOT/." SOW_AGENT=orchestrator sow review accept $T --summary mine
    try env -u SOW_ROOT sow review accept $T --summary mine --complete
    (try env -u SOW_ROOT -u SOW_JOB_ID setsid -w sow review accept $T --summary mine --complete)
    try env -u SOW_ROOT -u SOW_JOB_ID sow task set $T status completed
    try sow merge $T
    try env SOW_AGENT=orchestrator sow merge $T
    try env SOW_AGENT=orchestrator SOW_TASK_ID=900 sow merge $T
    try env -u SOW_ROOT -u SOW_JOB_ID sow merge $T
    try env -u SOW_ROOT -u SOW_JOB_ID sow clone update $T
    try env -u SOW_ROOT -u SOW_JOB_ID sow clone remove $T --discard
    try env SOW_AGENT=orchestrator sow agent review $T
    try sow trust --yes
    try sow task set checks "touch {base}/harm"
    try env SOW_AGENT=planner sow task add More --agent implementer --check "touch {base}/harm"
    try sow task check $T unit
    sow task set status completed
    sed -i 's/status: needs_review/status: completed/' {tasks}/$T/state.yaml
    git -c user.name=I -c user.email=i@example.invalid commit -q -a -m Harm
    sed -i "s/    base: .*/    base: $(git rev-parse HEAD)/" {tasks}/$T/state.yaml
    sed -i "s|    path: .*|    path: $SOW_ROOT|" {tasks}/$T/state.yaml
    sed -i "s|branch: sow/.*|branch: main|" {tasks}/$T/state.yaml
    C=$(git rev-parse HEAD)
    W="verdict: accepted, by: person, at: 2026-01-02T03:04:05Z, commit: $C"
    sed -i "s/^version:/  review: {{$W}}\\nversion:/" {tasks}/$T/state.yaml
    grep -q "^  review:" {tasks}/$T/state.yaml && echo "forged" >>{base}/forged
"""
LINK = """
    clone=$PWD
    cd /
    mv "$clone" "$clone.aside"
    ln -s "$SOW_ROOT" "$clone"
    sow task set status needs_review
"""
SUBMODULE = """
    git init -q inner
    git -C inner -c user.name=I -c user.email=i@example.invalid commit -q --allow-empty -m inner
    git -c protocol.file.allow=always submodule add -q "$SOW_ROOT" main
    git add -A
    git commit -q -m "Repositories in it"
    mv .git {base}/moved
    echo "gitdir: $SOW_ROOT/.git" >.git
    sow task set status needs_review
"""


def begin(site: Site) -> None:
    """Make a repository whose tasks 010, 020 and 030 have a hostile author each."""
    make_repository(site)
    site.project("010", "020", "030")
    places = {"base": site.base, "tasks": site.task_folder("010").parent}
    parts = {"010": CLAIMS, "020": LINK, "030": SUBMODULE}
    cases = "".join(
        f"{task})\n{textwrap.dedent(part.format(**places))};;\n" for task, part in parts.items()
    )
    path = site.base / "author.sh"
    start = textwrap.dedent(BEGINNING.format(**places))
    path.write_text(f"#!/bin/sh\n{start}\ncase $T in\n{cases}esac\n".replace("\n;;", "\n:;;"))
    path.chmod(0o755)
    command = [str(path), "{session_id}"]
    executor = {"type": "command", "settings": {"command": command, "resume": command}}
    site.configure(
        {"agents": {"executors": {"author": executor}, "bindings": {"implementer": "author"}}}
    )
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(ACCEPTED))
    commit(site, "a project")
    site.sow("trust", "--yes")


def repository(site: Site) -> dict[str, str]:
    """Return a hash of all that is not sow's own."""
    found = fingerprint(site.root)
    return {
        name: value
        for name, value in found.items()
        if not name.startswith(
            (".sow/project", ".sow/run", ".sow/.version", ".git/refs/heads/sow/")
        )
    }


def test_what_a_hostile_author_tries_is_refused_or_harmless(site: Site) -> None:
    begin(site)
    before = repository(site)
    harm = site.base / "harm"

    site.sow("agent", "spawn", "010")
    clone = site.task("010")["clone"]
    assert clone["base"] == git(site, "rev-parse", "main").strip()
    assert clone["path"] == site.sow("clone", "path", "010").out.strip()
    assert clone["branch"].startswith("sow/journey-")
    site.sow("agent", "resume", "010", "Once more.")  # its branch is in the repository by now
    assert (site.base / "forged").read_text() == "forged\n" * 2
    codes = (site.base / "codes").read_text().splitlines()
    assert len(codes) >= 2 * 19
    assert [line for line in codes if line.startswith("0 ")] == []
    assert "This is a bug" not in (site.base / "words").read_text()
    task = site.task("010")
    assert (task["status"], "review" in task, "completed_at" in task) == (
        "needs_review",
        False,
        False,
    )
    assert task["clone"] == clone, "nobody is shown another change than the one that is merged"
    assert task["session_id"], "it can be corrected in its own session"
    site.sow("merge", "010", expect=4)

    site.sow("agent", "spawn", "020", "030", expect=None)
    for name in ("020", "030"):
        clone = Path(site.task(name)["clone"]["path"])
        assert site.sow("clone", "remove", name, expect=4).code == 4
        site.sow("agent", "review", name, expect=4)
        site.sow("clone", "update", name, expect=4)
        site.sow("merge", name, expect=4)
        site.sow("clone", "remove", name, "--discard")
        assert not os.path.lexists(clone)
    site.sow("clone", "prune")
    assert repository(site) == before
    git(site, "fsck", "--strict")

    # Its new command lines are left out of the merge; taken by hand, they wait for a person's word.
    site.sow("task", "check", "010", "unit")
    shown = site.sow("review", "accept", "010", "--summary", "Unseen.", "--json").json
    assert shown["steers"] == []
    commit(site, "state")
    ended = site.sow("merge", "010")
    assert "harm" not in (site.root / ".sow/config.yaml").read_text()
    command = re.search(r"`git (restore [^`]*)`", ended.out + ended.err)[1]
    git(site, *shlex.split(command))
    assert "harm" in (site.root / ".sow/config.yaml").read_text()
    site.sow("project", "check", "unit", "--wait", "2s", expect=75)
    assert not harm.exists()
