"""A virtual machine with a kernel of its own that runs this machine's programs.

Owns how qemu is called and what the machine is given: Debian's kernel (`debian_kernel`), the file
system of the machine that runs it, read-only and with what is written kept in memory, and one
folder that both see (`/run/share`). It has no network. qemu computes everything itself (TCG), and
all takes some ten times as long: a KVM inside of a machine of others may begin and then fail.

What runs inside are the scripts beside this file: `init` first, then the one that is named.
"""

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from machine.debian_kernel import ENVIRON, Kernel, KernelUnavailable, debian_kernel
from machine.first_files import archive

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
QEMU, BUSYBOX = "qemu-system-x86_64", "/bin/busybox"
PACKAGES = {QEMU: "qemu-system-x86", BUSYBOX: "busybox-static"}
FOLDERS = ("bin", "dev", "proc", "sys", "modules", "lower", "memory", "root")
MEMORY_MB = 2048
MINUTES = 40
TIMED_OUT = 124
"""What timeout(1) ends with."""


class MachineUnavailable(Exception):
    """There can be no such machine here; the words say why."""


@dataclass(frozen=True)
class Machine:
    """What is needed to start it."""

    kernel: Kernel

    def run(self, script: str, folder: Path) -> Path:
        """Boot it, run a script to its end, and return the folder that both have seen.

        `folder` is for the machine's own files, and empty.
        """
        share = folder / "share"
        share.mkdir()
        share.chmod(0o755)  # its ordinary user reads there
        for path in HERE.glob("*.sh"):
            shutil.copy(path, share)
        (share / "settings").write_text(_settings())
        (folder / "first-files").write_bytes(archive(FOLDERS, self._files()))
        done = subprocess.run(
            self._command(script, folder), capture_output=True, text=True, check=False
        )
        late = f" after {MINUTES} minutes" if done.returncode == TIMED_OUT else ""
        assert (share / "ended").exists(), (
            f"qemu ended with {done.returncode}{late}: {done.stderr}\n{console(folder)}"
        )
        return share

    def _files(self) -> dict[str, Path]:
        files = {"init": HERE / "init", "bin/busybox": Path(BUSYBOX)}
        numbered = enumerate(self.kernel.modules, 10)
        return {**files, **{f"modules/{number}-{path.name}": path for number, path in numbered}}

    def _command(self, script: str, folder: Path) -> list[str]:
        """Return the command; timeout(1) ends the machine even if we were killed."""
        # On a busy host the emulated timer ticks too late for the kernel's check of it.
        words = f"console=ttyS0 quiet no_timer_check panic=-1 rdinit=/init -- {script}"
        return [
            *("timeout", "--kill-after=10", f"{MINUTES}m", QEMU),
            *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB)),
            *("-kernel", str(self.kernel.image), "-initrd", str(folder / "first-files")),
            *("-append", words, "-serial", f"file:{folder / 'console'}"),
            *_shared("system", Path("/"), "readonly=on", "multidevs=remap"),
            *_shared("share", folder / "share"),
        ]


def machine_here() -> Machine:
    """Return the machine. Raises MachineUnavailable."""
    for program, package in PACKAGES.items():
        if shutil.which(program, path=ENVIRON.get("PATH")) is None:
            raise MachineUnavailable(f"{program} is missing (Debian: {package})")
    try:
        return Machine(debian_kernel())
    except KernelUnavailable as missing:
        raise MachineUnavailable(f"no kernel: {missing}") from missing


def console(folder: Path) -> str:
    """Return the end of what the machine has printed."""
    path = folder / "console"
    return path.read_text("utf-8", "replace")[-4000:] if path.exists() else "it printed nothing"


def _shared(name: str, folder: Path, *options: str) -> tuple[str, ...]:
    """Return options that show the machine a folder by 9p."""
    path = str(folder).replace(",", ",,")
    given = ",".join((f"local,id={name},path={path},security_model=none", *options))
    return ("-fsdev", given, "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}")


def _settings() -> str:
    """Return what the scripts know of this machine, as assignments of a shell."""
    settings = {
        "CHECKOUT": str(CHECKOUT),
        "PYTHON": sys.executable,
        "PYTHON_HOME": sys.base_prefix,
        "SEARCH": ENVIRON.get("PATH", "/usr/bin:/bin"),
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())
