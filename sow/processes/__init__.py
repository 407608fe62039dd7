"""Process facts: who a process is, whether it lives, what lies below it.

`facts` is the door; `procfs` alone is light enough for the supervisor.
"""
