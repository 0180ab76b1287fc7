"""The fused int8 graph of all-MiniLM-L6-v2, from the weights of a published export.

Called by `fetch`. The export stores int8 weights (one scale for each output column, one for each row of the
word table) but computes in float32; this graph takes the same bytes and multiplies in int8. Nothing is
quantised a second time.

Source: Wang et al. 2020 (MiniLM).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bethink.embeddings.int8_graph import (
    DTYPES,
    FLOAT,
    INT8,
    INT64,
    Int8Builder,
    OnnxGraph,
    Tensor,
    Value,
    tensor,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bethink.embeddings.int8_graph import Array

LAYERS = 6
HEADS = 12
WIDTH = 384
WINDOW = 256

_MATRICES = 6  # of a layer: query, key, value, mix, widen, narrow
# Smallest and largest input of the multiplications before and after attention, a
# pair a layer: measured on 663 texts (prose, code, single words, fifteen languages),
# widened by 2 %. They hardly move between texts, because a few dimensions of each
# layer norm dominate; what falls outside is cut.
_BEFORE_ATTENTION = (
    (-2.8, 6.5), (-4.7, 8.3), (-5.5, 8.2), (-5.1, 9.9), (-6.1, 10.7), (-5.6, 10.1),
)  # fmt: skip
_AFTER_ATTENTION = (
    (-3.4, 2.5), (-2.6, 3.0), (-3.8, 2.6), (-2.8, 3.0), (-3.3, 3.1), (-3.8, 4.0),
)  # fmt: skip


def minilm_graph(source: Mapping[str, Tensor]) -> OnnxGraph:
    """Token ids `ids`, int64 (texts, tokens) -> the last layer, float32 (texts, tokens, 384).

    All texts of a batch have the same number of tokens (at most 256), so there
    is no padding and no mask. The mean over the tokens is left to the caller: ONNX
    Runtime adds one text up in another order than several. `source` holds the
    constants of the export.

    Raises:
        KeyError: `source` is another export.
    """
    return _Builder(source).graph()


class _Builder(Int8Builder):
    def __init__(self, source: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._source = source
        # The export names its matrices by number, in the order of use.
        self._matrices = sorted(
            (name for name in source if name.startswith("val_") and name.endswith("_q")),
            key=lambda name: int(name.split("_")[1]),
        )

    def graph(self) -> OnnxGraph:
        """The whole model."""
        self.begin()
        hidden = self._embed_tokens()
        for layer in range(LAYERS):
            hidden = self._transform(layer, self._attend(layer, hidden))
        takes = Value("ids", INT64, ("texts", "tokens"))
        return self.built("all-minilm-l6-v2-int8", takes, Value(hidden, FLOAT, ("texts", "tokens", WIDTH)))

    def _embed_tokens(self) -> str:
        words, positions = (f"inner.embeddings.{kind}_embeddings" for kind in ("word", "position"))
        self.constant("words", self._source[f"{words}.weight_q"])
        self.constant("words.scale", self._source[f"{words}.weight_scale"])
        table = self._floats(f"{positions}.weight_q") * self._floats(f"{positions}.weight_scale")
        table += self._floats("inner.embeddings.token_type_embeddings.weight")[0]
        self.constant("positions", tensor(table[:WINDOW], FLOAT))
        self.constant("start", tensor([0], INT64))

        rows = self.node("Gather", ["words", "ids"], "word.int8", axis=0)
        rows = self.node("Cast", [rows], "word.float", to=FLOAT)
        scales = self.node("Gather", ["words.scale", "ids"], "word.scale", axis=0)
        rows = self.node("Mul", [rows, scales], "word")
        count = self.node("Shape", ["ids"], "count", start=1, end=2)
        places = self.node("Slice", ["positions", "start", count, "start"], "place")
        total = self.node("Add", [rows, places], "token")
        return self._norm(total, "inner.embeddings.LayerNorm", "hidden")

    def _attend(self, layer: int, hidden: str) -> str:
        name, inner = f"layer{layer}", f"inner.encoder.layer.{layer}.attention"
        first = layer * _MATRICES
        self._matrix(f"{name}.qkv", self._matrices[first : first + 3])
        bias = [self._floats(f"{inner}.self.{part}.bias") for part in ("query", "key", "value")]
        self.constant(f"{name}.qkv.bias", tensor(np.concatenate(bias), FLOAT))
        self._matrix(f"{name}.mix", self._matrices[first + 3 : first + 4])
        self.constant(f"{name}.mix.bias", self._source[f"{inner}.output.dense.bias"])

        qkv = self.multiply_fixed(hidden, f"{name}.qkv", _BEFORE_ATTENTION[layer])
        seen = self.attention(qkv, name, heads=HEADS)
        mixed = self.multiply_fixed(seen, f"{name}.mix", _AFTER_ATTENTION[layer])
        total = self.node("Add", [mixed, hidden], f"{name}.attended.sum")
        return self._norm(total, f"{inner}.output.LayerNorm", f"{name}.attended")

    def _transform(self, layer: int, hidden: str) -> str:
        name, inner = f"layer{layer}", f"inner.encoder.layer.{layer}"
        first = layer * _MATRICES
        self._matrix(f"{name}.wide", self._matrices[first + 4 : first + 5])
        self.constant(f"{name}.wide.bias", self._source[f"{inner}.intermediate.dense.bias"])
        self._matrix(f"{name}.narrow", self._matrices[first + 5 : first + 6])
        self.constant(f"{name}.narrow.bias", self._source[f"{inner}.output.dense.bias"])
        total = self.widen_and_narrow(hidden, name)
        return self._norm(total, f"{inner}.output.LayerNorm", f"{name}.hidden")

    def _norm(self, rows: str, source: str, name: str) -> str:
        gain, bias = self._source[f"{source}.weight"], self._source[f"{source}.bias"]
        return self.norm(rows, name, gain=gain, bias=bias)

    def _matrix(self, name: str, parts: Sequence[str]) -> None:
        """The int8 matrices `parts` side by side, with a scale for each column."""
        scales = [self._floats(part.removesuffix("_q") + "_scale").reshape(-1) for part in parts]
        self.constant(name, tensor(np.concatenate([self._array(part) for part in parts], axis=-1), INT8))
        self.constant(f"{name}.scale", tensor(np.concatenate(scales), FLOAT))

    def _array(self, name: str) -> Array:
        found = self._source[name]
        return np.frombuffer(found.data, DTYPES[found.type]).reshape(found.shape)

    def _floats(self, name: str) -> NDArray[np.float32]:
        return self._array(name).astype(np.float32)
