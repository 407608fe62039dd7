"""What a client is answered: the objects that a command has printed, its notes, its exit code.

Owns the form of an answer. The objects are those of `--json`, errors included; nothing in them is
changed, save where there is no room for all (`answer_size`).
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from sow.errors import ExitCode, SowError
from sow.mcp_server.answer_size import fit_notes, fit_results, left_out
from sow.mcp_server.tool import Arguments, Tool

WAITING_TOOL = {"batch_run": "batch_wait", "batch_wait": "batch_wait"}
"""The tool that goes on waiting where it is not `agent_wait` or `job_wait`."""

Json = dict[str, Any]


class Ended(Struct, frozen=True):
    """How a command line has ended."""

    exit_code: int
    output: str = ""
    errors: str = ""
    """What it wrote to standard error."""


class Answer(Struct, frozen=True):
    """What a call of a tool comes to."""

    content: Json
    is_error: bool
    untold: frozenset[int] = frozenset()
    """The jobs of results that there was no room for."""

    @property
    def text(self) -> str:
        """The same for a client that reads text."""
        return json.dumps(self.content, ensure_ascii=False)


def answer_of(tool: Tool, arguments: Arguments, ended: Ended) -> Answer:
    """Return the answer to a call whose command line has ended."""
    results, others = _objects(ended.output)
    if not results and ended.exit_code not in (ExitCode.OK, ExitCode.STILL_RUNNING):
        results = [error_object(failure_of(ended))]
    fit = fit_results(results, keeps_last=tool.keeps_last)
    content: Json = {"exit_code": ended.exit_code, "results": fit.results}
    notes = fit_notes([*fit.missing, *others, *_notes(ended.errors, results)])
    if fit.left_out:
        notes.append(left_out(len(fit.left_out), keeps_last=tool.keeps_last))
    if notes:
        content["notes"] = notes
    untold = frozenset(
        result["job"] for result in fit.left_out if not tool.only_reads and _is_outcome(result)
    )
    goes_on = ended.exit_code == ExitCode.STILL_RUNNING and not any(map(_is_held, results))
    if goes_on or fit.goes_on or untold:
        content["continue_with"] = going_on(
            tool, arguments, fit.results if fit.goes_on else results, untold
        )
    return Answer(content, any("error" in result for result in results), untold)


def _is_outcome(result: Json) -> bool:
    """Whether it tells how a job stands, as the rows of a table do that no call has waited for."""
    return isinstance(result.get("job"), int) and result.get("exit_code") is not None


def _is_held(result: Json) -> bool:
    """Whether somebody has to do something before it is of any use to go on waiting for a job."""
    return " && " in (result.get("continue_with") or "")


def refusal(error: SowError) -> Answer:
    """Return the answer to a call that came to no command line."""
    content = {"exit_code": int(error.exit_code), "results": [error_object(error)]}
    return Answer(content, is_error=True)


def error_object(error: SowError) -> Json:
    """Return an error as commands print it with `--json`."""
    code = error.exit_code
    return {
        "task": None,
        "error": {
            "kind": code.name.lower(),
            "exit_code": int(code),
            "message": error.message,
            "hint": error.hint,
        },
    }


def going_on(
    tool: Tool, arguments: Arguments, results: Sequence[Json], untold: Collection[int] = ()
) -> Json:
    """Return the call that goes on waiting, of one whose time was up; it tells of `untold` too."""
    cursor = next((result["cursor"] for result in results if "cursor" in result), None)
    if cursor is not None:
        return {"tool": tool.name, "arguments": {**arguments, "since": cursor}}
    if tool.name in WAITING_TOOL:
        named = {"batch": str(batch)} if (batch := _first(results, "batch")) else {}
        return {"tool": WAITING_TOOL[tool.name], "arguments": named}
    running = [
        each
        for each in results
        if each.get("exit_code") == ExitCode.STILL_RUNNING or each.get("job") in untold
    ]
    tasks = [each.get("task") for each in running]
    kept = {"any": True} if arguments.get("any") else {}
    if tool.name != "job_wait" and tasks and all(tasks):
        return {"tool": "agent_wait", "arguments": {"tasks": tasks, **kept}}
    jobs = [str(each["job"]) for each in running if "job" in each]
    return {"tool": "job_wait", "arguments": {"jobs": jobs, **kept}}


def _first(results: Sequence[Json], key: str) -> Any:
    return next((result[key] for result in results if result.get(key) is not None), None)


def objects_in(output: str) -> list[Json]:
    """Return the objects that a command has printed."""
    return _objects(output)[0]


def _objects(output: str) -> tuple[list[Json], list[str]]:
    """Return the objects that were printed, and the lines that are none."""
    objects: list[Json] = []
    others: list[str] = []
    for line in filter(None, output.split("\n")):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if isinstance(found, dict):
            objects.append(found)
        else:
            others.append(line)
    return objects, others


def _notes(errors: str, results: Sequence[Json]) -> list[str]:
    """Return what was written to standard error besides the errors, which stand in the results."""
    text = f"\n{errors}\n"
    for error in (result["error"] for result in results if "error" in result):
        task = next((each["task"] for each in results if each.get("error") is error), None)
        for named in (f"{task}: ", ""):
            text = text.replace(f"\nError: {named}{error['message']}\n", "\n", 1)
        text = text.replace(f"\n{error['hint']}\n", "\n", 1)
    return [line for line in text.split("\n") if line.strip()]


def failure_of(ended: Ended) -> SowError:
    """Return the error of a command that has failed and printed no object that says why."""
    words = " ".join(ended.errors.split()) or f"the command ended with exit code {ended.exit_code}"
    error = SowError(words, hint="What was done stands; `status` tells how it stands now.")
    known = {int(code) for code in ExitCode}
    error.exit_code = ExitCode(ended.exit_code) if ended.exit_code in known else ExitCode.FAILED
    return error
