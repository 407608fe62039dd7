"""Debian's kernel for a virtual machine: fetched by apt once, unpacked below `.tools`, and kept.

Owns which package that is and what of it is needed. Nothing is installed: `apt-get download` needs
no root, and only the kernel and a few of its modules are taken out of the package. It has to be the
usual kernel: the one for clouds (`linux-image-cloud-amd64`, 6.1) has no 9p.
"""

import lzma
import os
import platform
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from real.claude_install import alone

TOOLS = Path(__file__).parents[2] / ".tools"
ENVIRON = dict(os.environ)
"""Read before a test's own begins: it may name a proxy for apt."""
METAPACKAGE = "linux-image-amd64"
KEPT = ("drivers/virtio", "net/9p", "fs/9p", "fs/netfs", "fs/fscache", "fs/overlayfs")
"""The folders of modules that are kept. What is not a module is built in."""
LOADED = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")
"""What a module says that it needs (modinfo(8)); the package comes without depmod's list."""


class KernelUnavailable(Exception):
    """No kernel can be had on this machine; the words say why."""


@dataclass(frozen=True)
class Kernel:
    """A kernel, and the modules that the machine loads, in this order."""

    version: str
    image: Path
    modules: Sequence[Path]


def debian_kernel(tools: Path = TOOLS) -> Kernel:
    """Return the kernel that is kept, after fetching it where there is none.

    Safe for several processes at once. Raises KernelUnavailable.
    """
    if platform.machine() != "x86_64":
        raise KernelUnavailable(f"the machine is made for x86_64, and this is {platform.machine()}")
    tools.mkdir(exist_ok=True)
    folder = tools / "kernel"
    with alone(tools / "kernel.lock"):
        if not folder.exists():
            _fetch_into(folder)
    (image,) = folder.glob("vmlinuz-*")
    by_name = {_name_of(path): path for path in folder.glob("*.ko")}
    return Kernel(image.name.removeprefix("vmlinuz-"), image, in_order(by_name, LOADED))


def in_order(modules: Mapping[str, Path], wanted: Iterable[str]) -> Sequence[Path]:
    """Return modules by their names, each after those that it needs."""
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        if name not in modules or name in found:
            return
        depends = DEPENDS.search(modules[name].read_bytes())
        for needed in depends[1].decode().split(",") if depends else ():
            add(needed)
        found[name] = modules[name]

    for name in wanted:
        add(name)
    return [*found.values()]


def _fetch_into(folder: Path) -> None:
    """Download the package, and give what is kept of it its name once it is whole."""
    new = folder.with_name("kernel.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    _run(new, "apt-get", "download", _package())
    (package,) = new.glob("*.deb")
    _unpack(package, new)
    package.unlink()
    new.rename(folder)


def _package() -> str:
    """Return the package that has the newest kernel that apt knows."""
    shown = _run(Path("/"), "apt-cache", "show", "--no-all-versions", METAPACKAGE)
    found = re.search(r"^Depends:.*?\b(linux-image-[\w.+-]+)", shown, re.MULTILINE)
    if found is None:
        raise KernelUnavailable(f"apt knows no {METAPACKAGE}: it is no Debian, or has no lists")
    return found[1]


def _unpack(package: Path, folder: Path) -> None:
    """Put a package's kernel and the modules that are kept into a folder, without their folders."""
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                content = archive.extractfile(member) if _is_kept(path) else None
                if content is not None:
                    _put(folder, path.name, content.read())
    if process.returncode or not any(folder.glob("vmlinuz-*")):
        raise KernelUnavailable(f"{package.name} cannot be unpacked, or holds no kernel")


def _is_kept(path: PurePosixPath) -> bool:
    if path.suffix in (".ko", ".xz"):
        return any(f"/kernel/{part}/" in str(path) for part in KEPT)
    return path.parent.name == "boot" and path.name.startswith("vmlinuz-")


def _put(folder: Path, name: str, content: bytes) -> None:
    if name.endswith(".xz"):  # since Debian 13
        name, content = name.removesuffix(".xz"), lzma.decompress(content)
    (folder / name).write_bytes(content)


def _name_of(path: Path) -> str:
    """Return a module's name as the kernel writes it."""
    return path.stem.replace("-", "_")


def _run(folder: Path, *words: str) -> str:
    """Run a program and return what it prints. Raises KernelUnavailable."""
    try:
        done = subprocess.run(
            words, cwd=folder, env=ENVIRON, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise KernelUnavailable(f"{words[0]} is not installed") from None
    if done.returncode:
        raise KernelUnavailable(f"`{' '.join(words)}` failed: {done.stderr.strip()[-500:]}")
    return done.stdout
