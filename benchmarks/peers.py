"""Other memories, measured by their own Python: `PYTHON peers.py NAME TASK.json`, figures to standard output.

`memory` starts it, with texts and vectors that it wrote into files. It imports
nothing of Bethink, which is not installed there.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Vector = Sequence[float]
Vectors = Sequence[Vector]
"""numpy's, in truth, shape (n, d)."""

_AT_ONCE = 1_000
_BEST = 10


class _Chroma:
    """chromadb, a persistent client."""

    def __init__(self, directory: str, dimensions: int) -> None:
        del dimensions
        chromadb: Any = importlib.import_module("chromadb")
        client = chromadb.PersistentClient(path=directory)
        self._facts = client.create_collection("facts", metadata={"hnsw:space": "cosine"})

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        self._facts.add(ids=list(ids), documents=list(texts), embeddings=vectors)

    def search(self, text: str, vector: Vector) -> int:
        del text
        return len(self._facts.query(query_embeddings=[vector], n_results=_BEST)["ids"][0])

    def delete(self, ids: Sequence[str]) -> None:
        self._facts.delete(ids=list(ids))


class _Lance:
    """lancedb, with its search by words and vectors where the table has an index for words."""

    def __init__(self, directory: str, dimensions: int) -> None:
        lancedb: Any = importlib.import_module("lancedb")
        arrow: Any = importlib.import_module("pyarrow")
        vector = arrow.list_(arrow.float32(), dimensions)
        fields = [("id", arrow.string()), ("text", arrow.string()), ("vector", vector)]
        self._facts = lancedb.connect(directory).create_table("facts", schema=arrow.schema(fields))

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        rows = zip(ids, texts, vectors, strict=True)
        self._facts.add([{"id": id, "text": text, "vector": vector} for id, text, vector in rows])

    def search(self, text: str, vector: Vector) -> int:
        del text
        return len(self._facts.search(vector).limit(_BEST).to_list())

    def delete(self, ids: Sequence[str]) -> None:
        self._facts.delete(f"id IN ({', '.join(repr(id) for id in ids)})")


class _Mem0:
    """mem0 with `infer=False`: its store is qdrant's local one; vectors are handed out instead of made."""

    def __init__(self, directory: str, dimensions: int) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": directory}
        mem0: Any = importlib.import_module("mem0")
        store = {"path": f"{directory}/qdrant", "embedding_model_dims": dimensions, "on_disk": True}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": f"{directory}/history.db",
        }
        self._memory = mem0.Memory.from_config(config)
        self._memory.embedding_model = self
        self._vectors: dict[str, Vector] = {}
        self._ids: dict[str, str] = {}

    def embed(self, text: str, memory_action: object = None) -> list[float]:
        del memory_action
        return list(map(float, self._vectors[text]))

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        for id, text, vector in zip(ids, texts, vectors, strict=True):
            self._vectors[text] = vector
            (kept,) = self._memory.add(text, user_id="me", infer=False)["results"]
            self._ids[id] = kept["id"]

    def search(self, text: str, vector: Vector) -> int:
        self._vectors[text] = vector
        return len(self._memory.search(text, filters={"user_id": "me"}, top_k=_BEST)["results"])

    def delete(self, ids: Sequence[str]) -> None:
        for id in ids:
            self._memory.delete(self._ids[id])


PEERS: dict[str, Callable[[str, int], _Chroma | _Lance | _Mem0]] = {
    "chromadb": _Chroma,
    "lancedb": _Lance,
    "mem0": _Mem0,
}


def measure(name: str, task: dict[str, Any]) -> dict[str, Any]:
    """The figures of one peer."""
    np: Any = importlib.import_module("numpy")
    vectors, texts = np.load(task["vectors"]), task["texts"]
    kept, singly = task["kept"], task["singly"]
    ids = [f"fact{number}" for number in range(len(texts))]
    memory = PEERS[name](task["directory"], vectors.shape[1])
    started = time.perf_counter()
    for start in range(0, kept, _AT_ONCE):
        span = slice(start, min(start + _AT_ONCE, kept))
        memory.add(ids[span], texts[span], vectors[span])
    kept_s = time.perf_counter() - started
    adds = [
        _ms(lambda one=one: memory.add(ids[one : one + 1], texts[one : one + 1], vectors[one : one + 1]))
        for one in range(kept, kept + singly)
    ]
    questions = range(kept + singly, len(texts))
    searches = [_ms(lambda one=one: memory.search(texts[one], vectors[one])) for one in questions]
    forgotten: list[int] = task["forgotten"]
    forget_ms = _ms(lambda: memory.delete([ids[one] for one in forgotten]))
    return {
        "import_per_s": round(kept / kept_s),
        "add_ms_p50": round(statistics.median(adds), 2),
        "search_ms_p50": round(statistics.median(searches), 2),
        "search_ms_p95": round(statistics.quantiles(searches, n=20)[-1], 2),
        "forget_20_ms": round(forget_ms, 1),
        "texts_left": texts_left(Path(task["directory"]), [texts[one] for one in forgotten]),
    }


def texts_left(directory: Path, texts: Sequence[str]) -> int:
    """How many of the texts still stand in a file, as they were given."""
    files = [path.read_bytes() for path in directory.rglob("*") if path.is_file()]
    return sum(any(text.encode() in data for data in files) for text in texts)


def _ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1_000


def _run(name: str, task: str) -> None:
    try:
        figures = measure(name, json.loads(Path(task).read_text(encoding="utf-8")))
    except ImportError:
        figures = {}
    sys.stdout.write("\n" + json.dumps(figures) + "\n")


if __name__ == "__main__":
    _run(*sys.argv[1:])
