"""The feature of documents: the library, and what reads for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.documents.ingest import Ingest
from bethink.documents.library import Library
from bethink.documents.passages import PassageLimits
from bethink.documents.reading import Extraction
from bethink.documents.reading.extraction import fault_of
from bethink.documents.records import COLLECTIONS, CONTENTS, DOCUMENTS, KIND, PAGES, PASSAGES, USES
from bethink.feature import BackgroundTask, Feature, OpenFeature, RecallKind
from bethink.sandbox.choice import Walls

if TYPE_CHECKING:
    from bethink.feature import Surroundings


@dataclass(frozen=True, slots=True)
class Documents:
    """What is kept, and what is read of it."""

    library: Library
    ingest: Ingest


def _open(at: Surroundings) -> OpenFeature:
    settings = at.settings
    walls = Walls(settings.code_sandbox, settings.data_dir, fault_of)
    library = Library(
        store=at.store,
        blobs=at.blobs.area("documents"),
        clock=at.clock,
        new_id=at.new_id,
        search_index=at.search,
        filter_for=at.filter_for,
        max_bytes=settings.documents_max_bytes,
        quota_bytes=settings.documents_quota_mb and settings.documents_quota_mb * 1_000_000,
    )
    ingest = Ingest(
        library=library,
        extraction=Extraction(settings.documents_timeout_s, settings.documents_memory_mb * 2**20, walls),
        embeddings=at.embeddings,
        index=at.index,
        bus=at.bus,
        limits=PassageLimits(),
        ask_vectors=at.ask_vectors,
    )

    async def take_up() -> None:
        """What an earlier process did not end."""
        library.added.set()

    return OpenFeature(
        service=Documents(library, ingest),
        recall=[RecallKind(name=KIND, resolve=library.recallables)],
        clean=library.sweep,
        tasks=[
            BackgroundTask(name="reading of documents", run=ingest.run),
            BackgroundTask(name="documents left unread", run=take_up, served=True),
        ],
    )


FEATURE = Feature(
    name="documents",
    open=_open,
    collections=(DOCUMENTS, USES, CONTENTS, PAGES, PASSAGES, COLLECTIONS),
    counted={"documents": ("document", DOCUMENTS)},
)
