"""The colours of states, for eyes that look for what failed and what needs them.

Owns which words have one. Whether any is shown is `sow.cli.output`'s to know; a pipe
does not even import this.

These are the plain colours of the terminal's own palette, which its user has chosen to
be readable on its background: no bright ones, no background, nothing dim.
"""

RED, GREEN, YELLOW, CYAN = 31, 32, 33, 36

COLOURS = {
    "failed": RED,
    "error": RED,
    "completed": GREEN,
    "needs_review": YELLOW,
    "paused": YELLOW,
    "warning": YELLOW,
    "in_progress": CYAN,
    "running": CYAN,
}
"""What is not here is left plain: it has neither gone wrong, nor runs, nor needs anybody.

`done` is plain too: the job has ended, and the task's status says how well.
"""


def coloured(word: str, text: str | None = None) -> str:
    """Return a word in the colour of what it means; or, in that colour, another text."""
    text = word if text is None else text
    colour = COLOURS.get(word)
    return text if colour is None else f"\x1b[{colour}m{text}\x1b[0m"
