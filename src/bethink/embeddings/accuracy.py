"""How near an embedder comes to the full-precision model it stands for.

`minilm_build` refuses a build by it, `bench` reports it. The 63 texts of
`reference.txt` reach from one word to more than a window, over prose, code,
numbers and fifteen languages; `reference.npy` holds their vectors from a
plain float32 forward pass (benchmarks/minilm_reference.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import Embeddings

_DATA = Path(__file__).parent / "all_minilm_l6_v2"
_MEAN, _MINIMUM = 0.99, 0.975


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Cosine to the full-precision vectors of the reference texts."""

    mean: float
    minimum: float

    @property
    def accepted(self) -> bool:
        """Whether recall with these vectors is as good as with the full model's."""
        return self.mean >= _MEAN and self.minimum >= _MINIMUM


def reference_texts() -> list[str]:
    """The fixed texts, in the order of `accuracy`'s rows."""
    return (_DATA / "reference.txt").read_text("utf-8").splitlines()


async def measure_accuracy(embeddings: Embeddings) -> Accuracy:
    """How near the vectors of the reference texts come.

    Raises:
        EmbeddingsUnavailable: the embedder cannot be used.
    """
    vectors = await embeddings.embed(await anyio.to_thread.run_sync(reference_texts))
    return await anyio.to_thread.run_sync(accuracy, vectors)


def accuracy(vectors: NDArray[np.float32]) -> Accuracy:
    """What the rows of the reference texts, L2-normalised, are worth."""
    import numpy as np

    reference = np.load(_DATA / "reference.npy").astype(np.float32)
    cosines = (vectors * reference).sum(axis=1) / np.linalg.norm(reference, axis=1)
    return Accuracy(mean=float(cosines.mean()), minimum=float(cosines.min()))
