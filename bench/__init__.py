"""Benchmarks: one command, ratios within one run."""
