"""Our finder finds each module of ours where Python does, and leaves all else to Python."""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from zipfile import ZipFile

import pytest

import sow
from sow.module_finder import ModuleFinder, install

ROOT = Path(sow.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def facts(spec: ModuleSpec | None) -> object:
    assert spec is not None
    inner = spec.submodule_search_locations
    where = spec.origin, spec.cached, spec.has_location, spec.parent
    return spec.name, where, inner and list(inner), type(spec.loader), vars(spec.loader)


def test_each_module_is_found_where_python_finds_it() -> None:
    names = {module_of(file): file for file in FILES}
    del names["sow"]
    for name, file in names.items():
        folder = file.parent.parent if file.name == "__init__.py" else file.parent
        path = [str(folder)]
        assert facts(ModuleFinder.find_spec(name, path)) == facts(PathFinder.find_spec(name, path))


@pytest.mark.parametrize("name", ["sow.no_such_module", "sown", "json", "worker.main", "sow"])
def test_what_is_none_of_ours_is_left_to_python(name: str) -> None:
    assert ModuleFinder.find_spec(name, [str(ROOT)]) is None


def test_modules_in_an_archive_are_left_to_python(tmp_path: Path) -> None:
    archive = tmp_path / "sow.zip"
    with ZipFile(archive, "w") as file:
        file.writestr("sow/paths.py", "")
    assert ModuleFinder.find_spec("sow.paths", [f"{archive}/sow"]) is None


def test_a_package_that_lies_in_no_folder_is_left_to_python() -> None:
    assert ModuleFinder.find_spec("sow.paths") is None
    assert ModuleFinder.find_spec("sow.paths", []) is None


def test_it_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    install()
    assert sys.meta_path == [ModuleFinder, PathFinder]
