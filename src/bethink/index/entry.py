"""An index item as adapters keep it. Every adapter of the port makes these; `shard` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bethink.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import IndexItem
    from bethink.index.analysis import Analyzer


class Entry(NamedTuple):
    """What a shard needs of an item.

    `terms` are joined by spaces; `vector` is little-endian float32, and `model`
    the `model_key` of what made it: both None or neither.
    """

    id: str
    kind: str
    at: int
    conversation: str | None
    project: str | None
    speaker: str | None
    terms: str
    model: str | None
    vector: bytes | None


def entry_of(id: str, item: IndexItem, analyzer: Analyzer) -> Entry:
    """The entry of an item.

    Raises:
        BadInput: the text holds a lone surrogate.
        ValueError: the vector is not one of its model.
    """
    check_text(item.text)
    vector = None if item.vector is None else vector_bytes(item.vector, item.model)
    return Entry(
        id,
        item.kind,
        item.at,
        item.conversation,
        item.project,
        item.speaker,
        " ".join(analyzer.document(item.text)),
        None if vector is None or item.model is None else model_key(item.model),
        vector,
    )


def check_text(text: str) -> None:
    """Refuse what no database keeps as text.

    Raises:
        BadInput: it holds a lone surrogate.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadInput(
                "A text holds half of a character (a lone surrogate); remove or replace it."
            ) from error


def vector_of(body: bytes) -> NDArray[np.float32]:
    """The vector of `vector_bytes`."""
    import numpy as np  # heavy: whoever asks for vectors works with them

    return np.frombuffer(body, "<f4")


def model_key(model: EmbeddingModel) -> str:
    """One text per model: vectors compare only where these are equal."""
    return f"{model.id}|{model.tokenizer}|{model.dimensions}"


def vector_bytes(vector: NDArray[np.float32], model: EmbeddingModel | None) -> bytes:
    """The vector as it is kept.

    Raises:
        ValueError: it is not float32 of the model's length, or has no model.
    """
    if model is None or vector.dtype.str != "<f4" or vector.shape != (model.dimensions,):
        raise ValueError(f"a vector {vector.dtype} {vector.shape} is not one of {model}")
    return vector.tobytes()
