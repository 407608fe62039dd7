"""The loop of a batch without a person: checks, reviews, corrections, merges, conflicts."""

from journeys.batch_site import (
    YOLO,
    accept,
    accept_by_check,
    actions,
    add,
    author,
    correct,
    of_batch,
    repository,
    shell,
)
from journeys.callers import report
from journeys.gitsite import git
from journeys.site import Site

from sow.schema.job import Verb


def test_work_is_checked_reviewed_corrected_and_merged(site: Site) -> None:
    repository(site, "010", checks="grep -q good file")
    site.script(
        [
            author("echo bad >file"),
            author("echo good >file"),
            correct("Say better.", "010"),
            author("echo good, better >file"),
            accept("010"),
        ],
        "010",
    )
    done = site.sow("batch", "run", "--check", "--review", "--merge", "--json").json
    assert (done["state"], done["counts"]) == ("over", {"done": 1}), done
    assert actions(site, "010") == [
        "spawn",
        "check",
        "mend",
        "check",
        "review",
        "correct",
        "check",
        "review",
        "merge",
    ]
    assert git(site, "show", "main:file") == "good, better\n"
    task = site.task("010")
    assert task["status"] == "completed"
    assert task["feedback"] == [{"file": "001.md", "status": "settled"}]


def test_an_author_that_has_changed_nothing_is_asked_once_before_anybody_is_paid(
    site: Site,
) -> None:
    repository(site, "010", "020", checks="test -e file")
    site.script([author("true"), author("echo good >file"), accept("010")], "010")
    site.script([author("true"), author("true"), author("echo good >file"), accept("020")], "020")
    done = site.sow("batch", "run", "--check", "--review", "--json").json
    assert done["counts"] == {"done": 2}, done
    assert actions(site, "010") == ["spawn", "ask_for_change", "check", "review"]
    assert actions(site, "020") == ["spawn", "ask_for_change", "check", "mend", "check", "review"]
    warnings = {job["job"]: job["warnings"] for job in site.sow("job", "list", "--json").json_lines}
    assert warnings[1] == ["its agent set needs_review and changed nothing"]
    assert "changed nothing" in site.sow("job", "list").out


def test_a_dependent_begins_with_what_was_merged(site: Site) -> None:
    repository(site, "010")
    add(site, {"020": ["010"]})
    site.script([author("echo one >file"), accept("010")], "010")
    site.script([author("cat file >copy"), accept("020")], "020")
    site.sow("batch", "run", "--review", "--merge")
    assert git(site, "show", "main:copy") == "one\n"


def test_a_conflict_is_handed_to_the_author_once(site: Site) -> None:
    repository(site, "010", "020")
    for task in ("010", "020"):
        site.script(
            [
                author(f"echo {task} >file"),
                accept(task),
                [
                    shell("echo both >file; git add file; git commit -q --no-edit"),
                    report(),
                ],
                accept(task),
            ],
            task,
        )
    done = site.sow("batch", "run", "--review", "--merge", "--json").json
    assert done["counts"] == {"done": 2}, done
    solved = [job.task_id for job in of_batch(site) if job.batch_deed == "solve"]
    assert len(solved) == 1
    assert git(site, "show", "main:file") == "both\n"


def test_after_so_many_returns_a_person_is_asked_and_puts_it_back_to_work(site: Site) -> None:
    repository(site, "010", checks="grep -q good file")
    site.script([author("echo bad >>file")] * 3 + [author("echo good >file")], "010")
    words = ("batch", "run", "--check", "--accept", "check", "--max-iterations", "2")
    first = site.sow(*words, expect=1)
    assert "010 needs_person: a check still fails after 2 returns to its author" in first.out
    assert site.task("010")["status"] == "needs_review"
    site.sow("agent", "resume", "010", "Say good.")
    done = site.sow("batch", "wait")
    assert "Batch 1 is over: 1 done" in done.out
    assert site.task("010")["review"]["by"] == "check"


def test_after_two_reviews_without_a_verdict_a_person_judges_and_nobody_pays_for_a_third(
    site: Site,
) -> None:
    repository(site, "010")
    site.script([author("echo good >file"), [{"say": "It looks good."}]], "010")
    first = site.sow("batch", "run", "--review", "--json", expect=1).json["items"][0]
    assert first["command"] == "sow batch resume 1"
    site.sow("batch", "resume", "1")
    second = site.sow("batch", "wait", "--json", expect=1).json["items"][0]
    assert second["reason"].startswith("2 reviews have come to nothing, so judge it yourself: ")
    assert second["command"] == 'sow review accept 010 --summary "…"'
    assert site.sow("next").out.startswith('sow review accept 010 --summary "')
    site.sow("review", "accept", "010", "--summary", "Good.")
    assert "Batch 1 is over: 1 done" in site.sow("batch", "wait").out


def test_a_question_is_told_in_full_and_an_answer_goes_on(site: Site) -> None:
    site.project("010")
    accept_by_check(site)
    site.script(
        [
            [{"sow": ["agent", "log", "Which algorithm, RS256 or HS256?"]}, report("paused")],
            [report("completed")],
        ],
        "010",
    )
    first = site.sow("batch", "run", expect=1)
    assert "010 needs_person: its agent asks a question: sow agent answer 010" in first.out
    assert "    Which algorithm, RS256 or HS256?\n" in first.out
    site.sow("agent", "resume", "010", "RS256.")
    done = site.sow("batch", "run")
    assert "Batch 1 is over: 1 done" in done.out


def test_a_conflict_of_an_agent_without_sessions_is_solved_by_a_new_run(site: Site) -> None:
    repository(site, "010", "020")
    use_windsurf(site)
    for task in ("010", "020"):
        solve = shell("echo both >file; git add file; git commit -q --no-edit")
        site.script(
            [author(f"echo {task} >file"), accept(task), [solve, report()], accept(task)], task
        )
    done = site.sow("batch", "run", "--review", "--merge", "--json").json
    assert done["counts"] == {"done": 2}, done
    (solved,) = [job for job in of_batch(site) if job.batch_deed == "solve"]
    assert (solved.verb, git(site, "show", "main:file")) == (Verb.SPAWN, "both\n")
    assert "file" in solved.prompt


def test_a_second_conflict_names_its_files_and_what_that_agent_can_do(site: Site) -> None:
    repository(site, "010", "020")
    use_windsurf(site)
    for task in ("010", "020"):
        runs = [author(f"echo {task} >file"), accept(task), [report()], accept(task)]
        site.script(runs, task)
    site.sow("batch", "run", "--review", "--merge", expect=1)
    (item,) = [
        item
        for item in site.sow("batch", "show", "--json").json["items"]
        if item["state"] == "needs_person"
    ]
    task = item["task"]
    assert item["reason"].endswith("in file; its agent tried once to solve it"), item
    assert item["command"].startswith(f"sow agent spawn {task} --fresh --prompt ")
    refused = site.sow("agent", "resume", task, "--conflict", expect=4)
    assert "in file, and its executor cannot resume its session" in refused.err
    assert f"sow agent spawn {task} --fresh" in refused.err
    assert f"spawn {task} --fresh" in site.sow("clone", "update", task, expect=4).err
    conflict = site.sow("merge", task, expect=4)
    assert "--conflict" not in conflict.out + conflict.err


def use_windsurf(site: Site) -> None:
    """Have authors be run by a CLI that does not continue sessions."""
    executors = {**YOLO["agents"]["executors"], "plain": {"type": "windsurf"}}
    bindings = {"implementer": "plain", "reviewer": "claude-code"}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
