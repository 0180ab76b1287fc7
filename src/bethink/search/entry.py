"""An index item as adapters keep it. Every adapter of the port makes these; `shard` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import IndexItem
    from bethink.search.analysis import Analyzer

SCALE: Final = 32_767
"""A component of a vector, -1..1, is kept as a whole number of 1/`SCALE`: half the bytes of a float32,
and a cosine moves by some hundred-thousandths."""

VECTOR_BYTES: Final = 2
"""Of each component as it is kept."""


class Names(NamedTuple):
    """Whose and of what an item is, and when it held."""

    conversation: str | None = None
    project: str | None = None
    speaker: str | None = None
    held_from: int | None = None
    held_until: int | None = None


class Entry(NamedTuple):
    """What a shard needs of an item.

    `terms` are the digests of its words, in reading order (`Analyzer.digests`);
    `vector` is `quantized`, and `model` the `model_key` of what made it: both
    empty or neither.
    """

    id: str
    kind: str
    at: int
    names: Names
    terms: bytes
    model: str | None
    vector: bytes


class Entries(NamedTuple):
    """Entries, field by field: so they are read from rows and added to arrays most quickly."""

    ids: Sequence[str]
    kinds: Sequence[str]
    at: Sequence[int]
    names: Sequence[Names]
    terms: Sequence[bytes]
    models: Sequence[str | None]
    vectors: Sequence[bytes]


def entry_of(id: str, item: IndexItem, analyzer: Analyzer) -> Entry:
    """The entry of an item.

    Raises:
        BadInput: the text holds a lone surrogate.
        ValueError: the vector is not one of its model.
    """
    check_text(item.text)
    vector = b"" if item.vector is None else vector_bytes(item.vector, item.model)
    return Entry(
        id,
        item.kind,
        item.at,
        Names(item.conversation, item.project, item.speaker, item.held_from, item.held_until),
        analyzer.document_digests(item.text),
        None if not vector or item.model is None else model_key(item.model),
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

    vector = np.frombuffer(body, "<i2").astype(np.float32)
    vector /= SCALE
    return vector


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
    return quantized(vector)


def quantized(vector: NDArray[np.float32]) -> bytes:
    """Each component, -1..1, as a little-endian 16-bit integer."""
    return (vector * SCALE).round().astype("<i2").tobytes()
