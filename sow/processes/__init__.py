"""Process facts: who a process is, whether it lives, what lies below it.

`facts` is the door. `stat`, `procfs` and `tree_linux` are light enough for the supervisor.
"""
