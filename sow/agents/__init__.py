"""The roles that agents play: plain data, and the template that begins each role's prompt."""
