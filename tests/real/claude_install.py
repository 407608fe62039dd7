"""The real Claude Code for the tests: installed from npm once, below `.tools`, and kept.

Owns the pinned version (`package.json` and its lock, next to this file) and the
place of the binary. Runs npm and never the binary itself. `make` may call it:

    python tests/real/claude_install.py

prints the folder that holds `claude` and nothing else, ready for PATH.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".tools"
PACKAGE = "@anthropic-ai/claude-code"
NPM_SECONDS = 600


class ClaudeUnavailable(Exception):
    """Claude Code cannot be had on this machine; the words say why."""


def pinned_version() -> str:
    """Return the version that the tests run."""
    manifest = json.loads((HERE / "package.json").read_text("utf-8"))
    return str(manifest["dependencies"][PACKAGE])


def platform_package() -> str:
    """Return the npm package that holds this platform's binary.

    Source: `optionalDependencies` of the package, 2.1.197. Its postinstall only
    links that binary to another name, so the scripts need not run at all.
    """
    return f"{PACKAGE}-{platform_build()}"


def platform_build() -> str:
    """Return how packages name a build for this platform: `linux-x64`. Raises ClaudeUnavailable."""
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise ClaudeUnavailable(f"no binary for {sys.platform} {platform.machine()}")
    libc = "" if platform.libc_ver()[0] == "glibc" else "-musl"
    return f"linux-{machine}{libc}"


def install(environ: Mapping[str, str], version: str | None = None, tools: Path = TOOLS) -> Path:
    """Return the folder that holds `claude` and nothing else, installing it where it is missing.

    The pinned version comes with its lock, any other without. Safe for several
    processes at once. Raises ClaudeUnavailable.
    """
    version = version or pinned_version()
    home = tools / f"claude-{version}"
    tools.mkdir(exist_ok=True)
    with alone(tools / "claude.lock"):
        if not (home / "bin" / "claude").exists():
            _install_into(home, version, environ)
    return home / "bin"


def _install_into(home: Path, version: str, environ: Mapping[str, str]) -> None:
    """Let npm fill a new folder, and give it its name once it is whole."""
    package = platform_package()
    new = home.with_name(f"{home.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    new.mkdir()
    if version == pinned_version():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, new)
        run_npm(new, environ, "ci")
    else:
        (new / "package.json").write_text("{}", encoding="utf-8")
        run_npm(new, environ, "install", f"{PACKAGE}@{version}")
    binary = Path("node_modules") / package / "claude"
    if not (new / binary).is_file():
        raise ClaudeUnavailable(f"npm brought no {binary}")
    (new / "bin").mkdir()
    (new / "bin" / "claude").symlink_to(Path("..") / binary)
    new.rename(home)


def run_npm(folder: Path, environ: Mapping[str, str], *command: str) -> None:
    """Run npm in a folder, without the packages' own scripts. Raises ClaudeUnavailable."""
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise ClaudeUnavailable("npm is not installed")
    argv = [npm, *command, "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClaudeUnavailable(f"npm took more than {NPM_SECONDS} s") from None
    if done.returncode != 0:
        raise ClaudeUnavailable(f"npm ended with {done.returncode}: {done.stderr.strip()[-500:]}")


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a lock, so that one process installs at a time."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(install(os.environ))
    except ClaudeUnavailable as missing:
        sys.exit(f"Claude Code cannot be installed: {missing}")
