"""Which tools an agent may use, by the rules that were measured with the real Claude Code.

A shell command line is allowed when every simple command in it is: by an allow
rule, by being read-only, or (acceptEdits) by editing files below the folder.
Substitutions, leading assignments and absolute program paths are refused.
"""

import os
import re

READ_ONLY = {"ls", "cat", "head", "tail", "grep", "pwd", "echo", "wc", "true", "cd", "sort", "find"}
READ_ONLY_GIT = {"status", "log", "diff", "show", "branch"}
EDITS = {"touch", "mkdir", "rm", "rmdir", "mv", "cp", "sed"}
SEPARATORS = ("&&", "||", ";", "|", "\n", "&")
RULE = re.compile(r"Bash\((.*)\)\Z", re.DOTALL)


class Permissions:
    """The rules of one run."""

    def __init__(self, *, bypass=False, mode="default", allowed=()):
        self.bypass = bypass or mode == "bypassPermissions"
        self.edits = mode == "acceptEdits"
        self.tools = {rule for rule in allowed if "(" not in rule}
        self.shell = [match.group(1) for match in map(RULE.match, allowed) if match]

    def allows_write(self, path):
        """Whether a file may be written."""
        if self.bypass or self.tools & {"Write", "Edit"}:
            return True
        return self.edits and _inside(path)

    def allows_shell(self, command):
        """Whether a command line may run."""
        if self.bypass or "Bash" in self.tools:
            return True
        if command in self.shell:
            return True
        parts = split_commands(command)
        return parts is not None and all(self._allows_simple(part) for part in parts)

    def _allows_simple(self, part):
        words = part.split()
        if not words or re.match(r"\w+=", words[0]):
            return not words
        if any(_matches(rule, part) for rule in self.shell):
            return True
        if words[0] == "git":
            return len(words) > 1 and words[1] in READ_ONLY_GIT
        paths = [word for word in words[1:] if not word.startswith("-")]
        if words[0] in READ_ONLY:
            return words[0] == "echo" or all(_inside(path) for path in paths)
        return self.edits and words[0] in EDITS and all(_inside(path) for path in paths)


def split_commands(line):
    """The simple commands of a line, or None where it cannot be judged (substitutions)."""
    parts, current, quote, index = [], "", "", 0
    while index < len(line):
        char = line[index]
        if quote != "'" and (char == "`" or line.startswith("$(", index)):
            return None
        if char == "\\" and quote != "'":
            current += line[index : index + 2]
            index += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            separator = next((s for s in SEPARATORS if line.startswith(s, index)), "")
            if separator and not (separator == "&" and ">" in line[index - 1 : index + 2]):
                parts.append(current.strip())
                current = ""
                index += len(separator)
                continue
        current += char
        index += 1
    return [part for part in [*parts, current.strip()] if part]


def _matches(rule, part):
    for ending in (":*", " *"):
        if rule.endswith(ending):
            prefix = rule[: -len(ending)]
            return part == prefix or part.startswith(prefix + " ")
    return part == rule


def _inside(path):
    folder = os.path.realpath(os.getcwd())
    whole = os.path.realpath(os.path.join(folder, path.strip("'\"")))
    return whole == folder or whole.startswith(folder + os.sep)
