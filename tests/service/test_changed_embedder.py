"""What has vectors of another model is embedded anew beside the requests, also after `kill -9`."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from bethink.app import open_app
from bethink.embeddings.e5 import E5
from bethink.embeddings.minilm import MINILM, MODEL_FILE
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.memory import NewFact
from bethink.search.analysis import model_key
from bethink.settings import Settings
from tests.contract.embeddings_suite import models_directory
from tests.server_process import running

pytestmark = [pytest.mark.foreign(make="real-model"), pytest.mark.anyio, pytest.mark.timeout(120)]

FACTS = 300
OLD, NEW = model_key(MINILM.identity), model_key(E5.identity)


def vectors_in(directory: Path) -> Counter[str | None]:
    """How many items have a vector of each model."""
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        return Counter(dict(connection.execute("SELECT model, count(*) FROM index_items GROUP BY model")))


async def test_another_embedder_takes_over_while_search_works_and_is_killed(tmp_path: Path) -> None:
    models = models_directory(MODEL_FILE)
    settings = Settings(data_dir=tmp_path, models_dir=models, embedding_model=MINILM.name, code_enabled=False)  # pyright: ignore[reportArgumentType] - a name of the list
    async with open_app(settings) as app:
        me = await app.accounts.authenticate(audience="test")
        await app.ports.embeddings.load()
        facts = [f"Cousin number {n} keeps beehives and a zither" for n in range(FACTS)]
        await app.memory.add_many(me, [NewFact("Meine Katze heißt Minka"), *map(NewFact, facts)])
    assert vectors_in(tmp_path) == {OLD: FACTS + 1}
    found = "/memories?query=Who+is+cousin+number+77%3F"
    async with running(tmp_path, BETHINK_EMBEDDING_MODEL=E5.name) as server:
        while not vectors_in(tmp_path)[NEW] > 0:
            assert "number 77 " in (await server.get(found))["items"][0]["content"]
        await server.kill()
    between = vectors_in(tmp_path)
    assert between[OLD] + between[NEW] == FACTS + 1
    assert 0 < between[NEW] < FACTS + 1
    async with running(tmp_path, BETHINK_EMBEDDING_MODEL=E5.name) as server:
        with anyio.fail_after(90):
            while vectors_in(tmp_path) != {NEW: FACTS + 1}:
                assert "number 77 " in (await server.get(found))["items"][0]["content"]
        by_meaning = await server.get("/memories?query=What+is+the+name+of+my+pet%3F")
    assert by_meaning["items"][0]["content"] == "Meine Katze heißt Minka"
