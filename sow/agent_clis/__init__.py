"""The agents' CLIs, as plain data: one description each, which all others read."""
