"""The fused int8 graph of multilingual-e5-small, from weights of 4 bits, and the files beside it.

Called by `fetch`. The weights come in one file: the tokenizer's pieces, the table of words and the matrices
in blocks of 32 values, which share one scale. The matrices become int8 with one scale for each output column;
the table stays as it is, since of its 250,037 rows a text needs a few, and is read from its file row by row.

Source: Wang et al. 2024 (Multilingual E5); its architecture is BERT's with the pieces of XLM-R (Conneau et
al. 2020); blocks of 4 bits: GGML's Q4_0; the tokenizer's file: sentencepiece_model.proto.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from bethink.embeddings.int8_graph import (
    FLOAT,
    INT8,
    Int8Builder,
    OnnxGraph,
    Value,
    tensor,
    write_field,
    write_integer,
    write_tag,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAYERS: Final = 12
HEADS: Final = 12
WIDTH: Final = 384
WIDE: Final = 1536
PIECES: Final = 250_002
ROWS: Final = 250_037
BLOCK: Final = 32
BLOCK_BYTES: Final = 18
"""A half-precision scale and 32 values of 4 bits: the first sixteen in the low halves of the bytes."""
_MAGIC: Final = b"E5S1"
_HEAD: Final = 8 + 7 * 4 + 4 + 4
"""Magic and version, seven sizes, the layer norm's epsilon, the size of a block."""
_CONTROL, _UNKNOWN, _NORMAL = 3, 2, 1  # SentencePiece.Type
_SPECIAL: Final = {0: _CONTROL, 1: _CONTROL, 2: _CONTROL, 3: _UNKNOWN, PIECES - 1: _CONTROL}
"""`<s>`, `<pad>`, `</s>`, `<unk>`, `<mask>`."""
_I32: Final = 5
_LARGEST: Final = 127


