"""sow for clients of the Model Context Protocol: its commands as tools, states as resources.

Each call of a client is one command line, run as a process of its own with `--json`. `server`
and `stdio` are the one door to the protocol's SDK, which is heavy and not always installed:
`sow mcp` imports them when it serves, and nothing else does.
"""
