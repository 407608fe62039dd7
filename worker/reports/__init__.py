"""The reports of agents in sandboxes: a socket for each attempt, and who carries out what comes.

A sandbox has neither the queue nor the project's state. What its agent changes there it reports
(`sow.cli.report_client`), and a process of the worker's carries that out. `service` is the
worker's side, `server` that process, `attempts` what it holds of an attempt, `carrying_out` a
report's own process and `kept` the reports that were kept while nobody listened.
"""
