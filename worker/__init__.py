"""What `sow worker` runs: the consumer, the supervisor of one attempt, recovery."""
