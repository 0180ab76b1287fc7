"""Random histories of a database, and what its files still hold of them.

Run as a program it writes such a history to a directory, for ever, so that it
can be killed: `python -m tests.contract.histories DIRECTORY SEED`.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from bethink.embeddings import EmbeddingModel
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexItem
from bethink.search.analysis import quantized
from bethink.store import Change, Delete, DeleteAll, Put, SetVector, Store
from tests.contract.records import LINES, NOTES, Line, Note

MODEL = EmbeddingModel("small", "1", 32)
OWNERS = ("ann", "bob", "cy", "di", "eve")
_SIZES = (1, 1, 2, 3, 5, 20, 60, 200, 600)
"""Words of 16 letters in a text: within a page, nearly a page, and many pages."""
_LETTERS_ONLY = bytes(byte if byte in string.ascii_lowercase.encode() else ord(" ") for byte in range(256))


def everything_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def traces(directory: Path, words: Iterable[str], vectors: Iterable[bytes]) -> list[bytes]:
    """What is found of words of 16 letters (the whole, the first or last nine) and of vectors."""
    data = everything_in(directory)
    runs = set(data.translate(_LETTERS_ONLY).split())
    there = {run[start : start + 9] for run in runs for start in range(len(run) - 8)}
    ends = {end for word in words for end in (word[:9].encode(), word[-9:].encode())}
    return [*(ends & there), *_vectors_in(data, list(vectors))]


def _vectors_in(data: bytes, vectors: list[bytes]) -> list[bytes]:
    """Those whose first 48 bytes are there; one pass for all of them."""
    begins = np.zeros(65_536, dtype=bool)
    begins[[int.from_bytes(vector[:2], "little") for vector in vectors]] = True
    numbers = np.frombuffer(data, np.uint8).astype(np.uint16)
    places = np.flatnonzero(begins[numbers[:-1] | numbers[1:] << 8])
    there = {data[place : place + 48] for place in places}
    return [vector for vector in vectors if vector[:48] in there]


class History:
    """Invents batches; knows which words and vectors must be there, and which must not."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - the same history every time
        self._numbers = np.random.default_rng(seed)
        self.live: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.gone: list[tuple[str, bytes]] = []
        self.words: list[str] = []

    def batch(self) -> tuple[str, list[Change]]:
        """An owner, and some changes of theirs."""
        chance, owner = self._chance, self._chance.choice(OWNERS)
        changes: list[Change] = []
        for _ in range(chance.choice((1, 1, 3, 30))):
            kind = chance.random()
            mine = [id for whose, id in self.live if whose == owner and not id.startswith("line")]
            if kind < 0.45 or len(mine) < 5:
                changes.append(self._put(owner, f"{chance.getrandbits(64):x}"))
            elif kind < 0.7:
                changes.append(self._put(owner, chance.choice(mine)))
            elif kind < 0.8:
                changes.append(self._line(owner, f"line{chance.randrange(40)}"))
            elif kind < 0.85:
                changes.append(self._delete(owner, f"line{chance.randrange(40)}"))
            elif kind < 0.97:
                changes += [self._delete(owner, id) for id in chance.sample(mine, k=chance.choice((1, 1, 5)))]
            else:
                changes += self._delete_all(owner, mine)
        return owner, changes

    def _put(self, owner: str, id: str) -> Put[Note]:
        word, vector = self._keep(owner, id), self._vector()
        text = f"{word} " * self._chance.choice(_SIZES)
        with_vector = self._chance.random() < 0.7
        if with_vector:
            self.live[owner, id] = (word, quantized(vector))
        item = IndexItem("fact", text, 0, vector if with_vector else None, MODEL, word, word, word)
        note = Note(id=id, text=text, category=word, created_at=self._chance.randrange(10**9), project=word)
        return Put(NOTES, note, index=item)

    def _vector(self) -> NDArray[np.float32]:
        return self._numbers.random(32, dtype=np.float32)

    def _line(self, owner: str, id: str) -> Put[Line]:
        text = f"{self._keep(owner, id)} " * self._chance.choice(_SIZES)
        return Put(LINES, Line(id=id, conversation=text[:16], position=0, text=text))

    def _keep(self, owner: str, id: str) -> str:
        word = "".join(self._chance.choices(string.ascii_lowercase, k=16))
        self.words.append(word)
        self._drop(owner, id)
        self.live[owner, id] = (word, b"")
        return word

    def _drop(self, owner: str, id: str) -> None:
        if (owner, id) in self.live:
            self.gone.append(self.live.pop((owner, id)))

    def _delete(self, owner: str, id: str) -> Change:
        self._drop(owner, id)
        return Delete(LINES if id.startswith("line") else NOTES, id)

    def _delete_all(self, owner: str, mine: list[str]) -> list[Change]:
        if self._chance.random() < 0.7:
            word, _ = self.live[owner, mine[0]]
            self._drop(owner, mine[0])
            return [DeleteAll(NOTES, {"category": word})]
        for id in [id for whose, id in self.live if whose == owner]:
            self._drop(owner, id)
        return [DeleteAll(NOTES), DeleteAll(LINES)]

    async def fill_a_vector(self, store: Store) -> None:
        """Give one of the items without a vector one."""
        waiting = [place for place, (_, vector) in self.live.items() if not vector]
        if not waiting:
            return
        owner, id = self._chance.choice(waiting)
        (found,) = await store.get(NOTES, owner, [id])
        if found is None:
            return
        vector = self._vector()
        await store.commit(owner, [SetVector(id, found.record.text, vector, MODEL)])
        self.live[owner, id] = (self.live[owner, id][0], quantized(vector))


async def _write_for_ever(directory: Path, seed: int) -> None:
    history = History(seed)
    async with open_database(directory) as database:
        while True:
            owner, changes = history.batch()
            # Said before it is done, so that whoever kills this knows every word that may be in the file.
            sys.stdout.write(" ".join(history.words) + "\n")
            sys.stdout.flush()
            history.words.clear()
            await database.store.commit(owner, changes)


if __name__ == "__main__":
    anyio.run(_write_for_ever, Path(sys.argv[1]), int(sys.argv[2]))
