"""The sandbox of an agent or a check: what it sees of the machine, and bubblewrap's argv for that.

Owns the argv (`view`, pure), what a process of ours has to see by itself (`installed`), which
folders of this machine are hidden (`machine`), and whether bubblewrap works here (`probe`). Knows
nothing of jobs, executors and configuration.
"""