@dataclass(frozen=True, slots=True)
class Weights:
    """What the published file holds."""

    pieces: list[bytes]
    scores: NDArray[np.float32]
    parts: dict[str, memoryview]

    def floats(self, name: str) -> NDArray[np.float32]:
        """A part of full precision."""
        return np.frombuffer(self.parts[name], "<f4")

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """A matrix of 4 bits, float32 (columns, rows): inputs first, as it is multiplied with."""
        blocks = np.frombuffer(self.parts[name], np.uint8).reshape(rows, columns // BLOCK, BLOCK_BYTES)
        return values_of(blocks).reshape(rows, columns).T


def values_of(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The values of blocks (…, 18): float32 (…, 32)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    halves = blocks[..., 2:]
    values = np.concatenate([halves & 0x0F, halves >> 4], axis=-1).astype(np.float32)
    return (values - 8) * scales


def read_weights(file: bytes) -> Weights:
    """The parts of the published file.

    Raises:
        ValueError: the bytes are not such a file.
    """
    if not file.startswith(_MAGIC):
        raise ValueError("this is not a file of multilingual-e5-small")
    view, at = memoryview(file), _HEAD
    (count,) = struct.unpack_from("<i", file, at)
    (length,) = struct.unpack_from("<Q", file, at + 20)
    at += 28
    places = np.frombuffer(file, "<u4", count + 1, at)
    scores = np.frombuffer(file, "<f4", count, at + (count + 1) * 4)
    at += (2 * count + 1) * 4
    pieces = [bytes(view[at + begin : at + end]) for begin, end in pairwise(places)]
    # A table of how characters are normalised stands here; Unicode's NFKC says the same.
    (skipped,) = struct.unpack_from("<I", file, at + length + 4)
    return Weights(pieces, scores, _parts(view, at + length + 8 + skipped))


def _parts(view: memoryview, at: int) -> dict[str, memoryview]:
    parts: dict[str, memoryview] = {}
    (count,) = struct.unpack_from("<i", view, at)
    at += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", view, at)
        name = bytes(view[at + 2 : at + 2 + length]).decode()
        begin, size = struct.unpack_from("<QQ", view, at + 2 + length + 5)
        parts[name] = view[begin : begin + size]
        at += 2 + length + 21
    return parts


def tokenizer_file(weights: Weights) -> bytes:
    """The tokenizer's pieces as SentencePiece reads them; it leaves characters as they are."""
    pieces = [
        write_field(
            1,
            write_field(1, piece)
            + write_tag(2, _I32)
            + struct.pack("<f", score)
            + write_integer(3, _SPECIAL.get(place, _NORMAL)),
        )
        for place, (piece, score) in enumerate(zip(weights.pieces, weights.scores, strict=True))
    ]
    ids = write_integer(40, 3) + write_integer(41, 0) + write_integer(42, 2) + write_integer(43, 1)
    trainer = write_field(2, write_integer(3, 1) + write_integer(4, len(pieces)) + ids)
    normalizer = write_field(
        3, write_field(1, b"identity") + write_integer(3, 1) + write_integer(4, 1) + write_integer(5, 1)
    )
    return b"".join([*pieces, trainer, normalizer])


def positions(weights: Weights) -> bytes:
    """What is added to the words by their place, float32 (512, 384)."""
    table = weights.floats("emb.pos").reshape(-1, WIDTH) + weights.floats("emb.type")[:WIDTH]
    return table.astype("<f4").tobytes()


def e5_graph(weights: Weights) -> OnnxGraph:
    """Words with their places `rows`, float32 (texts, tokens, 384) -> the last layer, of the same shape.

    All texts of a batch have the same number of tokens, so there is no padding and no mask.
    """
    return _Builder(weights).graph()


class _Builder(Int8Builder):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self._weights = weights

    def graph(self) -> OnnxGraph:
        """The whole model."""
        self.begin()
        hidden = self._norm("rows", "emb.ln", "hidden")
        for layer in range(LAYERS):
            hidden = self._transform(layer, self._attend(layer, hidden))
        shape = ("texts", "tokens", WIDTH)
        return self.built(
            "multilingual-e5-small-int8", Value("rows", FLOAT, shape), Value(hidden, FLOAT, shape)
        )

    def _attend(self, layer: int, hidden: str) -> str:
        name = f"layer{layer}"
        self._matrix(f"{name}.qkv", [f"l{layer}.{part}" for part in "qkv"], (WIDTH, WIDTH))
        self._matrix(f"{name}.mix", [f"l{layer}.ao"], (WIDTH, WIDTH))
        sizes = self.node("Abs", [hidden], f"{name}.qkv.sizes")
        qkv = self.multiply_by_token(hidden, f"{name}.qkv", sizes=sizes, scale="signed")
        seen = self.attention(qkv, name, heads=HEADS)
        sizes = self.node("Abs", [seen], f"{name}.mix.sizes")
        mixed = self.multiply_by_token(seen, f"{name}.mix", sizes=sizes, scale="signed")
        total = self.node("Add", [mixed, hidden], f"{name}.attended.sum")
        return self._norm(total, f"l{layer}.aln", f"{name}.attended")

    def _transform(self, layer: int, hidden: str) -> str:
        name = f"layer{layer}"
        self._matrix(f"{name}.wide", [f"l{layer}.fi"], (WIDE, WIDTH))
        self._matrix(f"{name}.narrow", [f"l{layer}.fo"], (WIDTH, WIDE))
        return self._norm(self.widen_and_narrow(hidden, name), f"l{layer}.oln", f"{name}.hidden")

    def _norm(self, rows: str, part: str, name: str) -> str:
        gain, bias = (tensor(self._weights.floats(f"{part}.{end}"), FLOAT) for end in "wb")
        return self.norm(rows, name, gain=gain, bias=bias)

    def _matrix(self, name: str, parts: list[str], shape: tuple[int, int]) -> None:
        """The matrices of `parts` side by side in int8, with a scale for each column, and their biases."""
        matrix = np.concatenate([self._weights.matrix(f"{part}.w", *shape) for part in parts], axis=1)
        scale = np.abs(matrix).max(axis=0) / np.float32(_LARGEST)
        self.constant(name, tensor(np.rint(matrix / scale).clip(-_LARGEST, _LARGEST), INT8))
        self.constant(f"{name}.scale", tensor(scale, FLOAT))
        bias = np.concatenate([self._weights.floats(f"{part}.b") for part in parts])
        self.constant(f"{name}.bias", tensor(bias, FLOAT))
