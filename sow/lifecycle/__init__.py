"""Project types: their states, events and guards as tables, and pure functions upon them."""
