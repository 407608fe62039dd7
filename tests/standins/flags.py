"""A strict option parser with the real CLIs' messages (theirs is commander.js, measured)."""

FLAG, VALUE, OPTIONAL, MANY = "flag", "value", "optional", "many"


class RefusedError(Exception):
    """The command line is wrong: what the CLI prints on stderr."""


class Option:
    """One option: its names, how many values it takes, and which are allowed."""

    def __init__(self, names, kind=FLAG, choices=()):
        self.names = names.split()
        self.kind = kind
        self.choices = choices
        long = [name for name in self.names if name.startswith("--")]
        self.key = (long or self.names)[0].lstrip("-")
        placeholder = {VALUE: " <value>", OPTIONAL: " [value]", MANY: " <values...>"}
        self.shown = ", ".join(self.names) + placeholder.get(kind, "")


def parse(arguments, options):
    """Return ({key: value}, positionals), or raise RefusedError with the CLI's words."""
    by_name = {name: option for option in options for name in option.names}
    found, positionals, rest = {}, [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            positionals += rest
            break
        if not word.startswith("-") or word == "-":
            positionals.append(word)
            continue
        name, equals, inline = word.partition("=") if word.startswith("--") else (word, "", "")
        option = by_name.get(name)
        if option is None:
            raise RefusedError(f"error: unknown option '{name}'")
        if equals:
            rest.insert(0, inline)
        _take(option, found, rest, bool(equals))
    return found, positionals


def _take(option, found, rest, inline):
    if option.kind == FLAG:
        found[option.key] = True
        return
    values = []
    while rest and (inline or not rest[0].startswith("-")):
        values.append(rest.pop(0))
        inline = False
        if option.kind != MANY:
            break
    if not values and option.kind != OPTIONAL:
        raise RefusedError(f"error: option '{option.shown}' argument missing")
    for value in values:
        if option.choices and value not in option.choices:
            allowed = ", ".join(option.choices)
            raise RefusedError(
                f"error: option '{option.shown}' argument '{value}' is invalid."
                f" Allowed choices are {allowed}."
            )
    if option.kind == MANY:
        found.setdefault(option.key, []).extend(values)
    else:
        found[option.key] = values[0] if values else ""
