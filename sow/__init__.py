"""Run coding-agent CLIs as queued jobs: what a caller uses."""

__version__ = "0.2.0"
