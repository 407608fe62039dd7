"""The caller never owns the job: signals detach it, time limits bound it (DESIGN, "The call")."""

import os
import signal
import subprocess

import pytest
from journeys.callers import (
    await_end,
    await_runs,
    await_waiters,
    end,
    gate,
    good,
    open_gate,
)
from journeys.site import Site
from standins import read_runs

SPAWN = ("agent", "spawn", "implementer", "010")
DETACHING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.one_of
@pytest.mark.parametrize("signum", DETACHING)
def test_a_signal_detaches_and_the_job_goes_on(site: Site, signum: signal.Signals) -> None:
    """INT, TERM, HUP detach (exit 130), printing how to re-attach and how to cancel."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    await_runs(site)
    out, err = end(caller, signum)
    assert (caller.returncode, out) == (130, "")
    assert "`sow agent wait 010`" in err
    assert "`sow agent cancel 010`" in err
    assert "Traceback" not in err
    open_gate(site, "go")
    assert "010 needs_review (spawn" in site.sow("agent", "wait", "010").out
    assert len(read_runs(site.root)) == 1


def test_several_signals_at_once_are_one(site: Site) -> None:
    """A terminal that closes sends HUP and more; the caller still says how to re-attach."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    await_runs(site)
    for signum in (*DETACHING, *DETACHING):
        os.kill(caller.pid, signum)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 130
    assert err.count("`sow agent wait 010`") == 1
    open_gate(site, "go")
    await_end(site, "010")


@pytest.mark.one_of
@pytest.mark.parametrize("signum", DETACHING)
def test_a_signal_detaches_agent_wait_too(site: Site, signum: signal.Signals) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "--detach")
    caller = site.start("agent", "wait", "010")
    await_waiters(site, "010")
    _, err = end(caller, signum)
    assert caller.returncode == 130
    assert "`sow agent wait 010`" in err
    open_gate(site, "go")
    await_end(site, "010")


def test_an_interrupt_from_the_terminal_reaches_neither_worker_nor_agent(site: Site) -> None:
    """Ctrl-C goes to the whole foreground group; the worker that the call started is not in it."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN, start_new_session=True)
    await_waiters(site, "010")
    await_runs(site)
    os.killpg(caller.pid, signal.SIGINT)
    caller.communicate(timeout=240)
    assert caller.returncode == 130
    open_gate(site, "go")
    assert site.sow(*SPAWN).out.startswith(("010 needs_review", "outcome of job 1"))
    (run,) = read_runs(site.root)
    assert run.exit == 0


@pytest.mark.one_of
@pytest.mark.parametrize("redirect", [">&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_a_caller_to_whom_nobody_listens_waits_all_the_same(site: Site, redirect: str) -> None:
    site.project("010")
    site.script([good()])
    call = ["/bin/sh", "-c", f'exec sow "$@" {redirect}', "sh", *SPAWN, "--verbose"]
    done = subprocess.run(
        call, cwd=site.root, env=site.env, stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0
    site.sow(*SPAWN, expect=4)
    assert site.task("010")["status"] == "needs_review"


def test_several_tasks_are_all_named(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN, "020")
    await_waiters(site, "010")
    await_waiters(site, "020")
    _, err = end(caller, signal.SIGINT)
    assert "`sow agent wait 010 020`" in err
    assert "`sow agent cancel 010`" in err
    assert "`sow agent cancel 020`" in err
    open_gate(site, "go")
    assert len(site.sow("agent", "wait", "010", "020").out.splitlines()) == 2


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (("--wait", "1s"), {"CLAUDECODE": "1", "SOW_WAIT": "1h"}),
        ((), {"CLAUDECODE": "1", "SOW_WAIT": "1s", "BASH_DEFAULT_TIMEOUT_MS": "3600000"}),
        ((), {"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": "11000"}),
    ],
)
def test_the_wait_is_bounded_by_option_variable_and_shell(
    site: Site, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    """`--wait`, else SOW_WAIT, else below Claude Code its shell's time-out less 10 s: exit 75."""
    site.project("010")
    site.script([good(gate("go"))])
    result = site.sow(*SPAWN, *words, env=environ, expect=75)
    command = " ".join(("sow agent wait 010", *words))
    assert result.out.splitlines()[-1] == command
    again = site.sow("agent", "wait", "010", *words, env=environ, expect=75)
    assert again.out.splitlines()[-1] == command
    open_gate(site, "go")
    await_end(site, "010")


def test_a_bad_wait_is_a_usage_error_before_anything_is_queued(site: Site) -> None:
    site.project("010")
    for words, environ in ((("--wait", "soon"), {}), ((), {"SOW_WAIT": "5"})):
        refused = site.sow(*SPAWN, *words, env=environ, expect=2)
        assert "not a length of time" in refused.err
    assert not (site.root / ".sow/run").exists()
