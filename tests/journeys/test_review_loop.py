"""The loop of author and reviewer through the true commands: corrected once, then accepted."""

from pathlib import Path

from journeys.gitsite import git, make_repository
from journeys.site import Site, wait_until

YOLO = {
    "agents": {"executors": {"claude-code": {"type": "claude", "settings": {"yolo_mode": True}}}}
}


def test_a_task_in_a_clone_is_corrected_and_then_accepted(site: Site) -> None:
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".standin\n.sow\n")
    site.configure(YOLO)
    site.project("010")
    where = site.base / "where"
    site.script(
        [
            [
                {"shell": "echo one >file; mkdir -p .github/workflows"},
                {"shell": "echo x >.github/workflows/c.yml"},
                {"sow": ["task", "set", "status", "completed"]},
            ],
            [
                {"shell": f"pwd >{where}; cat file >>{where}; echo 'Say two.' >findings.md"},
                {"sow": ["task", "set", "010", "status", "completed"]},
                {"sow": ["review", "correct", "010", "--file", "findings.md", "--summary", "No."]},
            ],
            [{"shell": "echo two >file"}, {"sow": ["task", "set", "status", "needs_review"]}],
            [
                {"shell": f"cat file >>{where}"},
                {"sow": ["review", "accept", "010", "--summary", "It says two."]},
            ],
        ],
        "010",
    )
    site.sow("agent", "spawn", "010", "--clone")
    assert site.task("010")["status"] == "needs_review", "an author in a clone completes nothing"
    session = site.task("010")["session_id"]

    done = site.sow("agent", "review", "010")
    assert done.out.startswith("010 corrections (review reviewer by claude-code, job 2"), done.out
    assert "  What to correct: feedback/001.md\n" in done.err
    assert "  The change steers agents or machines: .github/workflows/c.yml\n" in done.err
    assert "sow agent resume 010 --feedback" in done.err
    assert site.task("010")["status"] == "needs_review"
    assert (site.task_folder("010") / "feedback/001.md").read_text() == "Say two.\n"

    site.sow("agent", "resume", "010", "--feedback")
    assert site.task("010")["feedback"] == [{"file": "001.md", "status": "addressed"}]

    outcome = site.sow("agent", "review", "010", "--json").json
    assert (outcome["verdict"], outcome["summary"]) == ("accepted", "It says two.")
    assert (outcome["status"], outcome["exit_code"], outcome["feedback_file"]) == (None, 0, None)
    assert outcome["steers"] == [".github/workflows/c.yml"]
    assert outcome["next_step"] == "To merge it, which completes it: `sow merge 010`."

    task = site.task("010")
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    assert task["feedback"] == [{"file": "001.md", "status": "settled"}]
    assert task["review"]["commit"] == git(site, "rev-parse", task["clone"]["branch"]).strip()
    folder, *words = where.read_text().splitlines()
    assert words == ["one", "two"]
    assert Path(folder).name == ".review-2"
    clones = Path(task["clone"]["path"]).parent
    wait_until(lambda: not list(clones.glob("*.review-*")), "the throw-away clones are gone")
    note = "steers agents or machines: .github/workflows/c.yml"
    for words in (("task", "list"), ("clone", "list")):
        assert note in site.sow(*words).out, words
    newest, *_, oldest = site.sow("job", "list").out.splitlines()[1:]
    assert newest.endswith(f"accepted; {note}")
    assert not oldest.endswith(note)
    site.sow("batch", "run", "010", expect=None)
    assert f"010 {note}\n" in site.sow("batch", "show", expect=None).out
    assert site.sow("batch", "show", "--json", expect=None).json["items"][0]["steers"]
    assert site.task("010")["status"] == "completed"
