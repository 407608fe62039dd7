"""Runs one agent over the protocol: `python -P -m sow.acp ORDERS`, the prompt on standard input.

Exit codes: 0 where the turn has ended well and something was done; 1 where it failed; 6 where the
agent is not fit for sow; 130 where it was interrupted. Every ending but the last is told before, by
an event `result`.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from sow.acp.agent_process import AgentProcess
from sow.acp.conversation import Cancelled, Conversation, Failed
from sow.acp.event_writer import EventWriter
from sow.acp.gemini_sessions import remove_empty_copies, wait_for_minute
from sow.acp.run_orders import Orders, read_orders

MISSING, INTERRUPTED = 127, 128 + signal.SIGINT


def main() -> int:
    """Carry out the orders in the file that the command line names; return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is an agent to part from
    orders = read_orders(Path(sys.argv[1]))
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    session = orders.session if orders.preset.is_gemini else None
    if session is not None:
        remove_empty_copies(session, os.environ)
        wait_for_minute(session, os.environ, time.time, time.sleep)
    events = EventWriter()
    try:
        agent = AgentProcess(orders.command, orders.folder, orders.record, orders.secrets)
    except OSError as error:
        print(f"{orders.command[0]}: {error.strerror}", file=sys.stderr)
        return MISSING
    code = converse(orders, agent, events, prompt)
    if session is not None:
        remove_empty_copies(session, os.environ)
    return code


def converse(orders: Orders, agent: AgentProcess, events: EventWriter, prompt: str) -> int:
    """Run a conversation to its end; return the exit code."""
    conversation = Conversation(orders, agent, events)

    def interrupt(_number: int, _frame: Any) -> None:
        conversation.cancel()

    signal.signal(signal.SIGINT, interrupt)
    try:
        conversation.run(prompt)
    except Cancelled:
        conversation.end_cancelled()
        events.flush()
        return INTERRUPTED
    except Failed as failed:
        events.write(
            "result",
            is_error=True,
            cause=failed.cause or "api_error",
            code=failed.code,
            message=failed.words,
        )
        conversation.end(cuts_off=failed.cause == "unfit")
        return failed.exit_code
    conversation.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
