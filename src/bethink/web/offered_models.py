"""`GET /models`: models and assistants that a conversation can be answered by, and what is known of each."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.web.deps import Caller, Items, Served

router = APIRouter(tags=["models"])


class OfferedModel(BaseModel):
    """A model or an assistant; its name is what a conversation has as its `model`."""

    name: str
    kind: Literal["model", "assistant"]
    usual: bool = Field(default=False, description="Whether it answers where none is chosen.")
    model: str | None = Field(description="`provider:name` of the model that answers; null if none is set.")
    about: str = Field(default="", description="What an assistant is told, its beginning.")
    context_tokens: int | None = Field(default=None, description="The window of the model, about.")
    pictures: bool = Field(default=False, description="Whether it is shown pictures.")
    tools: bool = Field(default=True, description="Whether it may use tools.")
    memory: bool = Field(default=True, description="Whether it uses memory.")
    input_usd: float | None = Field(default=None, description="Price of a million tokens, if it is known.")
    output_usd: float | None = None


class OfferedModels(Items[OfferedModel]):
    """Assistants first, then models, the usual one first of them."""


_ABOUT_CHARS = 160


@router.get("/models")
async def list_offered_models(app: Served, _: Caller) -> OfferedModels:
    """Assistants and models that a conversation may be answered by. Nothing is asked of their servers."""
    usual = app.models.usual.name if app.models.usual else None
    models = {
        facts.name: OfferedModel(
            name=facts.name,
            kind="model",
            usual=facts.name == usual,
            model=facts.name,
            context_tokens=facts.context_tokens,
            pictures=facts.sees,
            tools=app.settings.tools_enabled,
            input_usd=facts.price[0] if facts.price else None,
            output_usd=facts.price[1] if facts.price else None,
        )
        for facts in app.models.facts()
    }
    none = OfferedModel(name="", kind="model", model=None)
    assistants = [
        models.get(one.model or usual or "", none).model_copy(
            update={
                "name": name,
                "kind": "assistant",
                "usual": False,
                "about": " ".join(one.system.split())[:_ABOUT_CHARS],
                "tools": one.tools and app.settings.tools_enabled,
                "memory": one.memory,
            }
        )
        for name, one in app.models.assistants.items()
    ]
    return OfferedModels(items=[*assistants, *models.values()])
