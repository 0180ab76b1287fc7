"""That asking wears nothing out, with the real embedding model."""

from __future__ import annotations

import pytest

from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings
from tests.contract.embeddings_suite import models_directory
from tests.house import open_house, ports_of
from tests.unit.test_asking_again import ASKED, KNOWN, UNKNOWN, found, place_of, scripted, tell

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("answering", ["known", "unknown"])
@pytest.mark.parametrize("what", sorted(ASKED))
async def test_asking_ten_times_leaves_what_answers_where_it_is(what: str, answering: str) -> None:
    embeddings = LocalEmbeddings(E5, models_directory())
    await embeddings.load()
    answers: list[str] = []
    replies = KNOWN[what] if answering == "known" else UNKNOWN
    async with open_house(ports=ports_of(scripted(answers), embeddings=embeddings)) as house:
        await tell(house)
        before = {question: place_of(await found(house, question), what) for question in ASKED[what]}
        for times in range(10):
            answers.append(replies[times % len(replies)])
            await house.say(ASKED[what][times % len(ASKED[what])])
        after = {question: place_of(await found(house, question), what) for question in ASKED[what]}
        assert all(after[question] >= was for question, was in before.items())
