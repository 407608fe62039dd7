"""Batches: what is to be done next, found out from records and state files alone."""
