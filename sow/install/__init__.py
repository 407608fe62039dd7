"""What sow puts into the places of other programs, and takes away again: plugin, rules, texts.

Owns the plugin itself (`marketplace`, read in place by Claude Code), which settings it takes, and
the record of what was written where. Plans are values (`settings_plan`, `agents_block`); writing is
`documents`. Knows nothing of projects, tasks or the queue.
"""
