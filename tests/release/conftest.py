"""The wheel and the sdist of this tree, built once, and sow as the wheel installs it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from repository.markdown import REPOSITORY

SECONDS = 600
AT = {"SOURCE_DATE_EPOCH": "1767225600"}
"""What `make dist` takes from the commit."""
BUILD = (sys.executable, "-P", "-m", "hatchling", "build")


class Built(NamedTuple):
    """What a build has made."""

    wheel: Path
    sdist: Path


def run(*argv: object, cwd: Path, **env: str) -> str:
    """Run a program and return what it prints."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


def build(tree: Path, target: Path, **env: str) -> Built:
    """Build both from a tree, without the network: what a build needs is among our tools."""
    run(*BUILD, "-d", target, cwd=tree, **env)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Built(wheel, sdist)


def build_wheel(tree: Path, target: Path) -> Path:
    """Build the wheel alone."""
    run(*BUILD, "-t", "wheel", "-d", target, cwd=tree)
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(REPOSITORY, tmp_path_factory.mktemp("dist"), **AT)


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the folder of programs where the wheel, and nothing else of ours, is installed.

    What sow depends on it borrows from the environment of the tests: `.ci/run` has it fetched.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", built.wheel, cwd=folder)
    packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    )
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(packages.strip(), "borrowed.pth").write_text("\n".join(borrowed))
    yield folder / "bin"
    shutil.rmtree(folder)
