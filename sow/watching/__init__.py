"""The live view: all that is at work and waits, on one screen that somebody leaves open.

Imported by `sow watch` alone. It reads; what changes anything is a command of sow's,
run as a process of its own.
"""
