"""Which embedding model a setting names. `ports` opens it; `fetch` builds its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings, LocalModel
from bethink.embeddings.minilm import MINILM

if TYPE_CHECKING:
    from bethink.settings import Settings

MODELS: Final[Mapping[str, LocalModel]] = {local.name: local for local in (MINILM, E5)}


def embeddings_of(settings: Settings) -> LocalEmbeddings:
    """The embedder that the settings name, or, where nobody chose, what is there until the default is."""
    return LocalEmbeddings(_model_of(settings), settings.models)


def next_model_of(settings: Settings) -> str:
    """The model that is used from the next start on if it is fetched until then; empty if none is."""
    return "" if _model_of(settings).name == settings.embedding_model else settings.embedding_model


def _model_of(settings: Settings) -> LocalModel:
    wanted = MODELS[settings.embedding_model]
    if "embedding_model" in settings.given.values or wanted.is_in(settings.models):
        return wanted
    return next((local for local in MODELS.values() if local.is_in(settings.models)), wanted)
