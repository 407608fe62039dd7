"""All references linked that are missing on this machine: `sow refs init`, and `sow init`."""

import time
from collections.abc import Iterator

from sow.cli.refs_words import updated_view, updated_words
from sow.errors import SowError
from sow.paths import Workspace
from sow.refs.index import read_index
from sow.refs.updating import Updated, restore_reference
from sow.schema.output.references import ReferenceFailed, ReferenceUpdated
from sow.schema.references import Reference


def restore(workspace: Workspace, reference: Reference) -> Updated:
    """Link a reference that is missing here. Raises as `restore_reference`."""
    return restore_reference(workspace, reference, now=time.time())


def restored(workspace: Workspace) -> Iterator[tuple[str, ReferenceUpdated | ReferenceFailed]]:
    """Link all that is missing, and yield what has become of each, in words and for programs."""
    for reference in read_index(workspace).references:
        try:
            done = restore(workspace, reference)
        except SowError as error:
            failed = failed_view(reference, error)
            yield f"{reference.id}: {error.message} (then: sow refs init)", failed
        else:
            yield updated_words(done, is_asked=False), updated_view(done)


def failed_view(reference: Reference, error: SowError) -> ReferenceFailed:
    """Return a reference that could not be brought, for programs."""
    return ReferenceFailed(
        reference=reference.id, source=reference.source, message=error.message, hint=error.hint
    )
