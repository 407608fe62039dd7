"""What agents are told: the prompt that starts a run, and the guidance they load themselves."""
