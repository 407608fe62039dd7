"""The agents of a storm, and what each of them is to do.

Those without sessions are a shell script of a few milliseconds. Those with
sessions are the stand-in of Claude Code: an id that has a transcript cannot be
spawned again, and one without cannot be resumed. Both say what they do in
`lives` (`storm_lives`), by lines of their own that no event tells of.
"""

import random
from typing import Any

from journeys.site import Site
from journeys.staff import shell_executor
from journeys.storm_executors import RENEW, tell_agents, tell_asking
from journeys.storm_plan import Plan

SAY = r"""
    say() {
        read -r up _ </proc/uptime
        echo "$1 $SOW_TASK_ID $SOW_ATTEMPT_ID $me $up" >>"$SOW_ROOT/lives"
    }
"""
SHELL_AGENT = rf"""
    me=$$
    {SAY}
    say begin
    read -r kind way work <"$SOW_ROOT/kinds/$SOW_TASK_ID"
    mine="$SOW_ROOT/kinds/$SOW_TASK_ID.pid"
    before=$(cat "$mine" 2>/dev/null)
    echo $$ >"$mine"
    if [ -n "$before" ] && grep -qs "SOW_TASK_ID=$SOW_TASK_ID" "/proc/$before/environ"; then
        say met
    fi
    [ "$kind" != cancelled ] || trap 'say interrupted' INT
    sleep "$work"
    case $kind in
        crashing) [ -n "$before" ] || {{ say end; exit 3; }} ;;
        leaving) (trap '' TERM; exec sleep 60) & ;;
        cancelled) while :; do sleep 1; done ;;
    esac
    say report
    if [ "$way" = itself ]; then
        sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
    else
        sow task set status needs_review || say refused
    fi
    say end
"""
"""An agent of a few milliseconds. Its tasks' kinds: plain, crashing, leaving, cancelled."""

ASIDES = rf"""
    me=$PPID
    nl='
'
    {SAY}
    begin() {{
        say begin
        say mute
        for other in $(grep -lsz "^SOW_TASK_ID=$SOW_TASK_ID\$" /proc/[0-9]*/environ); do
            # Read once: a process may be killed, and then has no environment any more.
            case "$nl$(cat "$other" 2>/dev/null | tr '\0' '\n')$nl" in
                *"${{nl}}SOW_ATTEMPT_ID=$SOW_ATTEMPT_ID$nl"*) ;;
                *"${{nl}}SOW_ROOT=$SOW_ROOT$nl"*) say met ;;
            esac
        done
        tasks="$SOW_ROOT/.sow/project/phases/implementation/tasks"
        grep -q 'status: in_progress' "$tasks/$SOW_TASK_ID/state.yaml" || say finished
    }}
    report() {{
        sow task set status needs_review
        code=$?
        if [ $code = 0 ]; then say reported; elif [ $code -lt 128 ]; then say refused; fi
    }}
"""
"""What an agent with a session does between its events. `met` is said by one that begins
while anything of an earlier attempt lives, `finished` by one that begins after a report."""


def kinds_of(plan: Plan, chance: random.Random) -> dict[str, str]:
    """Return what kind each task is of."""
    names = (
        *("plain", "crashing", "leaving", "cancelled", "mute", "late"),
        *("moving", "limited", "renewing"),
    )
    kinds = [name for name in names for _ in range(getattr(plan, name))]
    chance.shuffle(kinds)
    return {f"{10 * number:03}": kind for number, kind in enumerate(kinds, 1)}


def executor_of(site: Site, plan: Plan) -> dict[str, Any]:
    """Return the executor that runs the agents: with so many retries that none is ever short."""
    if not plan.sessions:
        return shell_executor(site, "brief", SHELL_AGENT, retries=9)
    return {"type": "claude", "retries": 100, "settings": {"yolo_mode": True}}


def tell_kinds(site: Site, plan: Plan, kinds: dict[str, str], chance: random.Random) -> None:
    """Write down for the agents what each of them is to do."""
    folder = site.root / "kinds"
    folder.mkdir(exist_ok=True)
    (folder / "asides.sh").write_text(ASIDES)
    way = "itself" if plan.quick_report else "command"
    for task, kind in kinds.items():
        work = chance.uniform(0.05, 0.5)
        if plan.sessions:
            runs = script_of(kind, work)
            if plan.executors:
                tell_agents(site, task, runs)
                tell_asking(site, task, kind, work)
            else:
                site.script(runs, task=task)
        else:
            (folder / task).write_text(f"{kind} {way} {work:.2f}\n")


def aside(*words: str) -> dict[str, Any]:
    return {"aside": " && ".join(['. "$SOW_ROOT/kinds/asides.sh"', *words])}


def script_of(kind: str, work: float) -> list[list[dict[str, Any]]]:
    """Return what a stand-in does, run by run; the last run is repeated."""
    opens = [aside("begin"), {"sleep": work}]
    speaks = [{"say": "Reading the task"}, aside("say spoke"), {"sleep": work}]
    reports: list[dict[str, Any]] = [
        {"keep_session": True},
        aside("say report"),
        {"shell": '. "$SOW_ROOT/kinds/asides.sh" && report'},
        aside("say end"),
    ]
    good = [*opens, *speaks, *reports]
    match kind:
        case "crashing":
            return [[*opens, *speaks, aside("say end"), {"crash": 3}], good]
        case "mute":
            return [[*opens, {"crash": 3}], [*opens, {"crash": 3}], good]
        case "leaving":
            child = {"background": "trap '' TERM; exec sleep 60"}
            return [[*opens, *speaks, child, *reports]]
        case "cancelled":
            return [[*opens, *speaks, {"ignore": ["INT"]}, {"hang": True}]]
        case "moving":
            return [[{"not_logged_in": True}], good]
        case "limited":
            return [[{"rate_limit": 0, "in": 2}, {"error_result": 429}], good]
        case "renewing":
            return [[*opens, *speaks, aside(RENEW), *reports]]
        case "late":
            return [[{"keep_nothing": True}, *good]]
        case _:
            return [good]
