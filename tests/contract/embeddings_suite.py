"""What every embedder must do; an adapter's test module subclasses `EmbeddingsSuite`."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.embeddings import Embeddings
from bethink.embeddings.e5 import GRAPH_FILE
from bethink.embeddings.windows import MOST_CHARS, MOST_WINDOWS, embed_windows, windows_of

FACTS = [
    "My name is Alice and I live in Paris.",
    "ok",
    "The plumber quoted 1,240 euros, and the insurance pays for sixty percent of it.",
    "My sister Nora has a cat called Biscuit who only eats salmon.",
    "I moved from Lyon to Paris in March 2024 because of a new job at the hospital.",
    "ok",
]


def models_directory(file: str = GRAPH_FILE) -> Path:
    """Where `make setup` has put the embedding model; without it the test is skipped, or fails in CI."""
    named = os.environ.get("BETHINK_MODELS_DIR")
    if named and (Path(named) / file).exists():
        return Path(named)
    if os.environ.get("CI") == "true":
        pytest.fail(
            f"the embedding model is missing: BETHINK_MODELS_DIR names no directory that holds {file}"
        )
    pytest.skip(f"needs {file}: run `make model` or `make real-model`, and set BETHINK_MODELS_DIR")


async def parts_of(embeddings: Embeddings, text: str) -> list[tuple[int, int]]:
    """Where a text is cut for an embedder."""
    return await anyio.to_thread.run_sync(windows_of, text, embeddings.window, embeddings.pieces)


class EmbeddingsSuite:
    """Tests of the port; a subclass gives the fixture `embeddings`."""

    async def test_a_text_becomes_a_float32_row_of_length_one(self, embeddings: Embeddings) -> None:
        vectors = await embeddings.embed(FACTS)
        assert vectors.shape == (len(FACTS), embeddings.model.dimensions)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    async def test_it_is_available_once_loaded_however_often(self, embeddings: Embeddings) -> None:
        await embeddings.load()
        await embeddings.load()
        assert embeddings.unavailable is None

    async def test_no_texts_give_no_rows(self, embeddings: Embeddings) -> None:
        vectors = await embeddings.embed([])
        assert vectors.shape == (0, embeddings.model.dimensions)
        assert vectors.dtype == np.float32

    async def test_a_row_is_the_same_whatever_it_is_embedded_with(self, embeddings: Embeddings) -> None:
        together = await embeddings.embed(FACTS)
        reversed_order = await embeddings.embed(FACTS[::-1])
        alone = [(await embeddings.embed([text]))[0] for text in FACTS]
        assert np.array_equal(together, reversed_order[::-1])
        assert np.array_equal(together, np.array(alone))
        assert np.array_equal(together[1], together[5])

    async def test_different_texts_have_different_rows(self, embeddings: Embeddings) -> None:
        vectors = await embeddings.embed(FACTS[:5])
        assert (vectors @ vectors.T - np.eye(5) < 0.9).all()

    async def test_rows_keep_the_order_of_many_texts(self, embeddings: Embeddings) -> None:
        texts = [f"note {number}: " + "walk " * (number % 7) for number in range(150)]
        vectors = await embeddings.embed(texts)
        for index in (0, 1, 63, 64, 65, 149):
            assert np.array_equal(vectors[index], (await embeddings.embed([texts[index]]))[0])

    async def test_texts_that_share_words_are_nearer_than_texts_that_do_not(
        self, embeddings: Embeddings
    ) -> None:
        question, near, far = await embeddings.embed(
            [
                "Which train to Lisbon did we book?",
                "We booked the night train to Lisbon.",
                "The cat eats salmon on the sofa.",
            ]
        )
        assert question @ near > question @ far + 0.2

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param(" \t\r\n ", id="white space"),
            pytest.param("\0", id="NUL"),
            pytest.param("before\0after\x1b[31m\x7f", id="control characters"),
            pytest.param("🎂🎉👩‍👩‍👧‍👦🏳️‍🌈", id="emoji"),
            pytest.param("שלום \u202eعالم\u202c!", id="right to left"),
            pytest.param("\ud800 lone surrogate", id="surrogate"),
            pytest.param("e\u0301" * 500, id="combining"),
            pytest.param("x" * 10_000_000, id="one huge word"),
            pytest.param("word " * 2_000_000, id="huge"),
            pytest.param("[CLS] [SEP] [MASK] [PAD]", id="special tokens"),
        ],
    )
    async def test_odd_text_has_a_row_too(self, embeddings: Embeddings, text: str) -> None:
        odd, plain = await embeddings.embed([text, "a plain text"])
        assert np.isfinite(odd).all()
        assert np.linalg.norm(odd) == pytest.approx(1, abs=1e-5)
        assert np.array_equal(plain, (await embeddings.embed(["a plain text"]))[0])

    @given(texts=st.lists(st.text(max_size=60), max_size=5))
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    async def test_any_text_has_a_row(self, embeddings: Embeddings, texts: list[str]) -> None:
        vectors = await embeddings.embed(texts)
        assert vectors.shape[0] == len(texts)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    async def test_what_lies_beyond_the_window_is_cut(self, embeddings: Embeddings) -> None:
        long = "the harbour in the morning fog " * 1_000
        one, other = await embeddings.embed([long + "salmon", long + "quince"])
        assert np.array_equal(one, other)

    async def test_parts_of_a_long_text_are_read_whole(self, embeddings: Embeddings) -> None:
        words = [f"the harbour in the morning fog, day {number}." for number in range(300)]
        text = " ".join(words)
        spans = await parts_of(embeddings, text)
        assert 1 < len(spans) <= MOST_WINDOWS
        assert "".join(text[begin:end] for begin, end in spans).replace(" ", "") in text.replace(" ", "")
        for begin, end in spans:
            part = text[begin:end]
            whole, shorter, other = await embeddings.embed(
                [part, part.rpartition(" day")[0], part.rpartition(" day")[0] + " salmon"]
            )
            assert not np.array_equal(whole, shorter)
            assert not np.array_equal(shorter, other)
        vectors, short = await embed_windows(embeddings, [text, "a walk"])
        assert vectors.shape == (len(spans), embeddings.model.dimensions)
        assert np.array_equal(short, await embeddings.embed(["a walk"]))
        assert np.array_equal(vectors[1:2], await embeddings.embed([text[slice(*spans[1])]]))

    @pytest.mark.parametrize(
        "text", ["", " \n ", "…", "x" * 50_000, "東京" * 4_000, "\ud800" * 9_000, "_" * 9_000]
    )
    async def test_odd_text_has_parts_too(self, embeddings: Embeddings, text: str) -> None:
        spans = await parts_of(embeddings, text)
        assert 1 <= len(spans) <= MOST_WINDOWS
        assert spans[0][0] == 0
        assert all(0 <= end - begin <= MOST_CHARS for begin, end in spans)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        assert len(await embed_windows(embeddings, [text])) == 1

    @pytest.mark.requirement("R166", "P1c")
    async def test_calls_at_the_same_time_get_their_own_rows(self, embeddings: Embeddings) -> None:
        expected = await embeddings.embed(FACTS)
        found: dict[int, np.ndarray] = {}

        async def embed(index: int) -> None:
            await embeddings.load()
            found[index] = (await embeddings.embed([FACTS[index]]))[0]

        async with anyio.create_task_group() as tasks:
            for index in range(len(FACTS)):
                tasks.start_soon(embed, index)
        assert np.array_equal(expected, np.array([found[index] for index in range(len(FACTS))]))

    @pytest.mark.requirement("R166")
    async def test_the_loop_turns_while_many_texts_are_embedded(self, embeddings: Embeddings) -> None:
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn)
            await embeddings.embed(["a walk along the harbour"] * 200)
            tasks.cancel_scope.cancel()
        assert turns > 10

    async def test_a_cancelled_call_leaves_it_working(self, embeddings: Embeddings) -> None:
        await embeddings.load()
        ended = False

        async def embed_much() -> None:
            nonlocal ended
            await embeddings.embed(["a walk along the harbour in the fog"] * 50_000)
            ended = True

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(embed_much)
            await anyio.lowlevel.checkpoint()
            await embeddings.embed(FACTS)  # does not wait for the long call's end
            tasks.cancel_scope.cancel()
        assert not ended
        assert (await embeddings.embed(FACTS)).shape[0] == len(FACTS)
