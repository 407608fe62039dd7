"""What a project that ends leaves for the index: itself, and the documents that it has listed.

Owns which entries that are. They are written before the project's folder moves: an end that is
cut short there is carried out again, and writes the same files.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import UNSET

from sow.files import LeadsOut, NotAFile, NotWritten, read_regular, remove_file
from sow.knowledge.index import Filed, write_entry
from sow.knowledge.texts import HEAD_LIMIT, heading_of, shortened, summary_of
from sow.lifecycle.stages import ProjectType
from sow.paths import Workspace
from sow.schema.knowledge import PATH_PATTERN, FromProject, KnowledgeEntry
from sow.schema.project import Artifact, Ending, EndingWord, Project
from sow.state.artifacts import LARGEST, Side, listed
from sow.state.units import slug_of

PROJECT = "project"
"""The kind of a finished standard project; any other is of the kind of its type."""
DRAFTS = ".sow/project/"
LONGEST_TITLE = 200


def fill_index(
    workspace: Workspace, project: Project, ending: Ending, archive: Path | None
) -> list[Path]:
    """Write the entries of a project that is about to move into the archive; return the new files.

    Without an archive there are those of the documents that stay. Raises NotWritten; then none of
    the new files is left.
    """
    new: list[Path] = []
    try:
        for filed in entries_of(workspace, project, ending, archive):
            path = workspace.knowledge_index / f"{filed.id}.yaml"
            is_new = not path.exists()
            write_entry(workspace, filed)
            if is_new:
                new.append(path)
    except (OSError, NotWritten, LeadsOut) as error:
        take_back(new)
        if not isinstance(error, OSError):
            raise
        raise NotWritten(workspace.knowledge_index, error) from error
    return new


def take_back(new: list[Path]) -> None:
    """Remove entries of an end that did not come about."""
    for path in new:
        with suppress(OSError):
            remove_file(path)


def entries_of(
    workspace: Workspace, project: Project, ending: Ending, archive: Path | None
) -> Iterator[Filed]:
    """Yield the entries of a project: itself first, then the documents of a finished one."""
    folder = None if archive is None else archive.relative_to(workspace.root).as_posix()
    source = FromProject(id=project.id, name=project.name, type=project.kind, ended=ending.how)
    if folder is not None:
        yield project_entry(project, ending, folder)
    if ending.how is not EndingWord.FINISHED:
        return
    taken: set[str] = set()
    for artifact in listed(project, Side.OUTPUT):
        path = _kept_path(artifact.path, folder)
        if path is None or not re.match(PATH_PATTERN, path):
            continue
        stem = slug_of(PurePosixPath(path).stem)
        name = _free(f"{artifact.type[:40]}-{stem}-{project.id[:8]}", taken)
        document = _document(workspace, artifact, path, ending, source)
        if document is not None:
            yield Filed(name, document)


def project_entry(project: Project, ending: Ending, folder: str) -> Filed:
    """Return the entry of a project in the archive."""
    described = project.description if isinstance(project.description, str) else ""
    is_plain = project.kind in (ProjectType.STANDARD, ProjectType.QUICK)
    kind = PROJECT if is_plain else project.kind.value
    entry = KnowledgeEntry(
        kind=kind,
        title=shortened(project.name, LONGEST_TITLE) or project.id,
        path=folder,
        summary=summary_of(described),
        at=ending.at,
        project=FromProject(id=project.id, name=project.name, type=project.kind, ended=ending.how),
    )
    return Filed(f"{PROJECT}-{slug_of(project.name)}-{project.id[:8]}", entry)


def _document(
    workspace: Workspace, artifact: Artifact, path: str, ending: Ending, source: FromProject
) -> KnowledgeEntry | None:
    """Return the entry of a listed document; None where the file is gone, or none."""
    try:
        data = read_regular(workspace.root / artifact.path, LARGEST)
    except (FileNotFoundError, NotAFile):
        return None
    text = data[:HEAD_LIMIT].decode("utf-8", "replace")
    approved = artifact.approved
    holds = approved is not UNSET and _is_of(approved.content, data)
    return KnowledgeEntry(
        kind=artifact.type[:64],
        title=shortened(heading_of(text) or PurePosixPath(path).stem, LONGEST_TITLE),
        path=path,
        summary=summary_of(text),
        at=ending.at,
        project=source,
        approved_by=approved.by if approved is not UNSET and holds else UNSET,
    )


def _is_of(content: str, data: bytes) -> bool:
    from hashlib import sha256  # it loads OpenSSL, and few documents are approved

    return sha256(data).hexdigest() == content


def _kept_path(path: str, folder: str | None) -> str | None:
    """Return where a listed file lies once the project has ended; None where it goes away."""
    if not path.startswith(DRAFTS):
        return path
    return None if folder is None else f"{folder}/{path.removeprefix(DRAFTS)}"


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found
