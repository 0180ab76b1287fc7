"""Facts are found in other languages, by the product's own path: 30 facts each, paraphrased questions.

By chance the right one is among the first five in a sixth of the cases.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

import bethink
from bethink.embeddings.e5 import GRAPH_FILE
from bethink.memory import NewFact
from bethink.settings import Settings
from tests.contract.embeddings_suite import models_directory

pytestmark = [pytest.mark.foreign, pytest.mark.anyio, pytest.mark.timeout(120)]
PAIRS: dict[str, list[tuple[str, str]]] = json.loads(
    (Path(__file__).parent / "languages.json").read_text("utf-8")
)
LEAST: Final = {"fr": 0.8, "es": 0.8, "hi": 0.8}
"""Recorded in docs/adr/0075-a-multilingual-embedder.md: one question more is 0.03."""


@pytest.mark.parametrize("language", sorted(PAIRS))
async def test_facts_are_found_in_their_language_and_in_english(language: str, tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        models_dir=models_directory(GRAPH_FILE),
        embedding_model="multilingual-e5-small",
        code_enabled=False,
        web_enabled=False,
    )
    async with bethink.open_app(settings) as app:
        me = await app.accounts.authenticate(audience="test")
        await app.ports.embeddings.load()
        for fact, _ in PAIRS[language]:
            await app.memory.add(me, NewFact(fact))
        share = {"own": 0.0, "english": 0.0}
        for number, (fact, question) in enumerate(PAIRS[language]):
            for name, asked in (("own", question), ("english", PAIRS["en"][number][1])):
                found = [hit.text for hit in await app.recall.search(me, asked, k=5)]
                share[name] += (fact in found) / len(PAIRS[language])
    assert share["own"] >= LEAST.get(language, 0.85), share
    assert share["english"] >= 0.85, share
