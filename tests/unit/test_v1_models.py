"""`/v1/models` and `/v1/embeddings`, by OpenAI's own client."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from bethink.llm.scripted import ScriptedLlm
from tests.openai_client import client_of

pytestmark = pytest.mark.anyio


async def test_models_are_listed_with_assistants() -> None:
    assistants = {"pirate": {"system": "Speak like a pirate.", "memory": False}}
    llm = ScriptedLlm(["Arr."], name="scripted:usual")
    async with client_of(llm, assistants=assistants, models_offered=["openrouter:some/model"]) as client:
        names = [model.id async for model in client.openai.models.list()]
        one = await client.openai.models.retrieve("openrouter:some/model")
        await client.openai.chat.completions.create(
            model="pirate", messages=[{"role": "user", "content": "Hi"}]
        )
        with pytest.raises(openai.NotFoundError, match="There are: bethink, pirate"):
            await client.openai.chat.completions.create(
                model="gpt-9", messages=[{"role": "user", "content": "Hi"}]
            )
        with pytest.raises(openai.NotFoundError):
            await client.openai.models.retrieve("gpt-9")
    assert names[:4] == ["bethink", "pirate", "scripted:usual", "openrouter:some/model"]
    assert one.owned_by == "openrouter"
    assert "pirate" in llm.requests[0].system


async def test_embeddings_as_numbers_and_as_base64() -> None:
    async with client_of(None) as client:
        model = client.door.house.app.ports.embeddings.model
        plain = await client.openai.embeddings.create(
            model=model.id, input=["a cat", "a dog"], encoding_format="float"
        )
        packed = await client.openai.embeddings.create(model=model.id, input="a cat")
        create: Any = client.openai.embeddings.create
        for wrong in ({"dimensions": 3}, {"input": [[1, 2]]}, {"input": ""}, {"input": []}):
            with pytest.raises(openai.BadRequestError):
                await create(**({"model": model.id, "input": "x"} | wrong))
        with pytest.raises(openai.NotFoundError):
            await client.openai.embeddings.create(model="nomic-embed-text", input="x")
        usual = await client.openai.embeddings.create(model="text-embedding-3-small", input="a cat")
        named = await client.openai.embeddings.create(model="multilingual-e5-small", input="a cat")
        listed = [one.id async for one in client.openai.models.list()]
        assert (await client.openai.models.retrieve(model.id)).id == model.id
    assert (usual.model, usual.data[0].embedding) == (model.id, packed.data[0].embedding)
    assert named.model == model.id, "the settings' own name for it"
    assert model.id not in listed
    assert len(plain.data) == 2
    assert len(plain.data[0].embedding) == model.dimensions
    assert plain.data[0].embedding == pytest.approx(packed.data[0].embedding, abs=1e-6)
