"""Long jobs of the embedder give way to questions, which do not wait for ever for its model."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.embeddings import local
from bethink.embeddings.local import LocalEmbeddings, LocalSession
from bethink.embeddings.minilm import MINILM
from bethink.errors import EmbeddingsUnavailable

pytestmark = pytest.mark.anyio


class FakeSession:
    """Embeds a text a step, and writes down which."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def embed_in_steps(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        for index, text in enumerate(texts):
            self.steps.append(text)
            yield [index], np.zeros((1, MINILM.identity.dimensions), dtype=np.float32)


def embedder(session: FakeSession) -> LocalEmbeddings:
    made = LocalEmbeddings(MINILM, Path())
    made._session = cast("LocalSession", session)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return made


async def test_a_long_job_rests_behind_a_question_and_questions_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "_QUIET_S", 60.0)
    monkeypatch.setattr(local, "_LONGEST_REST_S", 60.0)
    session = FakeSession()
    embeddings = embedder(session)
    await embeddings.embed(["asked"])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(embeddings.embed, ["one", "two", "three"])
        await anyio.wait_all_tasks_blocked()
        await embeddings.embed(["asked again"])
        assert session.steps == ["asked", "asked again"]
        tasks.cancel_scope.cancel()


async def test_a_long_job_ends_however_many_questions_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_QUIET_S", 60.0)
    monkeypatch.setattr(local, "_LONGEST_REST_S", 0.0)
    session = FakeSession()
    embeddings = embedder(session)
    await embeddings.embed(["asked"])
    assert len(await embeddings.embed(["one", "two", "three"])) == 3


async def test_a_question_does_not_wait_long_for_a_model_that_is_being_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_open = threading.Event()

    def opened(*_: object) -> FakeSession:
        may_open.wait()
        return FakeSession()

    monkeypatch.setattr(local, "open_session", opened)
    monkeypatch.setattr(local, "_LOADING_S", 0.0)
    embeddings = LocalEmbeddings(MINILM, Path())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(embeddings.load)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(EmbeddingsUnavailable, match="not loaded yet"):
            await embeddings.embed(["asked"])
        may_open.set()
        # A long job waits for it.
        assert len(await embeddings.embed(["one", "two", "three"])) == 3
    assert len(await embeddings.embed(["asked again"])) == 1
