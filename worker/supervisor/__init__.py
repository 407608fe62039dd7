"""The supervisor of one attempt: a light program of its own, which outlives its worker."""
