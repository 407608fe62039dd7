"""HTML as values, and the one door through which texts get into it.

A text is a `str` and is escaped; what is `Markup` was made here and is not. So nothing that an
agent, a task or a file says can become an element, an attribute, or a reference to elsewhere.
Attributes are written by us alone, their values by anybody.
"""

import re
from collections.abc import Iterable

from sow.terminal_text import CONTROL, DIRECTION, without_sequences

HIDDEN = re.compile(f"{CONTROL}|{DIRECTION}|[\ufeff\ufff9-\ufffb\u061c\u00ad\u200b\ufffe\uffff]")
"""What nobody can see, and what would turn the direction of the text around it."""
VOID = frozenset({"meta", "link", "br"})


class Markup:
    """A piece of HTML that was made here."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


Content = Markup | str | int | None


def escaped(text: str) -> str:
    """Return a text as it can stand in an element or an attribute, visible as far as it can be."""
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    plain = HIDDEN.sub("\ufffd", without_sequences(whole).replace("\r\n", "\n"))
    for letter, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#39")):
        plain = plain.replace(letter, f"&{name};")
    return plain


def tag(name: str, /, *children: Content, **attributes: str | float | bool | None) -> Markup:
    """Return an element. `class_` is `class`; a dash is written `_`; None leaves one out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(attribute)
        else:
            shown = f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            words.append(f'{attribute}="{escaped(str(shown))}"')
    opening = f"<{' '.join(words)}>"
    if name in VOID:
        return Markup(opening)
    return Markup(f"{opening}{joined(children).text}</{name}>")


def joined(parts: Iterable[Content]) -> Markup:
    """Return several pieces as one."""
    return Markup(
        "".join(
            part.text if isinstance(part, Markup) else escaped(str(part))
            for part in parts
            if part is not None
        )
    )
