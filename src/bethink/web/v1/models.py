"""`GET /v1/models` and `POST /v1/embeddings`: what there is to choose from, and texts as vectors.

Source: OpenAI API reference, "Models" and "Create embeddings".
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from bethink.errors import BadInput, UnknownId
from bethink.messages import tokens_in
from bethink.web.deps import Caller, Served
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.request import USUAL, Loose, sound

router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)

_MAX_TEXTS: Final = 2_048
"""As many as OpenAI takes at once."""
_USUAL_NAMES: Final = ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002")
"""What clients ask for that let nobody choose; the answer names the model that embedded."""


class Model(BaseModel):
    """A model or assistant."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str


class Models(BaseModel):
    """All models and assistants."""

    object: Literal["list"] = "list"
    data: list[Model]


class EmbeddingsBody(Loose):
    """Texts to embed."""

    model: str
    input: (
        str | Annotated[list[str], Field(min_length=1, max_length=_MAX_TEXTS)] | list[int] | list[list[int]]
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


@router.get("/models")
async def list_models(app: Served, caller: Caller) -> Models:
    """The usual model as `bethink`, assistants, and every model that may be chosen: all of them chat."""
    del caller
    names = [(USUAL, "bethink"), *((name, "bethink") for name in app.settings.assistants)]
    names += [(name, name.partition(":")[0]) for name in app.models.names()]
    return Models(data=[Model(id=name, owned_by=owner) for name, owner in names])


@router.get("/models/{name:path}")
async def get_model(name: str, app: Served, caller: Caller) -> Model:
    """One of them, or the model that embeds."""
    embeds = Model(id=app.ports.embeddings.model.id, owned_by="bethink")
    for model in (*(await list_models(app, caller)).data, embeds):
        if model.id == name:
            return model
    raise UnknownId(f"There is no model {name[:80]!r} here.")


@router.post("/embeddings")
async def create_embeddings(body: EmbeddingsBody, app: Served, caller: Caller) -> dict[str, Any]:
    """Vectors of texts, of the model by which Bethink itself searches."""
    del caller
    embeddings = app.ports.embeddings
    own = embeddings.model
    if body.model not in (own.id, app.settings.embedding_model, USUAL, *_USUAL_NAMES):
        raise UnknownId(f"There is no embedding model {body.model[:80]!r} here; there is {own.id}.")
    if body.dimensions not in (None, own.dimensions):
        raise BadInput(f"dimensions: {own.id} makes {own.dimensions} and no other number of them.")
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BadInput(
            "input: give texts that are not empty. Tokens are another model's: LangChain sends texts "
            "with check_embedding_ctx_length=False."
        )
    given = [str(text) for text in texts]
    vectors = await embeddings.embed(given)
    tokens = sum(map(tokens_in, given))
    return {
        "object": "list",
        "model": own.id,
        "data": [
            {
                "object": "embedding",
                "index": place,
                "embedding": vector.tolist()
                if body.encoding_format == "float"
                else base64.b64encode(vector.astype("<f4").tobytes()).decode(),
            }
            for place, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
