"""The hashing fake passes the port's suite."""

from __future__ import annotations

import hashlib

import pytest

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.hashing import HashingEmbeddings
from tests.contract.embeddings_suite import EmbeddingsSuite

pytestmark = pytest.mark.anyio


class TestHashingEmbeddings(EmbeddingsSuite):
    @pytest.fixture
    def embeddings(self) -> HashingEmbeddings:
        return HashingEmbeddings()


async def test_vectors_are_the_same_in_every_process_and_version() -> None:
    vectors = await HashingEmbeddings(64).embed(["My name is Alice."])
    digest = hashlib.sha256((vectors * 1e4).round().astype("<i4").tobytes()).hexdigest()
    assert digest[:16] == "7861b074412cdff0"


def test_its_size_is_part_of_its_identity() -> None:
    assert HashingEmbeddings(64).model == EmbeddingModel("hashing-64-1", "words-and-trigrams-1", 64)


async def test_pieces_of_words_are_near() -> None:
    travel, travelled, salmon = await HashingEmbeddings().embed(["travel", "travelled", "salmon"])
    assert travel @ travelled > travel @ salmon + 0.2
