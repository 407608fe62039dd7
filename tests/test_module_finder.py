"""Our finder finds each module of ours where Python does, and leaves all else to Python."""

import marshal
import os
import shutil
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import cache_from_source, module_from_spec
from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as compile_file
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
    assert isinstance(spec.loader, SourceFileLoader)
    return spec.name, where, inner and list(inner), spec.loader.name, spec.loader.path


def test_each_module_is_found_where_python_finds_it() -> None:
    names = {module_of(file): file for file in FILES}
    del names["sow"]
    for name, file in names.items():
        folder = file.parent.parent if file.name == "__init__.py" else file.parent
        path = [str(folder)]
        assert facts(ModuleFinder.find_spec(name, path)) == facts(PathFinder.find_spec(name, path))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the source of a module of ours whose compiled file Python has written."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    source = tmp_path / "made.py"
    source.write_text("def f():\n    return 1\n")
    assert value_in(source) == 1
    assert compiled_of(source).exists()
    return source


def compiled_of(source: Path) -> Path:
    return Path(cache_from_source(str(source)))


def value_in(source: Path) -> object:
    """Return what the module says when it is found and loaded anew."""
    spec = ModuleFinder.find_spec("sow.made", [str(source.parent)])
    assert spec is not None
    module = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert module.f.__code__.co_filename == str(source)
    return module.f()


def test_a_compiled_file_of_its_source_is_read_at_once(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(SourceFileLoader, "path_stats")
    assert value_in(made) == 1


def test_a_changed_source_counts_and_not_what_was_compiled_of_it(made: Path) -> None:
    made.write_text("def f():\n    return 22\n")
    assert value_in(made) == 22
    facts = made.stat()
    made.write_text("def f():\n    return 33\n")
    os.utime(made, ns=(facts.st_atime_ns, facts.st_mtime_ns + 2_000_000_000))
    assert value_in(made) == 33


@pytest.mark.parametrize("kept", [0, 8, 16, 30])
def test_a_compiled_file_that_is_cut_off_is_left_to_python(made: Path, kept: int) -> None:
    compiled = compiled_of(made)
    compiled.write_bytes(compiled.read_bytes()[:kept])
    if kept < 16:
        assert value_in(made) == 1
    else:
        with pytest.raises(EOFError):
            value_in(made)


def test_a_compiled_file_without_code_is_left_to_python(made: Path) -> None:
    compiled = compiled_of(made)
    compiled.write_bytes(compiled.read_bytes()[:16] + marshal.dumps(None))
    with pytest.raises(ImportError, match="Non-code object"):
        value_in(made)


def test_a_compiled_file_that_goes_by_its_source_s_digest_is_left_to_python(made: Path) -> None:
    compile_file(str(made), doraise=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    assert value_in(made) == 1
    made.write_text("def f():\n    return 2\n")
    assert value_in(made) == 2


def test_a_compiled_file_moved_elsewhere_has_its_source_s_name(made: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    shutil.copytree(made.parent / "__pycache__", there / "__pycache__")
    shutil.copy2(made, there / made.name)
    assert value_in(there / made.name) == 1


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
