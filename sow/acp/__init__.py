"""A client of the Agent Client Protocol (ACP), as a program: `python -P -m sow.acp ORDERS`.

A supervisor starts it as the agent, and it starts the agent's own program: it alone holds that
program's standard input, so a worker may die and another one adopt the run. Standard library only,
for one of these waits beside each agent. Knows nothing of tasks, jobs or configuration: what it is
to do stands in its orders, the prompt comes on standard input, and what happens it tells in lines
of JSON on standard output (`event_writer`), which `sow.executors.acp` reads.
"""
