"""Which embedding model a setting names. `ports` opens it; `fetch` builds its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings
from bethink.embeddings.minilm import MINILM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.embeddings.local import LocalModel
    from bethink.settings import Settings

MODELS: Final[Mapping[str, LocalModel]] = {local.name: local for local in (MINILM, E5)}


def embeddings_of(settings: Settings) -> LocalEmbeddings:
    """The embedder that the settings name."""
    return LocalEmbeddings(MODELS[settings.embedding_model], settings.models)
