"""The seeds' windsurf: prompt on standard input, words on standard output, no sessions."""

import record
from conversation import Conversation, complain, read_stdin, write
from permissions import Permissions


def main(_arguments):
    """Run one command line; any argument is taken, since its command line is not known."""
    prompt = read_stdin()
    if not prompt.strip():
        complain("windsurf: no prompt on standard input")
        record.append("refused", cli="windsurf", argv=_arguments, reason="no prompt")
        return 1
    from performance import perform

    return perform(
        WindsurfConversation(
            verb="spawn",
            session_id=None,
            prompt=prompt,
            transcript=None,
            permissions=Permissions(bypass=True),
            events=False,
        )
    )


class WindsurfConversation(Conversation):
    """Speaks plain lines."""

    cli = "windsurf"

    def begin(self):
        """Say nothing: there is no session to announce."""

    def say(self, text):
        """One line."""
        self.last_text = text
        write(text.encode(errors="surrogateescape") + b"\n")

    def tool_started(self, _call, tool, _arguments):
        """Show the tool's name."""
        self.say(f"> {tool}")

    def tool_ended(self, _call, output, *, is_error):
        """Show nothing."""

    def tool_denied(self, call, tool, _arguments):
        """Show the refusal."""
        self.denials.append({"tool_name": tool, "tool_use_id": call})
        self.say(f"denied: {tool}")

    def api_retry(self, status):
        """Show the status."""
        self.say(f"request failed ({status}), trying again")

    def rate_limit(self, resets_at):
        """Show the reset time."""
        self.say(f"rate limited until {resets_at}")

    def api_failure(self, status):
        """Complain on stderr."""
        complain(f"windsurf: request failed ({status})")
        return 1

    def not_logged_in(self):
        """Complain on stderr."""
        complain("windsurf: not logged in")
        return 1

    def finish(self, text, **_facts):
        """The last line."""
        write(text.encode(errors="surrogateescape") + b"\n")
