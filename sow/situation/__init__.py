"""Where the project stands, what runs, what waits for whom, and what to do next."""
