"""A terminal on which sow was called, with a CLI on it that does what a test says."""

import os
import pty
import subprocess

from journeys.site import SOW, Site, wait_until

CLI = """#!/bin/sh
root=${SOW_ROOT:-$PWD}
trap 'echo interrupted >>"$root/cli.log"' INT
trap '' HUP
{
    echo "cwd $(pwd)"
    env | grep -e ^SOW_ -e ^CLAUDECODE
    for word in "$@"; do echo "word $word"; done
} >"$root/cli.told"
mv "$root/cli.told" "$root/cli.log"
until test -e "$root/cli.do"; do sleep 0.05; done
. "$root/cli.do"
"""
"""A CLI on a terminal: it says how it was started, and does what the test writes into `cli.do`."""


class Terminal:
    """A terminal on which sow was called; `words` are its command line."""

    def __init__(self, site: Site, *words: str, **env: str) -> None:
        self.site = site
        self.keyboard, screen = pty.openpty()
        programs = site.base / "terminal"
        programs.mkdir()
        (programs / "claude").write_text(CLI)
        (programs / "claude").chmod(0o755)
        path = f"{programs}:{site.env['PATH']}"
        self.process = subprocess.Popen(
            [str(SOW), *words],
            cwd=site.root,
            env=site.environment({"PATH": path, **env}),
            stdin=screen,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - no threads here
        )
        os.close(screen)
        site.started.append(self.process)
        wait_until((site.root / "cli.log").exists, "the CLI is on the terminal")

    @property
    def lines(self) -> list[str]:
        return (self.site.root / "cli.log").read_text().splitlines()

    @property
    def words(self) -> list[str]:
        return [line.removeprefix("word ") for line in self.lines if line.startswith("word ")]

    def do(self, script: str) -> None:
        """Have the CLI run a script and end."""
        (self.site.root / "cli.do.new").write_text(script)
        (self.site.root / "cli.do.new").rename(self.site.root / "cli.do")

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=240)
        return self.process.returncode, out, err


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
