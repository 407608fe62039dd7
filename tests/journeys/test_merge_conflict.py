"""A conflict between two tasks, from the merge that finds it to the one that brings both in."""

from journeys.gitsite import commit, git, make_repository
from journeys.site import Site
from journeys.staff import shell_executor

AGENT = """
prompt=$(cat)
case "$prompt" in
*"merge has conflicts"*)
    printf '010 and 020\\n' >code.txt
    git add code.txt
    git -c user.name=a -c user.email=a@example.invalid commit -q --no-edit
    ;;
*) echo "$SOW_TASK_ID" >code.txt ;;
esac
sow task set status needs_review
"""


def test_a_conflict_is_found_solved_by_its_agent_and_merged(site: Site) -> None:
    make_repository(site)
    site.project("010", "020")
    executor = shell_executor(site, "agent", AGENT)
    executor["settings"]["command"].append("{session_id}")
    executor["settings"]["resume"] = executor["settings"]["command"]
    site.configure(
        {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    )
    (site.root / ".sow/config.yaml").write_text("clones: {use: always}\n")
    commit(site, "a project")
    site.sow("agent", "spawn", "010", "020")
    for task in ("010", "020"):
        site.sow("review", "accept", task, "--summary", "Good.")
    site.sow("merge", "010")
    tip = git(site, "rev-parse", "main")

    refused = site.sow("merge", "020", expect=4)

    assert "task 020 conflicts with task 010 in code.txt (task 010)" in refused.out
    assert git(site, "rev-parse", "main") == tip
    assert "code.txt" in site.sow("clone", "update", "020", expect=4).out
    site.sow("agent", "resume", "020", "--conflict")
    assert site.task("020")["status"] == "needs_review"
    stale = site.sow("merge", "020", expect=4)
    assert "it was accepted at commit" in stale.err, "a solved conflict is judged anew"
    site.sow("review", "accept", "020", "--summary", "Both hold.")
    site.sow("merge", "020")

    assert (site.root / "code.txt").read_text() == "010 and 020\n"
    assert site.task("020")["status"] == "completed"
    assert site.sow("clone", "list", "--json").out == ""
    git(site, "fsck", "--no-dangling")
