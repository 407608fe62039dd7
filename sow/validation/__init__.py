"""Whether `.sow` holds together: what is wrong with it, and what of that has one right answer."""
