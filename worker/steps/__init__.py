"""Programs of ours that are an attempt's process, as an agent's CLI is: below a supervisor."""
